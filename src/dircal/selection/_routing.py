"""What else than rows and labels a fit is given, and whom it reaches.

Scikit-learn calls it metadata: weights, groups, and whatever the `fit` of a classifier takes
besides. With ``enable_metadata_routing`` every part of a model says which of them it requests, and
`process_routing` hands them out; without, weights go to a classifier whose `fit` names them, groups
to the folds, and all else to the classifier.
"""

import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt
from sklearn import get_config
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    get_routing_for_object,
    process_routing,
)
from sklearn.utils.validation import has_fit_parameter

from dircal._typing import FloatArray
from dircal.exceptions import SampleWeightWarning, warn

__all__ = ["Routed", "is_ready", "route", "router_of"]


@dataclass(frozen=True)
class Routed:
    """Options of the classifier's `fit`, groups of the folds, other options of the splitter."""

    fit: Mapping[str, Any]
    groups: npt.NDArray[Any] | None
    split: Mapping[str, Any]


def is_ready(model: Any) -> bool:
    """Whether the classifier of a model is trained already, and stays as it is."""
    return model.scheme == "prefit" or isinstance(model.estimator, FrozenEstimator)


def router_of(model: Any) -> MetadataRouter:
    """Who in a model may request something of what its `fit` is given."""
    router = MetadataRouter(owner=model).add_self_request(model)
    if is_ready(model):
        return router
    # A number of folds deals groups as this splitter does, which requests them by default.
    is_number = isinstance(model.cv, numbers.Integral)
    splitter = StratifiedGroupKFold() if is_number else model.cv
    router.add(
        estimator=model.estimator,
        method_mapping=MethodMapping().add(caller="fit", callee="fit"),
    )
    return router.add(
        splitter=splitter,
        method_mapping=MethodMapping().add(caller="fit", callee="split"),
    )


def route(
    model: Any,
    sample_weight: FloatArray | None,
    groups: npt.NDArray[Any] | None,
    fit_params: Mapping[str, Any],
) -> Routed:
    """Hand out what a fit was given; warn where the classifier does not get the weights."""
    if is_ready(model):
        if fit_params:
            raise TypeError(
                f"`fit` got {', '.join(fit_params)}, but the classifier is ready and nothing is "
                "trained that could take it. Leave it out."
            )
        return Routed({}, groups, {})
    if get_config()["enable_metadata_routing"]:
        routed = _as_requested(model, sample_weight, groups, fit_params)
        known = _requests_weight(get_routing_for_object(model.estimator))
    else:
        name = _name_of_weight(model.estimator)
        known = name is not None
        weights = {} if name is None or sample_weight is None else {name: sample_weight}
        routed = Routed({**weights, **fit_params}, groups, {})
    if sample_weight is not None and not known:
        warn(
            "`sample_weight` goes to the calibrators alone: the `fit` of "
            f"{type(model.estimator).__name__} does not name it, so the classifier is trained "
            "without weights. If it holds another that takes them, use scikit-learn's metadata "
            "routing: sklearn.set_config(enable_metadata_routing=True), and "
            "set_fit_request(sample_weight=True) of the one inside.",
            SampleWeightWarning,
        )
    return routed


def _as_requested(
    model: Any,
    sample_weight: FloatArray | None,
    groups: npt.NDArray[Any] | None,
    fit_params: Mapping[str, Any],
) -> Routed:
    # An absent `groups` would count as one that nobody requested.
    given = {"sample_weight": sample_weight} | ({} if groups is None else {"groups": groups})
    routed = process_routing(model, "fit", **given, **fit_params)
    split = dict(routed.splitter.split)
    return Routed(dict(routed.estimator.fit), split.pop("groups", None), split)


def _requests_weight(routing: Any) -> bool:
    """Whether anyone inside knows weights, also to refuse them."""
    if isinstance(routing, MetadataRouter):
        return any(_requests_weight(part.router) for _, part in routing)
    return "sample_weight" in routing.fit.requests


def _name_of_weight(classifier: Any) -> str | None:
    """What `fit` of a classifier calls the weights; None if it takes none."""
    if isinstance(classifier, Pipeline):
        step, last = classifier.steps[-1]
        name = _name_of_weight(last)
        return None if name is None else f"{step}__{name}"
    return "sample_weight" if has_fit_parameter(classifier, "sample_weight") else None
