"""Rules of the house that a machine can keep."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
import tomllib
from importlib.util import find_spec
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
TESTS = sorted((ROOT / "tests").rglob("test_*.py"))
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
# What files of these rooms share lies in helper modules, which publish nothing themselves.
ALONE = {"calibrators", "selection", "metrics", "inference", "shift", "llm", "plots"}
ROOMS = sorted(
    path.name
    for path in PACKAGE.iterdir()
    if (path / "__init__.py").exists() and path.name[0] != "_"
)
FUNCTIONS = {
    name: function
    for room in (metrics, inference)
    for name, function in vars(room).items()
    if name in room.__all__ and inspect.isfunction(function)
}
EXPORTS = {
    name: getattr(room, name)
    for room in (io, export)
    for name in room.__all__
    if inspect.isfunction(getattr(room, name))
}
DISPLAYS = {name: getattr(plots, name) for name in plots.__all__ if name.endswith("Display")}
each_calibrator = pytest.mark.parametrize("cls", CALIBRATORS.values(), ids=CALIBRATORS)


def faults_of_module(path):
    """Rules of style that a module breaks."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    if not ast.get_docstring(tree):
        yield "no docstring"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            docstring = ast.get_docstring(node, clean=False) or ""
            lines = node.end_lineno - node.lineno + 1 - len(docstring.splitlines())
            if lines > 60:
                yield f"{node.name} has {lines} lines"
    if any(path.stem.startswith(f"_{one}_") and not find_spec(one) for one in ("torch", "keras")):
        return
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    module = importlib.import_module(".".join(part for part in parts if part != "__init__"))
    if len(module.__all__) != len(set(module.__all__)):
        yield "__all__ repeats a name"
    yield from (f"{name} is missing" for name in module.__all__ if not hasattr(module, name))
    if path.parent != PACKAGE:
        yield from faults_of_imports(path, tree)


def faults_of_imports(path, tree):
    """Imports that go around the ``__init__`` of a room, or from one published file to another."""
    room = path.relative_to(PACKAGE).parts[0]
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("dircal."):
            continue
        other, *rest = node.module.split(".")[1:]
        if room in ROOMS and other != room and other[0] != "_" and rest and rest[0][0] == "_":
            yield f"imports from {node.module}"
        if room in ALONE and other == room and path.name != "__init__.py":
            public = importlib.import_module(f"dircal.{room}").__all__
            borrowed = ({*public} - KNOWN_TO_SIBLINGS) & {alias.name for alias in node.names}
            yield from (f"imports {name} of {node.module}" for name in borrowed)


def test_modules_keep_the_rules():
    faults = [
        f"{path.relative_to(PACKAGE)}: {fault}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for fault in faults_of_module(path)
    ]
    assert not faults, "\n".join(faults)


def test_tests_replace_limits_instead_of_constants():
    """They call `use_limits`; what is left here belongs to no limits yet."""
    experiments = ROOT / "tests" / "experiments"
    texts = (path.read_text(encoding="utf-8") for path in TESTS if experiments not in path.parents)
    patched = re.findall(r'setattr\([^\n]*[."](_?[A-Z][A-Z_]+)"', "\n".join(texts))
    assert set(patched) <= {"_LIBRARIES", "_MOST_GATHERED", "LIMITS"}


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


def faults_of_parameters(doc, signature):
    """Names, order and defaults in a docstring that are not those of the code."""
    documented = {p.name: p.type for p in doc["Parameters"]}
    if list(documented) != list(signature):
        yield f"documents {list(documented)} instead of {list(signature)}"
        return
    for name, parameter in signature.items():
        text = documented[name]
        default = text.rpartition("default=")[2].strip("\"'").replace("_", "")
        if parameter.default is None:
            agrees = text.endswith("optional")
        elif parameter.default is parameter.empty:
            agrees = "default" not in text and "optional" not in text
        else:
            agrees = default == str(parameter.default).replace("_", "")
        if not agrees:
            yield f"documents another default of `{name}`"


def missing_in(doc, *sections, notes=("When not to use it",)):
    """Sections of a docstring that are missing, and phrases of its notes."""
    yield from (f"has no {name}" for name in sections if not doc[name])
    text = "\n".join(doc["Notes"])
    yield from (f"has no {phrase!r}" for phrase in notes if phrase not in text)


def missing_on(name, *pages):
    """Pages of the documentation that do not mention a name."""
    for page in pages:
        if name not in (ROOT / "docs" / page).read_text(encoding="utf-8"):
            yield f"is missing in {page}"


def faults_of_calibrator(name, cls):
    signature = inspect.signature(cls).parameters
    doc = ClassDoc(cls)
    yield from faults_of_parameters(doc, signature)
    yield from missing_in(doc, "Attributes", "Notes", "Examples")
    if not re.search(":math:|[.]{2} math::", "\n".join(doc["Notes"])):
        yield "has no formula"
    # What an estimator holds is passed by position, everything else by name.
    for each in signature.values():
        if each.name not in HELD and each.kind is not each.KEYWORD_ONLY:
            yield f"takes `{each.name}` by position"
    if sum(inspect.isabstract(one) for one in cls.__mro__[1:]) > 2:
        yield "has more than two abstract ancestors"
    yield from missing_on(name, f"guide/{Path(inspect.getfile(cls)).stem.removeprefix('_')}.md")
    # The API lists calibrators as their room does.
    yield from () if name in calibrators.__all__ else missing_on(name, "api.md")


def faults_of_function(name, function):
    signature = inspect.signature(function).parameters
    doc = FunctionDoc(function)
    yield from faults_of_parameters(doc, signature)
    short_form = name.endswith(("_from_confidence", "_bins", "_ranks", "_groups"))
    notes = () if short_form else ("When not to use it",)
    yield from missing_in(doc, "Returns", "Examples", notes=notes)
    for each in signature.values():
        # A table has its own labels.
        by_position = each.name in ("y", "y_prob") and "ScoreTable" in str(signature)
        required = each.default is each.empty or by_position
        if not required and each.kind is not each.KEYWORD_ONLY:
            yield f"takes `{each.name}` by position"
    # The API lists measures by their records.
    pages = ("guide/is_it_calibrated.md",) if name in metrics.RECORDS else ("api.md",)
    yield from missing_on(name, "guide/is_it_calibrated.md", *pages)
    if not any(name in path.read_text(encoding="utf-8") for path in TESTS):
        yield "has no test"


def faults_of_export(name, function):
    doc = FunctionDoc(function)
    yield from faults_of_parameters(doc, inspect.signature(function).parameters)
    yield from missing_in(doc, "Examples")
    yield from missing_on(name, "api.md", "guide/saving.md")


def faults_of_display(name, display):
    yield from missing_in(ClassDoc(display), "Parameters", "Attributes", "Notes", "Examples")
    makers = [getattr(display, one) for one in dir(display) if one.startswith("from_")]
    for method in (*makers, display.plot, display.to_frame):
        signature = dict(inspect.signature(method).parameters)
        signature.pop("self", None)
        doc = FunctionDoc(method)
        yield from faults_of_parameters(doc, signature)
        yield from missing_in(doc, "Returns", notes=())
    yield from missing_on(name, "api.md", "guide/pictures.md")
    figure = f"figures/{Path(inspect.getfile(display)).stem.removeprefix('_')}.png"
    yield from missing_on(figure, "guide/pictures.md")


def test_published_names_are_documented():
    kinds = {
        faults_of_calibrator: CALIBRATORS,
        faults_of_function: FUNCTIONS,
        faults_of_export: EXPORTS,
        faults_of_display: DISPLAYS,
    }
    assert all(kinds.values())
    faults = [
        f"{name} {fault}"
        for faults_of, published in kinds.items()
        for name, one in published.items()
        for fault in faults_of(name, one)
    ]
    assert not faults, "\n".join(faults)


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


def test_no_python_file_knows_where_data_lie():
    """The folder is what `DIRCAL_DATA` names; only the Makefile has a guess."""
    folders = ("src", "tests", "experiments", "benchmarks", "examples", "docs")
    for path in chain(*((ROOT / folder).rglob("*.py") for folder in folders)):
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
    assert text.index("## Unreleased") < text.index("### Changed results") < text.index("### Added")


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
        (
            ".github/workflows/ci.yml",
            {"check", "docs", "test", "test-bare", "test-experiments", "test-oldest"},
        ),
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
