"""Contracts of the scoreboard: ours keep them all, and each can be broken."""

import ast
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from _scoreboard_contracts import CONTRACTS, FED_WITH_OTHER_COLUMNS, Broken
from _scoreboard_worker import cells, run_cell
from rivals import ours
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin

TESTS = Path(__file__).parents[1]
FRESH = {"calibrator": "stub", "message": ""}


@pytest.mark.parametrize(("calibrator", "contract"), cells(ours))
def test_ours_keep_every_contract(calibrator, contract):
    outcome = run_cell(ours, calibrator, contract, 4)
    assert outcome["verdict"] == "holds", outcome["message"]


class Stub(BaseEstimator):
    """Mixes probabilities with the frequencies of the classes; what it is given is all right."""

    def __init__(self, classes=None):
        self.classes = classes

    def fit(self, P, y, weight=None):
        self.n_classes_ = P.shape[1]
        codes = self.codes(P, y)
        self.share_ = np.bincount(codes, weights=weight, minlength=self.n_classes_)
        self.share_ = self.share_ / self.share_.sum()
        return self

    def codes(self, P, y):
        if not np.isfinite(np.asarray(P)).all():
            raise ValueError("P has rows of NaN.")
        return np.searchsorted(np.asarray(self.classes), np.asarray(y))

    def predict(self, P):
        return (np.asarray(P, dtype=float) + self.share_) / 2


class OnLogits(Stub):
    def predict(self, P):
        return softmax(P, axis=1)


class OfSumTwo(Stub):
    def predict(self, P):
        return 2 * super().predict(P)


class FavoursTheFirst(Stub):
    def predict(self, P):
        odds = super().predict(P) * np.r_[2.0, np.ones(self.n_classes_ - 1)]
        return odds / odds.sum(axis=1, keepdims=True)


class WithoutWeights(Stub):
    def fit(self, P, y, weight=None):
        return super().fit(P, y)


class OnlyClassesItSaw(Stub):
    def predict(self, P):
        return super().predict(P)[:, self.share_ > 0]


class WithLogarithms(Stub):
    def predict(self, P):
        with np.errstate(all="ignore"):
            return super().predict(P) + 0 * np.log(P)


class OnlyIndices(Stub):
    def codes(self, P, y):
        return np.array([j for j in range(P.shape[1]) for label in y if label == j] or [0])


class TakesNaN(Stub):
    def codes(self, P, y):
        return super().codes(np.nan_to_num(P), y)


class PredictsFromNaN(Stub):
    def predict(self, P):
        return super().predict(np.nan_to_num(P))


class RefusesWithoutReason(Stub):
    def codes(self, P, y):
        assert not np.isnan(P).any()
        return super().codes(P, y)


class Overflows(Stub):
    def predict(self, P):
        with np.errstate(all="ignore"):
            return np.exp(P) / np.exp(P).sum(axis=1, keepdims=True)


class Coarse(Stub):
    def predict(self, P):
        return super().predict(P.round(1) if P.dtype == np.float32 else P)


class SortsFrames(Stub):
    def predict(self, P):
        return super().predict(P.sort_index() if isinstance(P, pd.DataFrame) else P)


class Forgets(Stub):
    def __getstate__(self):
        return vars(self) | {"share_": np.ones(self.n_classes_) / self.n_classes_}


class LearnsOnAndOn(BaseEstimator):
    """Its fit changes a parameter, which a clone inherits."""

    def __init__(self, power=1.0):
        self.power = power

    def fit(self, P, y, weight=None):
        self.power = self.power / 2
        return self

    def predict(self, P):
        return P**self.power / (P**self.power).sum(axis=1, keepdims=True)


class ComputesInItsConstructor(ClassifierMixin, BaseEstimator):
    def __init__(self, classes=None):
        self.classes = [] if classes is None else [*classes]
        self.size = len(self.classes)

    def fit(self, X, y):
        return self


BREAKING = [
    ("sum", OfSumTwo, "sums to 2.000000"),
    ("relabel", FavoursTheFirst, "when classes are numbered otherwise"),
    ("weights", WithoutWeights, "when rows are weighted and not repeated"),
    ("absent", OnlyClassesItSaw, "shape (400, 4) went in, one of shape (400, 3) came out"),
    ("zeros", WithLogarithms, "rows are not finite"),
    ("text", OnlyIndices, "when labels are text"),
    ("numbers", OnlyIndices, "when labels are 10, 20"),
    ("NaN", TakesNaN, "a NaN to fit is taken; 0 of 400 predictions are NaN"),
    ("NaN", PredictsFromNaN, "a row of NaN to predict comes out as"),
    ("NaN", RefusesWithoutReason, "a NaN to fit is refused without a reason: AssertionError"),
    ("logits", Overflows, "rows are not finite"),
    ("n < k", OnlyClassesItSaw, "shape (50, 10) went in, one of shape (50, 5) came out"),
    ("float32", Coarse, "when the input is float32"),
    ("pandas", SortsFrames, "when the input is a DataFrame"),
    ("pickle", Forgets, "after pickling"),
    ("clone", LearnsOnAndOn, "after clone and another fit"),
    ("checks", ComputesInItsConstructor, "checks fail"),
]


def library(kind, **more):
    make = {"stub": (lambda classes: kind()) if kind is LearnsOnAndOn else kind}
    return SimpleNamespace(
        CALIBRATORS=make,
        LOGITS=make,
        NOT_OFFERED={},
        fit=lambda model, P, y, weight=None: model.fit(P, y, weight),
        predict=lambda model, P: model.predict(P),
        **more,
    )


@pytest.mark.parametrize(("contract", "kind", "seen"), BREAKING)
def test_every_contract_can_be_broken(contract, kind, seen):
    outcome = run_cell(library(kind), "stub", contract, 4)
    assert outcome["verdict"] == "wrong"
    assert seen in outcome["message"]


def test_each_contract_has_a_stub_that_breaks_it():
    assert {contract for contract, *_ in BREAKING} == set(CONTRACTS)


@pytest.mark.parametrize("contract", [name for name in CONTRACTS if name != "checks"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_others_than_ours_can_keep_them(contract, n_classes):
    kind = OnLogits if contract == "logits" else Stub
    outcome = run_cell(library(kind), "stub", contract, n_classes)
    assert outcome == FRESH | {"contract": contract, "verdict": "holds"}


@pytest.mark.parametrize("contract", [name for name in CONTRACTS if name != "NaN"])
def test_an_exception_of_a_library_is_an_error(contract):
    def fail(*_):
        raise RuntimeError("no such thing")

    broken = library(Stub) if contract == "checks" else library(fail)
    if contract == "checks":
        broken.CALIBRATORS = {"stub": fail}
    outcome = run_cell(broken, "stub", contract, 4)
    assert outcome["verdict"] == "error"
    assert outcome["message"] == "RuntimeError: no such thing"


def test_what_is_not_offered_is_not_run():
    stub = library(Stub)
    stub.NOT_OFFERED = {"weights": "there are none"}
    del stub.LOGITS
    for contract, reason in {"weights": "there are none", "logits": "takes probabilities"}.items():
        outcome = run_cell(stub, "stub", contract, 4)
        assert (outcome["verdict"], outcome["message"]) == ("not offered", reason)


def test_logits_are_given_by_functions_of_their_own():
    stub = library(
        OnLogits,
        fit_logits=lambda model, logits, y: ("of logits", model.fit(logits, y)),
        predict_logits=lambda model, logits: model[1].predict(logits),
    )
    assert run_cell(stub, "stub", "logits", 4)["verdict"] == "holds"


def test_broken_is_no_assertion_of_a_library():
    assert not issubclass(Broken, AssertionError)


def test_the_checks_left_out_are_those_of_our_own_tests():
    """There, each has a test that asks the same of rows on the simplex."""
    tree = ast.parse((TESTS / "common" / "conftest.py").read_text(encoding="utf-8"))
    named = [node for node in tree.body if isinstance(node, ast.Assign)]
    [listed] = [node.value for node in named if node.targets[0].id == "ON_THE_SIMPLEX"]
    assert set(FED_WITH_OTHER_COLUMNS) == set(ast.literal_eval(listed))
