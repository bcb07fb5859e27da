import copy
import io
import pickle

import numpy as np
import onnxruntime
import pytest
import torch
from numpy.testing import assert_allclose

from dircal import (
    AutoCalibrator,
    BayesianDirichletCalibrator,
    BetaCalibrator,
    CalibratorCV,
    DirichletCalibrator,
    OneVsRestCalibrator,
    PlattCalibrator,
    TemperatureScaling,
    VectorScaling,
)
from dircal.export import from_torch, to_torch


def train(module, X, y, steps=100, rate=0.05):
    """A few steps of full-batch training, through `logits`."""
    optimiser = torch.optim.Adam(module.parameters(), lr=rate)
    X, y = torch.tensor(X), torch.tensor(y)
    for _ in range(steps):
        optimiser.zero_grad()
        loss = torch.nn.functional.cross_entropy(module.logits(X), y)
        loss.backward()
        optimiser.step()
    return loss.item()


def loss_of(calibrator, X, y):
    return -np.log(calibrator.predict_proba(X)[np.arange(len(y)), y]).mean()


@pytest.mark.parametrize(
    "calibrator",
    [
        DirichletCalibrator(penalty="l2", lam=1.0),
        DirichletCalibrator(penalty="l2_reference", lam=1.0),
        VectorScaling(penalty="l2", lam=1.0),
        BayesianDirichletCalibrator(),
        OneVsRestCalibrator(PlattCalibrator()),
        OneVsRestCalibrator(BetaCalibrator()),
    ],
)
def test_training_lowers_the_loss_and_comes_back(calibrator, make_problem):
    problem = make_problem(0, n=300, k=3)
    X, y = problem.proba, problem.y
    calibrator.fit(X, y)
    module = to_torch(calibrator)
    train(module, X, y)
    back = from_torch(module)
    assert type(back) is type(calibrator)
    assert loss_of(back, X, y) < loss_of(calibrator, X, y) - 1e-4
    with torch.no_grad():
        assert_allclose(module(torch.tensor(X)), back.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize(
    "calibrator",
    [
        AutoCalibrator(calibrators=[TemperatureScaling()], cv=2),
        CalibratorCV(OneVsRestCalibrator(PlattCalibrator()), {"calibrator__tol": [1e-9]}, cv=2),
        CalibratorCV(
            OneVsRestCalibrator(BetaCalibrator()),
            {"calibrator__tol": [1e-9]},
            cv=2,
            combine="refit",
        ),
        # Both folds give the same map, so that all of it comes before the mean.
        CalibratorCV(TemperatureScaling(), {"tol": [1e-9]}, cv=[(range(200), [0, 1])] * 2),
    ],
)
def test_what_is_made_of_others_comes_back_with_all_of_them(calibrator, make_problem):
    problem = make_problem(0, n=300, k=3)
    X = problem.proba
    module = to_torch(calibrator.fit(X, problem.y))
    with torch.no_grad():
        for parameter in module.parameters():
            parameter *= 0.9
        moved = module(torch.tensor(X))
    back = from_torch(module)
    assert_allclose(moved, back.predict_proba(X), rtol=1e-12)
    assert np.abs(moved.numpy() - calibrator.predict_proba(X)).max() > 1e-3
    if isinstance(calibrator, AutoCalibrator):
        assert type(back) is TemperatureScaling
    else:
        assert [type(each) for each in back.calibrators_] == [
            type(each) for each in calibrator.calibrators_
        ]


def test_a_reference_class_stays_one(make_problem):
    problem = make_problem(0, n=300, k=3)
    calibrator = DirichletCalibrator(penalty="l2_reference", lam=1.0)
    module = to_torch(calibrator.fit(problem.proba, problem.y))
    train(module, problem.proba, problem.y)
    assert module.steps.affine.matrix[-1].abs().max() > 0
    back = from_torch(module)
    assert not back.coef_[-1].any()
    assert back.intercept_[-1] == 0.0


def test_training_finds_what_the_fit_finds(make_problem):
    problem = make_problem(0, n=300, k=3)
    X, y = problem.logits, problem.y
    scaling = TemperatureScaling(input_scale="logit").fit(X, y)
    right = scaling.temperature_
    module = to_torch(scaling)
    module.steps.scale.slope.data.fill_(1.0)
    train(module, X, y, steps=300)
    assert from_torch(module).temperature_ == pytest.approx(right, rel=1e-3)
    assert sum(p.numel() for p in module.parameters()) == 1


@pytest.mark.parametrize("dtype", ["input", "float32"])
def test_the_last_layer_of_a_network(dtype, make_problem):
    problem = make_problem(0, n=300, k=3)
    calibrator = DirichletCalibrator(input_scale="logit").fit(problem.logits, problem.y)
    network = torch.nn.Sequential(torch.nn.Linear(3, 3), to_torch(calibrator, dtype=dtype))
    torch.nn.init.eye_(network[0].weight)
    torch.nn.init.zeros_(network[0].bias)
    X = torch.tensor(problem.logits, dtype=torch.float32)
    assert_allclose(
        network(X).detach(), calibrator.predict_proba(problem.logits), atol=1e-5, rtol=0
    )
    assert network(X).dtype == torch.float32
    network(X)[:, 0].sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in network.parameters())
    assert network[0].weight.grad.abs().max() > 0


def test_gradients_are_those_of_finite_differences(make_problem):
    problem = make_problem(0, n=200, k=3)
    for calibrator in (
        DirichletCalibrator(),
        BayesianDirichletCalibrator(),
        CalibratorCV(DirichletCalibrator(penalty="l2"), {"lam": [1.0, 0.1, 1e-9]}, cv=2),
        OneVsRestCalibrator(BetaCalibrator(input_scale="logit")),
    ):
        X = problem.logits if calibrator.input_scale == "logit" else problem.proba
        module = to_torch(calibrator.fit(X, problem.y))
        rows = torch.tensor(X[:5], requires_grad=True)
        assert torch.autograd.gradcheck(module, (rows,))


def test_gradients_are_finite_at_zeros(make_problem):
    problem = make_problem(0, n=200, k=3)
    rows = torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]], dtype=torch.float64)
    for calibrator in (
        DirichletCalibrator(),
        BayesianDirichletCalibrator(),
        OneVsRestCalibrator(PlattCalibrator()),
    ):
        module = to_torch(calibrator.fit(problem.proba, problem.y))
        x = rows.clone().requires_grad_()
        module(x)[:, 0].sum().backward()
        assert torch.isfinite(x.grad).all()
        assert all(torch.isfinite(p.grad).all() for p in module.parameters())


def test_precision_can_be_changed_afterwards(make_problem):
    problem = make_problem(0, n=200, k=3)
    calibrator = DirichletCalibrator().fit(problem.proba, problem.y)
    rows = torch.tensor([[1.0, 0.0, 0.0]])
    single, half = to_torch(calibrator).float(), to_torch(calibrator).half()
    for module in (single, copy.deepcopy(single), half):
        assert module(rows).dtype == torch.float32
        assert torch.isfinite(module(rows)).all()
    assert_allclose(single(rows).detach(), calibrator.predict_proba(rows.numpy()), atol=1e-5)
    assert {p.dtype for p in half.parameters()} == {torch.float16}


@pytest.mark.parametrize("scale", ["probability", "logit"])
@pytest.mark.parametrize(
    ("dtype", "rounding"),
    [(torch.float64, 1e-12), (torch.float32, 1e-7), (torch.float16, 1e-3), (torch.bfloat16, 1e-2)],
)
def test_the_result_has_the_type_of_the_scores(dtype, rounding, scale, make_problem):
    """The map itself is computed in double precision: only the result is rounded."""
    problem = make_problem(0, n=300, k=3)
    X = problem.logits if scale == "logit" else problem.proba
    calibrator = DirichletCalibrator(input_scale=scale).fit(X, problem.y)
    module = to_torch(calibrator)
    rows = torch.tensor(X[:100]).to(dtype)
    proba = module(rows)
    assert proba.dtype == module.logits(rows).dtype == dtype
    exact = to_torch(calibrator, dtype="float64")(rows).detach()
    assert exact.dtype == torch.float64
    assert_allclose(proba.detach().double(), exact, atol=rounding, rtol=0)
    if dtype in (torch.float64, torch.float32):
        assert_allclose(exact, calibrator.predict_proba(rows.numpy()), atol=1e-12, rtol=0)


def test_whole_numbers_as_logits(make_problem):
    problem = make_problem(0, n=300, k=3)
    calibrator = TemperatureScaling(input_scale="logit").fit(problem.logits, problem.y)
    rows = torch.tensor([[3, -1, 2]])
    found = to_torch(calibrator)(rows).detach()
    assert_allclose(found, calibrator.predict_proba(rows.numpy()), rtol=1e-12)


def test_a_temperature_is_one_multiplication(make_problem):
    problem = make_problem(0, n=300, k=3)
    scaling = TemperatureScaling(input_scale="logit").fit(problem.logits, problem.y)
    module = to_torch(scaling)
    assert [name for name, _ in module.named_parameters()] == ["steps.scale.slope"]
    assert module.steps.scale.slope.shape == ()
    assert module.steps.code.count("self.scale.slope") == 1
    assert module.steps.code.count(" * ") == 1


def bent(make_problem, k=3):
    """Labels that a linear map cannot predict."""
    problem = make_problem(1, n=600, k=k)
    certain = problem.proba.max(axis=1) > 0.9
    return problem, np.where(certain, problem.proba.argmax(axis=1), problem.y)


def columns_out_of_order(problem, y):
    return DirichletCalibrator(classes=["c", "a", "b"]).fit(problem.proba, np.array([*"cab"])[y])


def average(problem, y):
    grid = {"lam": [1.0, 0.1, 1e-9]}
    return CalibratorCV(DirichletCalibrator(penalty="l2"), grid, cv=2).fit(problem.proba, y)


def masked(calibrator):
    def fit(problem, y):
        hidden = np.random.default_rng(0).random(problem.logits.shape) < 0.3
        hidden[np.arange(len(y)), y] = False
        return calibrator.fit(np.where(hidden, -np.inf, problem.logits), y)

    return fit


def one_column(problem, y):
    return PlattCalibrator(input_scale="logit").fit(problem.logits[:, 1], y == 1)


CHAINS = {
    "columns": columns_out_of_order,
    "average": average,
    "curves": lambda problem, y: BayesianDirichletCalibrator(clip=1e-30).fit(problem.proba, y),
    "one against the rest": lambda problem, y: OneVsRestCalibrator(BetaCalibrator()).fit(
        problem.proba, y
    ),
    "masks of a temperature": masked(TemperatureScaling(input_scale="logit")),
    "masks of a matrix": masked(DirichletCalibrator(input_scale="logit")),
    "masks of curves": masked(BayesianDirichletCalibrator(input_scale="logit")),
    "masks of one against the rest": masked(
        OneVsRestCalibrator(PlattCalibrator(input_scale="logit"))
    ),
    "one column": one_column,
}


def run_script(module, rows):
    return torch.jit.script(module)(rows)


def run_program(module, rows):
    any_number = ({0: torch.export.Dim("n")},)
    return torch.export.export(module, (rows[:2],), dynamic_shapes=any_number).module()(rows)


def run_compiled(module, rows):
    torch.compiler.reset()
    return torch.compile(module, fullgraph=True, backend="aot_eager")(rows)


def run_onnx(module, rows):
    model = io.BytesIO()
    names = {"input_names": ["scores"], "dynamic_axes": {"scores": {0: "n"}}}
    torch.onnx.export(module, (rows[:2],), model, dynamo=False, **names)
    session = onnxruntime.InferenceSession(model.getvalue())
    return torch.tensor(session.run(None, {"scores": rows.numpy()})[0])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")
@pytest.mark.filterwarnings("ignore::dircal.exceptions.GridEdgeWarning")
@pytest.mark.parametrize("run", [run_script, run_program, run_compiled, run_onnx])
@pytest.mark.parametrize("fit", CHAINS.values(), ids=CHAINS)
def test_tools_of_torch_accept_the_module(fit, run, make_problem):
    problem, y = bent(make_problem)
    calibrator = fit(problem, y)
    module = to_torch(calibrator)
    X = problem.logits if calibrator.input_scale == "logit" else problem.proba
    rows = X[:50, : len(module.columns)].astype(np.float32)
    if calibrator.input_scale == "logit":
        rows[::3, 0] = -np.inf
    with torch.no_grad():
        found = run(module, torch.tensor(rows))
    assert found.dtype == torch.float32
    assert_allclose(found, calibrator.predict_proba(rows), atol=1e-6, rtol=0)


def test_copies_and_state(make_problem):
    problem = make_problem(0, n=200, k=3)
    calibrator = DirichletCalibrator().fit(problem.proba, problem.y)
    module = to_torch(calibrator)
    with torch.no_grad():
        module.steps.affine.matrix *= 0.9
    file = io.BytesIO()
    torch.save(module.state_dict(), file)
    file.seek(0)
    other = to_torch(DirichletCalibrator().fit(problem.proba[:100], problem.y[:100]))
    other.load_state_dict(torch.load(file, weights_only=True))
    names = {"steps.affine.matrix", "steps.affine.intercepts"}
    for one in (copy.deepcopy(module), pickle.loads(pickle.dumps(module)), other):
        assert_allclose(from_torch(one).coef_, 0.9 * calibrator.coef_, rtol=1e-15)
        assert set(one.state_dict()) == names


def test_it_can_be_traced(make_problem):
    problem = make_problem(0, n=200, k=3)
    module = to_torch(DirichletCalibrator().fit(problem.proba, problem.y)).eval()
    X = torch.tensor(problem.proba)
    program = torch.export.export(module, (X,))
    assert_allclose(program.module()(X).detach(), module(X).detach())


def test_labels(make_problem):
    problem = make_problem(0, n=200, k=3)
    names = np.array(["cat", "ant", "bee"])
    calibrator = DirichletCalibrator(classes=names.tolist()).fit(problem.proba, names[problem.y])
    module = to_torch(calibrator)
    assert module.columns == ["cat", "ant", "bee"]
    assert module.classes == ["ant", "bee", "cat"]
    assert from_torch(module).classes_.tolist() == ["ant", "bee", "cat"]


def test_what_is_no_calibrator(make_problem):
    problem = make_problem(0, n=200, k=3)
    with pytest.raises(ValueError, match=r"`module` must be what .* returned; got a Linear"):
        from_torch(torch.nn.Linear(3, 3))
    module = to_torch(DirichletCalibrator().fit(problem.proba, problem.y))
    module.steps.affine.intercepts.data.fill_(torch.nan)
    with pytest.raises(
        ValueError, match=r"a parameter that is not finite: steps.affine.intercepts"
    ):
        from_torch(module)
    module = to_torch(TemperatureScaling().fit(problem.proba, problem.y))
    module.steps.scale.slope.data.fill_(-1.0)
    with pytest.raises(
        ValueError, match=r"parameters that are not .* `slope` must be above 0; got -1"
    ):
        from_torch(module)
