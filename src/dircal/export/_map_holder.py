"""Calibrators that can be given another map of the same form."""

from dataclasses import replace
from typing import Any

from sklearn.base import clone

from dircal.maps import CalibrationMap, MeanOfMaps, OneVsRest
from dircal.selection import AutoCalibrator
from dircal.shift import GroupedCalibrator

__all__ = ["give_map", "holder_of"]


def holder_of(calibrator: Any) -> Any:
    """Return a calibrator with the same map to which `give_map` can give another.

    Parts of a map that a calibrator computes anew from its attributes, such as the priors of a
    `PriorShift`, cannot be replaced there. A `GroupedCalibrator` without groups stores its map.
    """
    if isinstance(calibrator, AutoCalibrator):
        return holder_of(calibrator.calibrator_)
    if _stores_map(calibrator):
        return calibrator
    return GroupedCalibrator(clone(calibrator)).without_groups(calibrator, calibrator.map_)


def _stores_map(calibrator: Any) -> bool:
    """Whether the map is stored as it is, here or in the calibrators that this one is made of."""
    if isinstance(calibrator, AutoCalibrator):
        return _stores_map(calibrator.calibrator_)
    if hasattr(calibrator, "calibrators_"):
        return all(map(_stores_map, calibrator.calibrators_))
    return isinstance(calibrator, GroupedCalibrator) or not calibrator.fit_.members


def give_map(calibrator: Any, chain: CalibrationMap) -> None:
    """Replace the map of a calibrator that `holder_of` returned."""
    calibrator.fit_ = replace(calibrator.fit_, map=chain)
    if isinstance(calibrator, AutoCalibrator):
        give_map(calibrator.calibrator_, chain)
    elif hasattr(calibrator, "calibrators_"):
        members = calibrator.calibrators_
        for member, part in zip(members, _parts(chain, len(members)), strict=True):
            give_map(member, part)


def _parts(chain: CalibrationMap, n_members: int) -> list[CalibrationMap]:
    """The maps that a calibrator made of ``n_members`` has put together."""
    if n_members == 1:
        return [chain]
    *first, last = chain.steps
    if isinstance(last, OneVsRest):
        return list(last.members)
    assert isinstance(last, MeanOfMaps)
    # What all begin with was written once, before the mean.
    return [replace(chain, steps=(*first, *each.steps)) for each in last.members]
