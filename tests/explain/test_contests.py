"""What maps do to rows in which one class stands alone, two compete, or more do."""

import json

import numpy as np
import pytest
from scipy.special import log_softmax, logit, softmax

import dircal
from dircal import BayesianDirichletCalibrator, DirichletCalibrator, TemperatureScaling
from dircal.explain._contests import ContestEffect, about_contests, table_of_contests


def rows_too_sure_when_two_compete(seed=0, n=4000, k=5):
    """Most rows are sure, and right; where two classes compete, the gap is a third as large."""
    rng = np.random.default_rng(seed)
    order = rng.permuted(np.tile(np.arange(k), (n, 1)), axis=1)
    ranked = np.log(rng.dirichlet(np.ones(k), size=n)) - 8.0
    ranked[:, 0] = 0.0
    contested = rng.random(n) < 0.3
    ranked[contested, 1] = -rng.uniform(0.0, 5.0, size=contested.sum())
    ranked[:50] = -rng.uniform(0.0, 0.5, size=(50, k))
    truth = ranked.copy()
    truth[contested, 1] /= 3.0
    place = (truth + rng.gumbel(size=truth.shape)).argmax(axis=1)
    q = np.empty((n, k))
    np.put_along_axis(q, order, softmax(ranked, axis=1), axis=1)
    return q, order[np.arange(n), place]


@pytest.fixture(scope="module")
def bent():
    q, y = rows_too_sure_when_two_compete()
    return BayesianDirichletCalibrator().fit(q, y), q, y


def test_the_numbers_are_those_of_the_rows(bent):
    calibrator, q, y = bent
    explanation = calibrator.explain()
    tempered = np.exp(log_softmax(np.log(q) / explanation.comparison.temperature, axis=1))
    after = calibrator.predict_proba(q)
    first, second = -np.sort(-tempered, axis=1)[:, :2].T
    leader, rows = q.argmax(axis=1), np.arange(len(q))
    kinds = {
        "alone": first >= 0.9,
        "pair": (first < 0.9) & (first + second >= 0.9),
        "many": first + second < 0.9,
    }
    assert [each.contest for each in explanation.contests] == list(kinds)
    for each in explanation.contests:
        kept = kinds[each.contest]
        assert each.share == pytest.approx(kept.mean())
        said = [proba[rows, leader][kept].mean() for proba in (q, tempered, after)]
        assert [each.before, each.tempered, each.after] == pytest.approx(said)
        assert each.observed == pytest.approx((leader == y)[kept].mean())
        assert each.shift == pytest.approx(logit(said[2]) - logit(said[1]), abs=1e-5)
    given = calibrator.explain(q).contests
    assert [each.after for each in given] == pytest.approx(
        [each.after for each in explanation.contests]
    )
    assert all(each.observed is None for each in given)


def test_it_says_where_one_temperature_does_not_do(bent):
    calibrator, q, _ = bent
    sentence = next(each for each in calibrator.explain().sentences() if "compete" in each)
    assert sentence == calibrator.explain().sentences()[1]
    pair = next(each for each in calibrator.explain().contests if each.contest == "pair")
    assert f"too sure where two classes compete ({pair.share:.1%} of rows: says" in sentence
    assert f"says {pair.tempered:.3f}, right {pair.observed:.3f}, this map {pair.after:.3f}" in (
        sentence
    )
    assert "two classes compete" in calibrator.explain().table()
    without_labels = calibrator.explain(q).sentences()[1]
    assert "right 0." not in without_labels
    assert "too sure where two classes compete" in without_labels


def test_it_says_nothing_where_one_temperature_does():
    rng = np.random.default_rng(0)
    q = softmax(rng.normal(scale=3.0, size=(3000, 4)), axis=1)
    y = (0.5 * np.log(q) + rng.gumbel(size=q.shape)).argmax(axis=1)
    for calibrator in (BayesianDirichletCalibrator(), DirichletCalibrator(), TemperatureScaling()):
        calibrator.fit(q, y)
        for explanation in (calibrator.explain(), calibrator.explain(q)):
            assert "compete" not in str(explanation)
    assert [each.contest for each in explanation.contests] == ["alone", "pair", "many"]


def test_files_keep_it_and_older_ones_go_without(bent, tmp_path):
    calibrator, _, _ = bent
    path = tmp_path / "map.json"
    dircal.save(calibrator, path)
    assert dircal.load(path).explain() == calibrator.explain()
    document = json.loads(path.read_text())
    del document["object"]["fit"]["record"]["fields"]["effects"]["fields"]["contests"]
    path.write_text(json.dumps(document))
    older = dircal.load(path).explain()
    assert older.contests == ()
    assert older.classes == calibrator.explain().classes
    document["object"]["fit"]["record"]["fields"]["effects"]["fields"]["contests"] = 3
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError, match="contests"):
        dircal.load(path)
    data = json.loads(json.dumps(calibrator.explain().to_dict()))
    assert {"contest", "share", "tempered", "observed"} <= set(data["contests"][0])


def test_rows_that_the_map_makes_worse_are_not_told_of():
    nearer = ContestEffect("pair", 0.3, 0.9, 0.8, 0.7, 0.65)
    farther = ContestEffect("pair", 0.3, 0.9, 0.8, 0.7, 0.85)
    assert "too sure where two classes compete" in about_contests([nearer], 1000)[0]
    assert about_contests([farther], 1000) == []
    assert table_of_contests([farther]) == []


def test_right_is_only_what_labels_do_not_speak_against():
    told = ContestEffect("pair", 0.3, 0.9, 0.8, 0.7, 0.65)
    wrong = ContestEffect("many", 0.3, 0.7, 0.5, 0.5, 0.4)
    assert "about right" not in about_contests([told, wrong], 1000)[0]
    assert about_contests([told, wrong], 50)[0].endswith("about right where more than two compete.")
    assert about_contests([told], 10) == []


def test_too_unsure():
    each = ContestEffect("alone", 1.0, 0.9, 0.92, 0.96, 0.965)
    assert about_contests([each], 100) == [
        "After the best single temperature the scores are too unsure where one class stands alone "
        "(100.0% of rows: says 0.920, right 0.965, this map 0.960)."
    ]
