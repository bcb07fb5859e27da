"""Rules of the house that a machine can keep."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path

import pytest
from numpydoc.docscrape import ClassDoc, FunctionDoc
from packaging.requirements import Requirement
from sklearn.naive_bayes import GaussianNB
from sklearn.utils import get_tags

import dircal
from dircal import calibrators, export, inference, io, llm, metrics, plots, selection, shift

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "dircal"
MODULES = sorted(PACKAGE.rglob("*.py"))
CALIBRATORS = {
    name: getattr(room, name)
    for room in (calibrators, selection, shift, llm)
    for name in room.__all__
    if hasattr(getattr(room, name), "get_params")
}
# What the estimators that hold something are given here.
HELD = {
    "calibrator": calibrators.TemperatureScaling(),
    "estimator": GaussianNB(),
    "param_grid": {"clip": [1e-3, 1e-6, "learned"]},
}
# Published names that siblings may know: the calibrator by default, what functions of the room
# return, and the style of all pictures.
KNOWN_TO_SIBLINGS = {
    "AutoCalibrator",
    "CalibrationTest",
    "Comparison",
    "ComparisonRow",
    "ConfidenceInterval",
    "RecalibratedCalibrator",
    "ScoreTest",
    "house_style",
}
OF_SEVERAL_MODULES = {
    "calibrators/test_chunks.py",
    "calibrators/test_passes.py",
    "cli/test_bad_input.py",
    "cli/test_label_columns.py",
    "cli/test_readme.py",
    "cli/test_unchanged.py",
    "export/test_steps.py",
    "maps/test_new_calibrator.py",
    "metrics/test_folds.py",
    "metrics/test_oracles.py",
    "metrics/test_other_libraries.py",
    "metrics/test_soft_labels.py",
    "plots/test_every_display.py",
    "plots/test_soft_labels.py",
    "report/test_browser.py",
    "report/test_doors.py",
    "report/test_soft_labels.py",
    "selection/test_scikit_learn.py",
    "tables/test_dialects.py",
    "tables/test_every_kind.py",
    "tables/test_guide.py",
    "tables/test_label_columns.py",
    "tables/test_parquet_files.py",
    "tables/test_parts_compare.py",
    "tables/test_parts_evaluate.py",
    "tables/test_parts_report.py",
    "test_house.py",
    "test_pages.py",
}
ROOMS = sorted(
    path.name
    for path in PACKAGE.iterdir()
    if (path / "__init__.py").exists() and path.name[0] != "_"
)
each_module = pytest.mark.parametrize(
    "path", MODULES, ids=[str(path.relative_to(PACKAGE)) for path in MODULES]
)
FUNCTIONS = {
    name: function
    for room in (metrics, inference)
    for name, function in vars(room).items()
    if name in room.__all__ and inspect.isfunction(function)
}
each_function = pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
DISPLAYS = {name: getattr(plots, name) for name in plots.__all__ if name.endswith("Display")}
each_display = pytest.mark.parametrize("display", DISPLAYS.values(), ids=DISPLAYS)
each_calibrator = pytest.mark.parametrize("cls", CALIBRATORS.values(), ids=CALIBRATORS)


@each_module
def test_modules_say_what_they_are_and_what_they_publish(path):
    tree = ast.parse(path.read_text())
    assert ast.get_docstring(tree), "no docstring"
    for library in ("torch", "keras"):
        if path.stem.startswith(f"_{library}_"):
            pytest.importorskip(library)
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    module = importlib.import_module(".".join(p for p in parts if p != "__init__"))
    assert sorted(module.__all__) == sorted(set(module.__all__))
    for name in module.__all__:
        assert hasattr(module, name)


@each_module
def test_functions_stay_readable(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef):
            told = ast.get_docstring(node, clean=False)
            lines = node.end_lineno - node.lineno + 1 - (len(told.splitlines()) if told else 0)
            assert lines <= 60, node.name


def test_tests_lie_where_the_module_lies():
    """A test has the name and the place of its module, or one of its own for several modules."""
    tests, lost = ROOT / "tests", set()
    for package in (PACKAGE, *PACKAGE.rglob("*/")):
        modules = {path.stem.removeprefix("_") for path in package.glob("*.py")}
        for path in (tests / package.relative_to(PACKAGE)).glob("test_*.py"):
            if path.stem.removeprefix("test_") not in modules:
                lost.add(str(path.relative_to(tests)))
    assert lost == OF_SEVERAL_MODULES


@pytest.mark.parametrize(
    "room", ["calibrators", "selection", "metrics", "inference", "shift", "llm", "plots"]
)
def test_siblings_do_not_know_each_other(room):
    """What files of a room share lies in helper modules, which publish nothing themselves."""
    published = {*importlib.import_module(f"dircal.{room}").__all__} - KNOWN_TO_SIBLINGS
    for path in (PACKAGE / room).glob("_[!_]*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
                f"dircal.{room}._"
            ):
                borrowed = published & {alias.name for alias in node.names}
                assert not borrowed, f"{path.name} knows {borrowed} of {node.module}"


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_know_what_other_rooms_show(room):
    """A room's ``__init__`` imports by name what others need; its files are its own business."""
    others = re.compile(rf"from dircal\.(?!_|{room}\b)\w+\._\w+ import")
    for path in (PACKAGE / room).rglob("*.py"):
        assert not others.findall(path.read_text()), path.name


def test_public_names_are_those_of_the_rooms():
    published = {*CALIBRATORS, *inference.__all__, *selection.__all__, "metrics", "plots"}
    published -= {*shift.__all__, *llm.__all__}
    assert published <= set(dircal.__all__)
    assert dircal.__version__


def test_completion_offers_public_names_only():
    """Those of `__all__`, and the rooms that the reference documents."""
    reference = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    rooms = set(re.findall(r"currentmodule:: dircal\.(\w+)", reference))
    assert set(dir(dircal)) == {*dircal.__all__, *rooms}
    assert len(dir(dircal)) == len(set(dir(dircal)))
    for name in dir(dircal):
        assert getattr(dircal, name) is not None


@each_calibrator
def test_docstrings_agree_with_signatures(cls):
    signature = inspect.signature(cls).parameters
    for name, parameter in signature.items():
        # What an estimator holds is given by position, everything else by name.
        by_position = name in HELD
        assert by_position or parameter.kind is parameter.KEYWORD_ONLY, name
    assert_documented(ClassDoc(cls), signature)


def assert_documented(doc, signature):
    """Names, order and defaults in the docstring are those of the code."""
    documented = {p.name: p.type for p in doc["Parameters"]}
    assert list(documented) == list(signature)
    for name, parameter in signature.items():
        default = documented[name].rpartition("default=")[2].strip("\"'").replace("_", "")
        if parameter.default is None:
            assert documented[name].endswith("optional"), name
        elif parameter.default is parameter.empty:
            assert "default" not in documented[name], name
            assert "optional" not in documented[name], name
        else:
            assert default == str(parameter.default).replace("_", ""), name


@each_function
def test_functions_are_documented(function):
    doc = FunctionDoc(function)
    signature = inspect.signature(function).parameters
    assert_documented(doc, signature)
    for parameter in signature.values():
        # A table has its own labels.
        by_position = parameter.name in ("y", "y_prob") and "ScoreTable" in str(signature)
        required = parameter.default is parameter.empty or by_position
        assert required or parameter.kind is parameter.KEYWORD_ONLY, parameter.name
    assert doc["Returns"]
    assert doc["Examples"]
    short_form = function.__name__.endswith(("_from_confidence", "_bins", "_ranks", "_groups"))
    assert short_form or "When not to use it" in "\n".join(doc["Notes"])


@each_function
def test_functions_have_their_tests_and_pages(function):
    name = function.__name__
    # The API lists measures by their records.
    assert name in metrics.RECORDS or name in (ROOT / "docs" / "api.md").read_text()
    assert name in (ROOT / "docs" / "guide" / "is_it_calibrated.md").read_text()
    tests = [*(ROOT / "tests").rglob("test_*.py")]
    assert any(name in path.read_text() for path in tests)


@pytest.mark.parametrize(
    "function",
    [
        getattr(room, name)
        for room in (io, export)
        for name in room.__all__
        if inspect.isfunction(getattr(room, name))
    ],
    ids=lambda function: function.__name__,
)
def test_files_and_exports_are_documented(function):
    doc = FunctionDoc(function)
    assert_documented(doc, inspect.signature(function).parameters)
    assert doc["Examples"]
    assert "When not to use it" in "\n".join(doc["Notes"])
    assert function.__name__ in (ROOT / "docs" / "api.md").read_text()
    assert function.__name__ in (ROOT / "docs" / "guide" / "saving.md").read_text()


@each_calibrator
def test_few_ancestors(cls):
    abstract = [one for one in cls.__mro__[1:] if inspect.isabstract(one)]
    assert len(abstract) <= 2


@each_calibrator
def test_docstrings_are_complete(cls):
    doc = ClassDoc(cls)
    for section in ("Attributes", "Notes", "Examples"):
        assert doc[section], section
    assert "When not to use it" in "\n".join(doc["Notes"])
    assert ":math:" in "\n".join(doc["Notes"]) or ".. math::" in "\n".join(doc["Notes"])


@each_calibrator
def test_documented_attributes_are_the_fitted_ones(cls, make_problem):
    signature = inspect.signature(cls).parameters
    calibrator = cls(**{name: held for name, held in HELD.items() if name in signature})
    many = get_tags(calibrator).classifier_tags.multi_class
    problem = make_problem(0, n=100, k=3 if many else 2)
    fitted = calibrator.fit(problem.proba, problem.y)
    documented = {p.name for p in ClassDoc(cls)["Attributes"]}
    public = {name for name in dir(fitted) if name.endswith("_") and not name.startswith("_")}
    # Every calibrator has `fit_`, which the reference describes once.
    assert {name for name in public - {"fit_"} if hasattr(fitted, name)} <= documented
    assert all(hasattr(fitted, name) for name in documented)


@each_calibrator
def test_every_calibrator_has_its_test_and_its_pages(cls):
    path = Path(inspect.getfile(cls))
    stem = path.stem.removeprefix("_")
    assert (ROOT / "tests" / path.parent.name / f"test_{stem}.py").exists()
    assert cls.__name__ in (ROOT / "docs" / "guide" / f"{stem}.md").read_text(encoding="utf-8")
    # The API lists calibrators as their room does.
    listed = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert cls.__name__ in calibrators.__all__ or cls.__name__ in listed


@each_display
def test_every_display_is_documented(display):
    doc = ClassDoc(display)
    for section in ("Parameters", "Attributes", "Notes", "Examples"):
        assert doc[section], section
    assert "When not to use it" in "\n".join(doc["Notes"])
    makers = [getattr(display, name) for name in dir(display) if name.startswith("from_")]
    for method in (*makers, display.plot, display.to_frame):
        signature = dict(inspect.signature(method).parameters)
        signature.pop("self", None)
        assert_documented(FunctionDoc(method), signature)
        assert FunctionDoc(method)["Returns"]


@each_display
def test_every_display_has_its_test_and_its_pages(display):
    path = Path(inspect.getfile(display))
    stem = path.stem.removeprefix("_")
    assert (ROOT / "tests" / "plots" / f"test_{stem}.py").exists()
    assert display.__name__ in (ROOT / "docs" / "api.md").read_text()
    guide = (ROOT / "docs" / "guide" / "pictures.md").read_text()
    assert display.__name__ in guide
    assert f"figures/{stem}.png" in guide


IMPORTS = """
import importlib, sys
import dircal
assert "numpy" not in sys.modules, "it does not wait for the first name"

def loaded():
    extras = "matplotlib", "jinja2", "click", "rich", "pandas", "polars"
    extras += "torch", "keras", "onnx", "dask"
    return {name for name in extras if name in sys.modules}

# scikit-learn loads pandas and rich by itself where they are installed.
import sklearn.model_selection
before = loaded()
dircal.metrics, dir(dircal)
import dircal._public
assert loaded() == before, loaded() - before

for room in sys.argv[1:]:
    for name in [name for name in sys.modules if name.partition(".")[0] == "dircal"]:
        del sys.modules[name]
    try:
        importlib.import_module(f"dircal.{room}")
    except ImportError as error:
        sys.exit(f"{room} cannot be the first: {error}")
"""


def test_imports_wait_load_no_extra_and_begin_anywhere():
    """In one process: to start one takes longer than all that is asked of it."""
    rooms = [path.parent.name for path in PACKAGE.glob("*/__init__.py")]
    assert len(rooms) > 5
    command = [sys.executable, "-c", IMPORTS, *rooms]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with pytest.raises(AttributeError, match="module 'dircal' has no attribute 'Dirichlet'"):
        dircal.Dirichlet  # noqa: B018


@pytest.mark.parametrize(
    "folder", ["src", "tests", "experiments", "benchmarks", "examples", "docs"]
)
def test_no_python_file_knows_where_data_lie(folder):
    """The folder is what `DIRCAL_DATA` names; only the Makefile has a guess."""
    for path in (ROOT / folder).rglob("*.py"):
        guess = re.search(r"shared[^\w.]{1,6}data", path.read_text(encoding="utf-8"))
        assert guess is None, path


def lower_bounds(*extras):
    """The lowest version of each package that the base and some extras ask for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted, bounds = list(project["dependencies"]), {}
    for extra in extras:
        wanted += project["optional-dependencies"][extra]
    for requirement in wanted:
        if own := re.fullmatch(r"dircal\[(.*)\]", requirement):
            bounds |= lower_bounds(*own[1].split(","))
        else:
            name, bound = requirement.split(">=")
            bounds[name] = bound
    return bounds


def test_the_oldest_versions_are_those_that_are_allowed():
    lines = (ROOT / "constraints-oldest.txt").read_text(encoding="utf-8").splitlines()
    pinned = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    bounds = lower_bounds("test")
    assert {name: pinned.get(name) for name in bounds} == bounds
    # What these bring along is held back only where it has left them behind.
    assert set(pinned) - set(bounds) == {"pyparsing"}


def test_the_lock_pins_every_dependency_to_an_allowed_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    required = [Requirement(line) for line in [*project["dependencies"], *chain(*extras)]]
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [Requirement(line) for line in lines if not line.lstrip().startswith("#")]
    for python in ("3.11", "3.12", "3.13", "3.14"):
        here = {"python_version": python, "python_full_version": f"{python}.0"}
        pinned = {pin.name: pin for pin in pins if not pin.marker or pin.marker.evaluate(here)}
        for requirement in required:
            if requirement.name != "dircal" and (
                not requirement.marker or requirement.marker.evaluate(here)
            ):
                (version,) = pinned[requirement.name].specifier
                assert version.operator == "==", requirement
                assert requirement.specifier.contains(version.version), requirement
        assert {"hatchling", "editables"} <= set(pinned)


def test_the_source_distribution_brings_what_its_tests_read():
    """They run where it was unpacked; those of the experiments stay at home with them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    sdist = project["tool"]["hatch"]["build"]["targets"]["sdist"]
    included = {path.removeprefix("/") for path in sdist["include"]}
    assert all((ROOT / path).exists() for path in included)
    assert {"src", "tests", "docs", "examples", "conftest.py", "pyproject.toml"} <= included
    assert {"Makefile", "constraints.in", "constraints.txt"} <= included
    assert "constraints-oldest.txt" in included
    assert {".ci", ".github", ".pre-commit-config.yaml"} <= included


def test_the_changelog_begins_with_what_moves():
    text = (ROOT / "CHANGELOG.md").read_text()
    assert (
        text.index("## Unreleased") < text.index("### Numbers that move") < text.index("### Added")
    )


def test_a_citation_names_this_version():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.*)$", text, flags=re.M) == [dircal.__version__]


def test_the_conda_recipe_asks_for_the_same():
    text = (ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    assert re.findall(r'^  version: "(.*)"$', text, flags=re.M) == [dircal.__version__]
    run = text.partition("  run:\n")[2].partition("tests:")[0]
    asked = dict(re.findall(r"- ([\w-]+) >=([\d.]+)$", run, flags=re.M))
    assert asked == lower_bounds("cli", "report")


@pytest.mark.parametrize(
    ("page", "some"),
    [
        ("README.md", {"demo", "test"}),
        ("docs/releasing.md", {"check", "dist", "test-oldest"}),
        (".github/workflows/ci.yml", {"check", "docs", "test", "test-bare", "test-oldest"}),
        (".github/workflows/lock.yml", {"lock"}),
        (".ci/run", {"check", "docs", "test-bare", "test-oldest-quick"}),
        (".pre-commit-config.yaml", {"check"}),
    ],
)
def test_every_command_that_is_told_is_a_target(page, some):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    told = r"^(?: +- run: | +entry: | *)make ([a-z-]+)(?: [A-Z]+=\S+)*$"
    commands = re.findall(told, (ROOT / page).read_text(encoding="utf-8"), flags=re.M)
    assert some <= set(commands)
    for command in commands:
        assert re.search(rf"^{command}:", makefile, flags=re.M), command
        subprocess.run(["make", "--dry-run", command], cwd=ROOT, check=True, capture_output=True)


def test_slow_guarantees_fit_the_code_though_nobody_runs_them_here():
    """What they import from the rooms may move; CI never gets as far as running them."""
    files = sorted((ROOT / "tests" / "long").glob("test_*.py"))
    assert files
    imported = [
        (path.name, node.module, name.name)
        for path in files
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dircal")
        for name in node.names
    ]
    lost = [one for one in imported if not hasattr(importlib.import_module(str(one[1])), one[2])]
    assert not lost


def test_a_calibrator_loads_nothing_that_comes_after_it():
    code = "import sys, dircal; dircal.AutoCalibrator; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[1] for name in done.stdout.split() if name.startswith("dircal.")}
    assert "selection" in loaded
    assert not loaded & {"cli", "export", "inference", "llm", "metrics", "plots", "report", "shift"}
