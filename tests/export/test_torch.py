import copy
import io

import numpy as np
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
    assert module.steps.affine.weight[-1].abs().max() > 0
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


def test_the_last_layer_of_a_network(make_problem):
    problem = make_problem(0, n=300, k=3)
    calibrator = DirichletCalibrator(input_scale="logit").fit(problem.logits, problem.y)
    network = torch.nn.Sequential(torch.nn.Linear(3, 3), to_torch(calibrator, dtype="float32"))
    torch.nn.init.eye_(network[0].weight)
    torch.nn.init.zeros_(network[0].bias)
    X = torch.tensor(problem.logits, dtype=torch.float32)
    assert_allclose(
        network(X).detach(), calibrator.predict_proba(problem.logits), atol=1e-5, rtol=0
    )
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
    module = to_torch(calibrator).float()
    rows = torch.tensor([[1.0, 0.0, 0.0]])
    assert module(rows).dtype == torch.float32
    assert torch.isfinite(module(rows)).all()


def test_copies_and_state(make_problem):
    problem = make_problem(0, n=200, k=3)
    calibrator = DirichletCalibrator().fit(problem.proba, problem.y)
    module = to_torch(calibrator)
    file = io.BytesIO()
    torch.save(module.state_dict(), file)
    file.seek(0)
    other = to_torch(DirichletCalibrator().fit(problem.proba[:100], problem.y[:100]))
    other.load_state_dict(torch.load(file, weights_only=True))
    for one in (copy.deepcopy(module), other):
        assert_allclose(from_torch(one).coef_, calibrator.coef_, rtol=1e-15)


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
    module.steps.affine.bias.data.fill_(torch.nan)
    with pytest.raises(ValueError, match=r"a parameter that is not finite: steps.affine.bias"):
        from_torch(module)
    module = to_torch(TemperatureScaling().fit(problem.proba, problem.y))
    module.steps.scale.slope.data.fill_(-1.0)
    with pytest.raises(ValueError, match="`module` has the slope -1, which is no temperature"):
        from_torch(module)
