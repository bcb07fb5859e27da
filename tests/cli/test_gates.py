"""Rules that a measure has to keep."""

from dircal import evaluate, scan
from dircal.cli._gates import GATE_NAMES, parse_gate


def test_signs():
    values = {"log_loss": 1.0}
    fires = {s: parse_gate(f"log_loss {s} 1").fires(values) for s in ("<", "<=", ">", ">=")}
    assert fires == {"<": False, "<=": True, ">": False, ">=": True}


def test_a_measure_that_is_not_known_does_not_pass():
    assert all(parse_gate(f"log_loss {s} 1").fires({"log_loss": float("nan")}) for s in "<>")


def test_gates_can_ask_for_what_is_measured(write_csv):
    found = evaluate(scan(write_csv(), label="y"), n_resamples=100, random_state=0)
    assert set(GATE_NAMES) == set(found.values())
