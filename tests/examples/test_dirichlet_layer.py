"""The example that fits our layer inside a network."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from examples.dirichlet_layer import (  # noqa: E402
    Strengths,
    calibrated_network,
    fit_layer,
    main,
    objective,
)

from dircal import DirichletCalibrator, metrics  # noqa: E402
from dircal.export import from_torch, to_torch  # noqa: E402


@pytest.fixture(scope="module")
def case():
    """A network of one layer with fixed weights, and labels that it is too sure about."""
    rng = np.random.default_rng(0)
    X = torch.from_numpy(rng.normal(size=(600, 6)))
    network = torch.nn.Linear(6, 10).double()
    with torch.no_grad():
        network.weight.copy_(torch.from_numpy(rng.normal(size=(10, 6))))
        logits = network(X)
    noisy = logits.numpy() / 2.0 + rng.gumbel(size=(600, 10))
    return network, X, torch.from_numpy(noisy.argmax(axis=1)), logits


@pytest.mark.parametrize("strengths", [Strengths.usual(600, 10), Strengths(0.5, 0.02)])
def test_the_layer_reaches_the_loss_of_the_solver(case, strengths):
    network, X, y, logits = case
    solver = DirichletCalibrator(lam=strengths.lam, mu=strengths.mu, input_scale="logit")
    solver.fit(logits.numpy(), y.numpy())
    best = float(objective(to_torch(solver), logits, y, strengths).detach())
    model = calibrated_network(network, logits, y)
    start = float(objective(model[1], logits, y, strengths).detach())
    reached = fit_layer(model, X, y, strengths)
    assert start > best + 1e-3
    assert abs(reached - best) < 1e-6
    again = from_torch(model[1])
    difference = again.predict_proba(logits.numpy()) - solver.predict_proba(logits.numpy())
    assert np.abs(difference).max() < 2e-3


def test_the_objective_is_that_of_the_paper(case):
    _, _, y, logits = case
    strengths = Strengths(3.0, 0.7)
    map_ = DirichletCalibrator(lam=3.0, mu=0.7, input_scale="logit").fit(logits.numpy(), y.numpy())
    W, b = map_.coef_, map_.intercept_
    off_diagonal = W[~np.eye(10, dtype=bool)]
    expected = metrics.log_loss(y.numpy(), map_.predict_proba(logits.numpy()))
    expected += 3.0 * (off_diagonal**2).sum() / 90 + 0.7 * (b**2).sum() / 10
    found = objective(to_torch(map_), logits, y, strengths)
    assert float(found.detach()) == pytest.approx(expected, rel=1e-12)


def test_it_runs_and_the_layer_helps(capsys):
    main()
    told = capsys.readouterr().out
    assert "objective of our solver" in told
    losses = [float(line.split("log-loss ")[1].split(",")[0]) for line in told.splitlines()[1:3]]
    assert losses[1] < losses[0]
