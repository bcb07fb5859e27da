import csv
import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import log_softmax

import dircal
from dircal.llm import LabelCalibrator

OPTIONS = ["A", "B", "C"]


@pytest.fixture
def answers(tmp_path):
    """Answers in three forms, every fifth of them with a label."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=300)
    scores = log_softmax(rng.normal(size=(300, 3)) + 2.0 * np.eye(3)[y] + [2.0, 0, 0], axis=1)
    lines = []
    for i, row in enumerate(scores.tolist()):
        tokens = [{"token": o, "logprob": v} for o, v in zip(OPTIONS, row, strict=True)]
        content = [{"token": "A", "logprob": row[0], "top_logprobs": tokens}]
        answer = {"choices": [{"logprobs": {"content": content}}]}
        line = answer if i % 2 else {"logprobs": dict(zip(OPTIONS, row, strict=True))}
        if i % 5 == 0:
            line["answer"] = OPTIONS[y[i]]
        lines.append(json.dumps(line))
    (tmp_path / "raw.jsonl").write_text("\n".join(lines) + "\n\n")
    return np.exp(scores), np.array(OPTIONS)[y]


def test_from_raw_answers_to_labels(run, answers):
    told = run(
        "llm", "raw.jsonl", "--options", "A,B,C", "--label", "answer", "--ask", 0.3,
        "-o", "labels.csv", "--map", "map.json",
    ).stdout  # fmt: skip
    assert "300 answers, 60 with a label" in told
    assert "Ask a person about" in told
    proba, y = answers
    labelled = np.arange(300) % 5 == 0
    expected = LabelCalibrator().fit(proba[labelled], y[labelled], unlabelled=proba[~labelled])
    with Path("labels.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    found = np.array([[float(line[o]) for o in OPTIONS] for line in lines])
    assert_allclose(found, expected.predict_proba(proba), rtol=1e-6)
    confidence = found.max(axis=1)
    assert [line["action"] == "ask" for line in lines] == (confidence < 0.7).tolist()
    assert lines[0]["label"] == y[0]
    assert lines[1]["label"] == ""
    assert_allclose(dircal.load("map.json").predict_proba(proba), found, rtol=1e-6)


def test_sampled_answers(run, tmp_path):
    rows = [{"answers": ["A", "A", "B"], "label": "A"}, {"answers": ["b"], "label": "B"}] * 10
    (tmp_path / "raw.jsonl").write_text("\n".join(map(json.dumps, rows)))
    document = json.loads(
        run("llm", "raw.jsonl", "--options", "A,B", "-o", "out.csv", "--json").stdout
    )
    assert (document["rows"], document["labelled"]) == (20, 20)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "line 1 is not JSON"),
        ("[" * 100_000, "line 1 is nested too deeply"),
        ('{"text": ' + "[" * 950 + "]" * 950 + "}", "line 1 is nested too deeply"),
        ('{"label": ' + "9" * 5000 + "}", "line 1 holds a number that is too long"),
        (
            '{"logprobs": {"A": -1, "B": -2, "A": -3}}',
            "line 1 has the key 'A' twice, in 'logprobs'",
        ),
        (b'{"label": "\xe9"}', "'raw.jsonl' is not text in UTF-8"),
        ("[]", "line 1 is not a JSON object"),
        ('{"text": "A"}', "line 1: `response` must hold log-probabilities"),
        ('{"logprobs": {"x": -1.0}}', "line 1: `rows` must name at least one option"),
        ('{"logprobs": {"A": -1.0}, "label": "Z"}', "the label 'Z' is none of the options"),
        ('{"logprobs": {"A": -1.0}}', "no line with a label called 'label'"),
        ("\n", "has no lines"),
    ],
)
def test_bad_lines(text, message, run, tmp_path):
    (tmp_path / "raw.jsonl").write_bytes(text if isinstance(text, bytes) else text.encode())
    found = run("llm", "raw.jsonl", "--options", "A,B", "-o", "out.csv", code=2)
    assert message in found.stderr
    assert not (tmp_path / "out.csv").exists()


def test_bad_usage(run, answers):
    found = run("llm", "raw.jsonl", "--options", "A", "--label", "answer", "-o", "o.csv", code=2)
    assert "`options` must be at least two texts" in found.stderr
    found = run("llm", "none.jsonl", "--options", "A,B", "-o", "o.csv", code=2)
    assert "none.jsonl" in found.stderr
    found = run(
        "llm", "raw.jsonl", "--options", "A,B,C,D", "--label", "answer", "-o", "o.csv", code=2
    )
    assert "'D', which none of the 300 rows names" in found.stderr


def test_several_prompts(run, answers, tmp_path):
    path = tmp_path / "raw.jsonl"
    lines = [json.loads(line) for line in path.read_text().split("\n") if line]
    groups = ["short" if i % 3 else "long" for i in range(len(lines))]
    named = [line | {"prompt": group} for line, group in zip(lines, groups, strict=True)]
    path.write_text("\n".join(map(json.dumps, named)))
    common = ("llm", "raw.jsonl", "--options", "A,B,C", "--label", "answer")
    told = run(*common, "--group", "prompt", "-o", "labels.csv", "--map", "map.json").stdout
    assert "Each of 2 groups has a map of its own" in told
    proba, _ = answers
    with Path("labels.csv").open(encoding="utf-8") as file:
        found = list(csv.DictReader(file))
    assert [line["group"] for line in found] == groups
    expected = dircal.load("map.json").predict_proba(proba, groups=groups)
    assert_allclose([[float(line[o]) for o in OPTIONS] for line in found], expected, rtol=1e-6)
    told = run(*common, "--group", "model", "-o", "other.csv", code=2).stderr
    assert "line 1: 'model' is None, and no name of a prompt or model" in told
