"""What calibration does to one network, in the paper's figures."""

from xml.etree import ElementTree as ET

import numpy as np
import pytest
from experiments._network_figures import draw_network_figures, network_pictures
from sklearn.model_selection import train_test_split

from dircal import DirichletCalibrator, TemperatureScaling
from dircal.metrics import class_ece, confidence_ece

CIFAR10 = ["plane", "car", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
NAMES = ["1", "2b", "2c", "s12"]


@pytest.fixture(scope="module")
def world(make_problem):
    """A made-up network of five classes, fitted on one half and tested on the other."""
    problem = make_problem(3, n=1200, k=5)
    fit, test = np.arange(600), np.arange(600, 1200)
    calibrator = DirichletCalibrator().fit(problem.proba[fit], problem.y[fit])
    plain = TemperatureScaling().fit(problem.proba[fit], problem.y[fit])
    before = problem.proba[test]
    after = {
        "TempS": plain.predict_proba(before),
        "other": before,
        "Dir-ODIR": calibrator.predict_proba(before),
    }
    return problem.y[test], before, after, calibrator, list("abcde")


def test_panels_are_those_of_the_paper(world):
    y, before, after, calibrator, _ = world
    pictures = network_pictures(*world)
    assert list(pictures) == NAMES
    titles = [panel.title for panel in pictures["1"].panels]
    plain, fine = after["TempS"], after["Dir-ODIR"]
    assert titles == [
        f"(a) before\nconfidence-ECE {confidence_ece(y, before):.4f}",
        f"(b) TempS\nconfidence-ECE {confidence_ece(y, plain):.4f}",
        f"(c) TempS, class 2, c\nclass-2-ECE {class_ece(y, plain, 2):.4f}",
        f"(d) Dir-ODIR, class 2, c\nclass-2-ECE {class_ece(y, fine, 2):.4f}",
    ]
    assert f"class-4-ECE {class_ece(y, fine, 4):.4f}" in pictures["s12"].panels[1].title
    (heat,) = pictures["2b"].panels
    np.testing.assert_array_equal(heat.display.parameters.A, calibrator.canonical_parameters().A)
    (change,) = pictures["2c"].panels
    right = (fine.argmax(axis=1) == y).sum() - (before.argmax(axis=1) == y).sum()
    assert np.trace(change.display.change) == right


def test_chosen_classes(world):
    pictures = network_pictures(*world, classes=(0, 1))
    assert "class 0, a" in pictures["1"].panels[2].title
    assert "class 1, b" in pictures["s12"].panels[0].title


def test_one_method_cannot_be_compared(world):
    y, before, after, calibrator, names = world
    with pytest.raises(ValueError, match=r"`after` must hold at least two methods.*\['TempS'\]"):
        network_pictures(y, before, {"TempS": after["TempS"]}, calibrator, names)


def test_files_are_written_and_the_same_each_time(world, tmp_path):
    for folder in ("one", "two"):
        draw_network_figures(tmp_path / folder, *world)
    files = sorted((tmp_path / "one").iterdir())
    assert [path.name for path in files] == sorted(f"figure_{name}.svg" for name in NAMES)
    for path in files:
        ET.fromstring(path.read_bytes())
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()
        assert path.stat().st_size < 100_000


def test_a_network(networks, tmp_path):
    """The drawing says what the paper says of its network: the map repairs the worst class."""
    stored = np.load(networks / "cifar10_resnet110_netlearn.npz")
    proba = stored["probs"].astype(np.float64)
    proba /= proba.sum(axis=1, keepdims=True)
    fit, test = train_test_split(np.arange(len(proba)), test_size=0.5, random_state=0)
    y = stored["labels"]
    calibrator = DirichletCalibrator(penalty="odir", lam=1.0, mu=1.0).fit(proba[fit], y[fit])
    after = {
        "TempS": TemperatureScaling().fit(proba[fit], y[fit]).predict_proba(proba[test]),
        "Dir-ODIR": calibrator.predict_proba(proba[test]),
    }
    pictures = draw_network_figures(tmp_path, y[test], proba[test], after, calibrator, CIFAR10)
    before, plain = (panel.display.curve.error for panel in pictures["1"].panels[:2])
    assert plain < before
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 300_000
