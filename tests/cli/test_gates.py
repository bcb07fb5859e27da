"""Rules that a measure has to keep."""

from dircal.cli._gates import parse_gate


def test_signs():
    values = {"log_loss": 1.0}
    fires = {s: parse_gate(f"log_loss {s} 1").fires(values) for s in ("<", "<=", ">", ">=")}
    assert fires == {"<": False, "<=": True, ">": False, ">=": True}


def test_a_measure_that_is_not_known_does_not_pass():
    assert all(parse_gate(f"log_loss {s} 1").fires({"log_loss": float("nan")}) for s in "<>")
