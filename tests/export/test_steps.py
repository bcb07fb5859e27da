"""Every step, in every target: the same numbers as its `apply`, or a reason."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from scipy.special import softmax

from dircal import maps
from dircal.export._evaluate import evaluate
from dircal.export._expression import Choose, Input, RowSum, column, constant, in_precision
from dircal.export._lower import lower, lower_map, lower_with_logits
from dircal.export._torch_module import Graph
from dircal.maps import CalibrationMap

W = np.array([[0.9, -0.2, 0.1], [0.0, 1.3, -0.4], [0.2, 0.1, 0.5]])
PLATT = CalibrationMap(
    2, (maps.LogSoftmax(), maps.LogOdds(), maps.Diagonal([0.7], [0.2]), maps.Sigmoid())
)
SIMPLE = CalibrationMap(3, (maps.Scale(0.5), maps.Softmax()))
# Rows (n, d) that a step may get: probabilities of three classes, logits, one or two numbers.
RNG = np.random.default_rng(0)
PROBA = np.vstack([RNG.dirichlet(np.ones(3), size=20), np.eye(3), [[0.5, 0.49999, 0.0]]])
LOGITS = RNG.normal(scale=5.0, size=(20, 3))
MASKED = np.where(RNG.random((20, 3)) < 0.3, -np.inf, LOGITS)
MASKED[:, 0] = LOGITS[:, 0]
# Ties, and scores so far apart that exponentials overflow or vanish.
FAR = np.vstack([LOGITS, np.zeros((1, 3)), [[900.0, -900.0, 0.0], [2.0, 2.0, -60.0]]])
CURVES = RNG.normal(size=(3, 4))
ONE = np.r_[0.0, 0.25, 0.5, 1.0, RNG.random(20)][:, None]
EXAMPLES = {
    "Affine": (maps.Affine(W, [0.1, 0.2, -0.3]), LOGITS),
    "Columns": (maps.Columns((2, 0)), LOGITS),
    "Complement": (maps.Complement(), ONE),
    "Diagonal": (maps.Diagonal([0.5, 2.0, -1.0], [0.1, 0.0, 3.0]), LOGITS),
    "Interpolation": (maps.Interpolation([0.1, 0.25, 0.6], [0.0, 0.2, 0.9]), ONE),
    "LogOdds": (maps.LogOdds(), LOGITS[:, :2]),
    "LogProbability": (maps.LogProbability(1e-3), PROBA),
    "LogSoftmax": (maps.LogSoftmax(1e-3), LOGITS),
    "Lookup": (maps.Lookup([0.25, 0.25, 0.7], [0.1, 0.5, 0.3, 0.9]), ONE),
    "MaskedAsLeast": (maps.MaskedAsLeast(), MASKED),
    "MeanOfMaps": (maps.MeanOfMaps((SIMPLE, SIMPLE.then())), LOGITS),
    "Normalise": (maps.Normalise(1e-6), PROBA),
    "OneVsRest": (maps.OneVsRest((PLATT, PLATT, PLATT), "logit"), LOGITS),
    "Scale": (maps.Scale(0.3), LOGITS),
    "Sigmoid": (maps.Sigmoid(), 20.0 * ONE - 10.0),
    "Softmax": (maps.Softmax(), LOGITS),
    "UniformMixture": (maps.UniformMixture(0.7, 0.01, False), LOGITS),
    "WithCurves": (
        maps.WithCurves(
            CalibrationMap(3, (maps.Affine(W, [0.1, 0.2, -0.3]),)), CURVES, [-3.0, 1.0]
        ),
        FAR,
    ),
    "ZeroLogit": (maps.ZeroLogit(), ONE),
}
OTHERS = {
    "Normalise-all": (maps.Normalise(), PROBA),
    "LogProbability-tiny": (maps.LogProbability(), PROBA),
    "LogSoftmax-free": (maps.LogSoftmax(), LOGITS),
    "Interpolation-flat": (maps.Interpolation([0.3], [0.6]), ONE),
    "Lookup-single": (maps.Lookup([], [0.4]), ONE),
    "WithCurves-shared": (
        maps.WithCurves(CalibrationMap(3, (maps.Scale(0.5),)), CURVES[:1], [-3.0, 1.0]),
        FAR,
    ),
    "UniformMixture-normalised": (maps.UniformMixture(0.7, 0.01, True), LOGITS),
}
ALL = EXAMPLES | OTHERS
OF_AFFINE = {"affine.matrix", "affine.intercepts"}
OF_DIAGONAL = {"diagonal.slopes", "diagonal.intercepts"}
PARAMETERS = {
    "Affine": OF_AFFINE,
    "Diagonal": OF_DIAGONAL,
    "MeanOfMaps": {"scale.slope"},
    "OneVsRest": OF_DIAGONAL,
    "Scale": {"scale.slope"},
    "WithCurves": OF_AFFINE | {"with_curves.coefficients"},
    "WithCurves-shared": {"scale.slope", "with_curves.coefficients"},
}
each_step = pytest.mark.parametrize(("step", "rows"), ALL.values(), ids=ALL)


def test_every_step_has_an_example():
    assert set(EXAMPLES) == set(maps.STEPS)


@each_step
def test_expressions_do_what_steps_do(step, rows):
    expected = step.apply(np.ascontiguousarray(rows.T.copy())).T
    expression = lower(step, Input(rows.shape[1]))
    assert expression.width == step.n_out(rows.shape[1]) == expected.shape[1]
    assert_allclose(evaluate(expression, rows), expected, rtol=1e-13, atol=1e-15)


def run_torch(expressions, rows):
    """Results of expressions in PyTorch, and names of the parameters."""
    graph = Graph()
    module = graph.module(expressions)
    with torch.no_grad():
        found = module(torch.tensor(rows), torch.tensor(graph.numbers, dtype=torch.float64))
    names = {name for name, _ in module.named_parameters()}
    return [each.numpy() for each in found], names


def test_masks_around_other_steps():
    chain = CalibrationMap(3, (maps.Columns((2, 0, 1)), maps.Affine(W, [0.1, 0.2, -0.3])))
    chain = chain.then(maps.Softmax())
    found = evaluate(lower_map(chain.with_masks, Input(3)), MASKED)
    assert_allclose(found, chain(MASKED), rtol=1e-13, atol=1e-15)
    (proba, logits), _ = run_torch(lower_with_logits(chain.with_masks, Input(3)), MASKED)
    assert_allclose(proba, chain(MASKED), rtol=1e-13, atol=1e-15)
    assert_allclose(softmax(logits, axis=1), chain(MASKED), rtol=1e-13, atol=1e-15)


@each_step
def test_graphs_of_torch_do_what_steps_do_and_name_their_parameters(step, rows, request):
    expression = lower(step, Input(rows.shape[1]))
    if request.node.callspec.id in (
        "Interpolation",
        "Interpolation-flat",
        "Lookup",
        "Lookup-single",
    ):
        with pytest.raises(ValueError, match=r"a curve with edges, .* no gradient.* Use to_onnx"):
            run_torch([expression], rows)
        return
    (found,), names = run_torch([expression], rows)
    expected = step.apply(np.ascontiguousarray(rows.T.copy())).T
    assert_allclose(np.broadcast_to(found, expected.shape), expected, rtol=1e-13, atol=1e-15)
    assert names == PARAMETERS.get(request.node.callspec.id, set())


@dataclass(frozen=True, eq=False)
class Unheard(maps.AbstractStep):
    """A step that nobody has written for other programs."""

    def apply(self, block):
        return block

    def n_out(self, n_in):
        return n_in


def test_a_step_without_a_form_is_refused():
    with pytest.raises(ValueError, match="the step Unheard, which has no formula to export"):
        lower(Unheard(), Input(2))


def test_steps_of_the_same_kind_have_names_of_their_own():
    chain = CalibrationMap(3, (maps.Scale(0.5), maps.Softmax(), maps.Scale(2.0)))
    graph = Graph()
    module = graph.module([lower_map(chain, Input(3))])
    assert [name for name, _ in module.named_children()] == ["scale", "scale_2"]
    assert module.scale_2.slope.item() == 2.0
    assert graph.steps == {"scale": chain.steps[0], "scale_2": chain.steps[2]}


@pytest.mark.parametrize("last", [maps.Softmax(), maps.Normalise()], ids=["softmax", "none"])
def test_logits_lead_to_the_same_probabilities(last):
    rows = np.abs(LOGITS)
    chain = CalibrationMap(3, (maps.Scale(0.5), last))
    proba, logits = (evaluate(each, rows) for each in lower_with_logits(chain, Input(3)))
    assert_allclose(proba, chain(rows), rtol=1e-12)
    assert_allclose(softmax(logits, axis=1), proba, rtol=1e-12)


def test_which_expressions_every_program_computes_alike():
    x = Input(3)
    in_order = RowSum(x, in_order=True)
    assert (x / Choose(constant(1.0), in_order, in_order, constant(2.0))).exact
    assert (column(x, 1) - column(x, 0)).exact
    for differs in (RowSum(x), x.exp(), lower(EXAMPLES["Affine"][0], x), lower(maps.Softmax(), x)):
        assert not (differs + 1.0).exact


@pytest.mark.parametrize("curve", [EXAMPLES["Interpolation"][0], EXAMPLES["Lookup"][0]])
def test_edges_need_exact_scores(curve):
    fine = CalibrationMap(2, (maps.Normalise(1e-6), maps.Columns((1,)), curve))
    assert lower_map(fine, Input(2)).exact
    rough = CalibrationMap(2, (maps.LogSoftmax(), maps.LogOdds(), curve))
    with pytest.raises(ValueError, match="of scores that are computed with exponentials"):
        lower_map(rough, Input(2))


def test_positive_constants_stay_positive():
    limits = np.finfo(np.float32)
    found = in_precision(np.array([-1.0, 0.0, 1e-300, 0.1]), limits).astype(np.float32)
    assert found.tolist() == [-1.0, 0.0, np.finfo(np.float32).tiny, np.float32(0.1)]


def test_finite_constants_stay_finite():
    for limits in (np.finfo(np.float32), torch.finfo(torch.float32)):
        found = in_precision(np.array([-1e300, -np.inf, 1e300, np.inf]), limits).astype(np.float32)
    large = float(np.finfo(np.float32).max)
    assert found.tolist() == [-large, -np.inf, large, np.inf]
