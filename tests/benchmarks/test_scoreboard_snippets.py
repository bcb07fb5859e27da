"""Reproductions: whole programs, of the source that the table is made with."""

import ast
import builtins
from pathlib import Path

import pytest
from _scoreboard_contracts import CONTRACTS
from _scoreboard_snippets import reproduction
from rivals import LIBRARIES

RIVALS = Path(__file__).parents[2] / "benchmarks" / "rivals"
STUB = '''
"""A library that is wrong."""

import math
import numpy as np
from collections import Counter, OrderedDict

FACTOR = 2.0


def doubled(P):
    """Twice of it."""
    return FACTOR * np.asarray(P)


def never_used(P):
    return math.inf


CALIBRATORS = {"stub": lambda classes: Counter(classes)}
LOGITS = CALIBRATORS
NOT_OFFERED = {}


def fit(model: Counter, P: "anything", y: int) -> Counter:
    """Nothing to learn."""
    return model


def predict(model: Counter, P: float) -> float:
    return doubled(P)


def predict_logits(model, logits):
    return np.full(logits.shape, np.nan)
'''


@pytest.fixture
def stub(tmp_path):
    path = tmp_path / "stub.py"
    path.write_text(STUB)
    return path


def run(program):
    exec(compile(program, "reproduction", "exec"), {"__name__": "__main__"})


def test_a_reproduction_fails_as_the_contract_did(stub):
    program = reproduction(stub, "stub", "sum", 4)
    with pytest.raises(Exception, match=r"row \d+ sums to 2\.000000") as caught:
        run(program)
    assert type(caught.value).__name__ == "Broken"


def test_a_reproduction_of_logits_calls_what_takes_logits(stub):
    program = reproduction(stub, "stub", "logits", 4)
    assert "huge_logits(new, fit, predict_logits, k=4)" in program
    with pytest.raises(Exception, match="400 of 400 rows are not finite"):
        run(program)


def test_a_reproduction_has_what_it_needs_and_no_more(stub):
    program = reproduction(stub, "stub", "sum", 4)
    assert program.splitlines()[:2] == ["from collections import Counter", "import numpy as np"]
    assert "FACTOR = 2.0" in program
    for absent in ("never_used", "math", "OrderedDict", "pandas", '"""', "Twice", "anything"):
        assert absent not in program, absent


def made_by(module):
    """Names of the calibrators of a module, without importing it."""
    tree = ast.parse((RIVALS / f"{module}.py").read_text(encoding="utf-8"))
    tables = {
        node.target.id: node.value
        for node in tree.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    return [ast.literal_eval(key) for key in tables["CALIBRATORS"].keys]


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.name)
def test_reproductions_of_all_libraries_know_every_name_they_use(library):
    path = RIVALS / f"{library.module}.py"
    takes_logits = "LOGITS" in path.read_text(encoding="utf-8")
    for calibrator in made_by(library.module):
        for contract in CONTRACTS:
            if contract == "logits" and not takes_logits:
                continue
            program = reproduction(path, calibrator, contract, library.n_classes)
            tree, known = ast.parse(program), {*vars(builtins)}
            for node in ast.walk(tree):
                match node:
                    case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                        known.add(name)
                    case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
                        known.add(name)
                    case ast.ExceptHandler(name=str(name)):
                        known.add(name)
                    case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                        known |= {alias.asname or alias.name for alias in aliases}
            used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
            assert used <= known, (calibrator, contract, used - known)
