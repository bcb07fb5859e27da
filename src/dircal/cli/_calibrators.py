"""Calibrators by the names they have on the command line."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from dircal._calibrator_names import CALIBRATOR_NAMES
from dircal._suggestions import did_you_mean

if TYPE_CHECKING:
    from dircal.tables import ClassColumns

__all__ = [
    "NAMES",
    "check_name",
    "check_names",
    "check_settings",
    "make_calibrator",
    "make_calibrators",
]

NAMES = tuple(CALIBRATOR_NAMES)
# These have options of their own on the command line.
_ELSEWHERE = {"input_scale": "--scale", "classes": "--classes"}


def check_name(name: str) -> str:
    """Refuse what is certainly no calibrator, before any is loaded; classes are looked up later."""
    if name not in NAMES and not name[:1].isupper():
        raise click.BadParameter(_no_calibrator(name))
    return name


def check_names(names: str | None) -> str | None:
    """The same for a list of names, each once."""
    for name in [] if names is None else _names_in(names):
        check_name(name)
    return names


def check_settings(options: Sequence[str]) -> Sequence[str]:
    """Reject options that are not of the form ``name=value``, or repeated."""
    names = [_parse(option)[0] for option in options]
    for name in names:
        if names.count(name) > 1:
            raise click.BadParameter(f"{name!r} is given twice. Give each option one value.")
    return options


def _no_calibrator(name: str) -> str:
    near = did_you_mean(name, [*NAMES, *CALIBRATOR_NAMES.values()])
    return f"{name!r} is no calibrator.{near} There are {', '.join(NAMES)}."


def make_calibrator(
    name: str,
    scale: str,
    columns: "ClassColumns",
    *,
    classes: list[Any] | None = None,
    options: Sequence[str] = (),
) -> Any:
    """The calibrator of a name; a binary one for each class against the rest if there are more.

    ``classes`` are the labels of the columns where nobody else tells it.
    """
    from sklearn.utils import get_tags

    import dircal
    from dircal import calibrators

    # A class of its own room that has no short name here goes by its name.
    kind = CALIBRATOR_NAMES.get(name, name)
    if kind not in CALIBRATOR_NAMES.values() and kind not in calibrators.__all__:
        raise ValueError(_no_calibrator(name))
    calibrator = getattr(dircal, kind)(input_scale=scale, classes=classes)
    given = dict(_parse(option) for option in options)
    known = [one for one in calibrator.get_params(deep=False) if one not in _ELSEWHERE]
    for option in given:
        if option in _ELSEWHERE:
            raise ValueError(f"--option {option}: use {_ELSEWHERE[option]} instead.")
        if option not in known:
            near = did_you_mean(option, known)
            raise ValueError(
                f"--option {option}: {kind} has {', '.join(known) or 'no options'}.{near}"
            )
    calibrator.set_params(**given)
    binary = not get_tags(calibrator).classifier_tags.multi_class
    if not binary or len(columns.classes) <= 2:
        return calibrator
    return dircal.OneVsRestCalibrator(calibrator.set_params(classes=None), classes=classes)


def make_calibrators(names: str, scale: str, columns: "ClassColumns") -> dict[str, Any]:
    """Make several calibrators, by a list of names, for these columns."""
    return {name: make_calibrator(name, scale, columns) for name in _names_in(names)}


def _names_in(names: str) -> list[str]:
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    if not wanted or len(set(wanted)) < len(wanted):
        raise click.BadParameter(f"{names!r} must name calibrators, each once.")
    return wanted


def _parse(option: str) -> tuple[str, Any]:
    """``name=value``; the value is JSON where it can be, and a word otherwise."""
    from dircal._json import parse_json

    name, equals, text = option.partition("=")
    if not equals or not name.strip():
        raise click.BadParameter(f"{option!r} must be NAME=VALUE, for example lam=0.01.")
    try:
        return name.strip(), parse_json(text)
    except ValueError:
        return name.strip(), text.strip()
