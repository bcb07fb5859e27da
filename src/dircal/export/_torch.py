"""A calibrator as a PyTorch module, and back."""

import io
import json
import os
from typing import Any, Literal

import numpy as np

from dircal._core.model.structure import Diagonal, Scalar
from dircal._files import write_whole
from dircal.calibrators import (
    BayesianDirichletCalibrator,
    BetaCalibrator,
    IdentityCalibrator,
    PlattCalibrator,
    TemperatureScaling,
)
from dircal.calibrators._base import column_order
from dircal.calibrators._linear_base import AbstractLinearCalibrator
from dircal.export._extras import need
from dircal.export._formulas import expression_of, steps_inside
from dircal.export._labels import plain_labels
from dircal.export._single import single_expression
from dircal.io._file import from_bytes, to_bytes
from dircal.selection import AutoCalibrator, CalibratorCV, OneVsRestCalibrator
from dircal.validation import check_option

__all__ = ["from_torch", "to_torch"]

_REMEDY = "Use dtype='float64': the module takes float32 as well, and computes in float64."


def to_torch(
    calibrator: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    dtype: Literal["float64", "float32"] = "float64",
) -> Any:
    """Make a PyTorch module of a fitted calibrator.

    Parameters
    ----------
    calibrator : calibrator
        A fitted calibrator. Isotonic and histogram calibration cannot be exported, since steps
        have no gradient; a `CalibratedClassifier` cannot, since it holds a classifier.
    path : str or path, optional
        Where to write the module as a program that ``torch.export.load`` reads, without `dircal`;
        None writes nothing.
    dtype : {"float64", "float32"}, default="float64"
        Type of the parameters, and of what comes out. "float32" is refused where it would not be
        exact enough, or not finite.

    Returns
    -------
    module : torch.nn.Module
        Takes a tensor of shape (n, n_features), of any float type, and returns probabilities of
        shape (n, n_classes). ``module.logits`` stops before the softmax. ``module.columns`` and
        ``module.classes`` are the labels of what goes in and of what comes out.

    See Also
    --------
    from_torch : The way back, after training.
    to_onnx : For programs without torch.

    Notes
    -----
    The module of `DirichletCalibrator` is what the paper says it is: a logarithm, one linear
    layer, a softmax. Everything is differentiable, so that it can be the last layer of a network
    and be trained with it; its parameters are those of the calibrator and no more, for example a
    single slope for `TemperatureScaling`.

    "float64" agrees with `predict_proba` to 1e-12 times one plus the largest logit, "float32" to
    1e-5 for probabilities of at least 1e-30 and logits of at most 50. The module does not check
    its input.

    The file holds the operations and the parameters, and as JSON, in the extra files
    ``dircal.columns`` and ``dircal.classes``, the labels of what goes in and of what comes out.

    When not to use it: to store a map that `dircal` shall read again; `dircal.save` keeps more.

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> from dircal import DirichletCalibrator
    >>> from dircal.export import to_torch
    >>> q = np.array([[0.9, 0.1], [0.6, 0.4], [0.3, 0.7], [0.2, 0.8]])
    >>> calibrator = DirichletCalibrator(penalty="l2").fit(q, [0, 1, 0, 1])
    >>> module = to_torch(calibrator)
    >>> module.layer
    Linear(in_features=2, out_features=2, bias=True)
    >>> with torch.no_grad():
    ...     proba = module(torch.tensor(q))
    >>> np.allclose(proba, calibrator.predict_proba(q))
    True
    """
    check_option("dtype", dtype, ("float64", "float32"))
    # Says so if this is no calibrator, or not fitted.
    expression_of(calibrator)
    _refuse_steps(calibrator)
    torch = need("torch")
    if dtype == "float32":
        single_expression(calibrator, _REMEDY)
    module = _module(calibrator, column_order(calibrator.column_classes_)).to(getattr(torch, dtype))
    if path is not None:
        write_whole(path, _program(torch, module, calibrator.n_features_in_, dtype))
    return module


def _program(torch: Any, module: Any, n_columns: int, dtype: str) -> bytes:
    """The module as a program of its own, for any number of rows."""
    # Two rows: with one, torch takes the number for a constant.
    rows = torch.full((2, n_columns), 1.0 / max(n_columns, 2), dtype=getattr(torch, dtype))
    any_number = ({0: torch.export.Dim("n")},)
    program = torch.export.export(module, (rows,), dynamic_shapes=any_number)
    labels = {
        "dircal.columns": json.dumps(module.columns),
        "dircal.classes": json.dumps(module.classes),
    }
    file = io.BytesIO()
    torch.export.save(program, file, extra_files=labels)
    return file.getvalue()


def from_torch(module: Any) -> Any:
    """Make a calibrator of a module of `to_torch`, with the parameters it has today.

    Parameters
    ----------
    module : torch.nn.Module
        What `to_torch` returned, trained further or not.

    Returns
    -------
    calibrator : calibrator
        Of the class that the module was made from, with its parameters and labels; for an
        `AutoCalibrator` the one that it chose.

    See Also
    --------
    to_torch : The way there.

    Notes
    -----
    A module that was not trained gives the calibrator that it was made from. After training
    ``coef_`` and ``intercept_`` are those of the module, while ``n_iter_`` and ``explain()`` still
    speak of the original fit; ``explain(X)`` measures the new map on rows.

    When not to use it: for other modules. A layer of your own is a calibrator only if its input
    and its labels are known.

    Examples
    --------
    >>> from dircal import TemperatureScaling
    >>> from dircal.export import from_torch, to_torch
    >>> calibrator = TemperatureScaling().fit([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]], [0, 1, 1])
    >>> module = to_torch(calibrator)
    >>> _ = module.layer.slope.data.fill_(0.5)
    >>> from_torch(module).temperature_
    2.0
    """
    need("torch")
    from dircal.export._torch_modules import AbstractCalibratorModule

    if not isinstance(module, AbstractCalibratorModule):
        raise ValueError(
            f"`module` must be what dircal.export.to_torch returned; got a "
            f"{type(module).__name__}. Make one of a fitted calibrator, and train that."
        )
    calibrator = from_bytes(module.source)
    for name, value in module.fitted().items():
        if name == "calibrators_":
            setattr(calibrator, name, [from_torch(member) for member in value])
            continue
        if not np.isfinite(value).all():
            raise ValueError(
                f"`module` has a parameter that is not finite: {name} would be {value!r:.80}. "
                "Train with a smaller learning rate."
            )
        setattr(calibrator, name, value)
    if isinstance(calibrator, AbstractLinearCalibrator):
        _fit_structure(calibrator)
    if isinstance(calibrator, TemperatureScaling) and calibrator.coef_[0, 0] <= 0.0:
        raise ValueError(
            f"`module` has the slope {calibrator.coef_[0, 0]:.3g}, which is no temperature. "
            "Train with a smaller learning rate, or make the module of a VectorScaling."
        )
    return calibrator


def _fit_structure(calibrator: AbstractLinearCalibrator) -> None:
    """Write the map as the class does: with a last row of zeros, where that is its rule."""
    structure, params = calibrator._structure_and_params()
    weights = structure.unpack(params)
    calibrator.coef_, calibrator.intercept_ = weights[:, :-1].copy(), weights[:, -1].copy()


def _refuse_steps(calibrator: Any) -> None:
    steps = steps_inside(calibrator)
    if steps is not None:
        raise ValueError(
            f"`calibrator` is made of {steps}: steps have no gradient, so that "
            "there would be nothing to train. Use to_onnx or to_python."
        )


def _module(calibrator: Any, order: Any) -> Any:
    """The module of a calibrator, whose columns come in this order; None if they are sorted."""
    from dircal.export import _torch_modules as modules

    k = len(calibrator.classes_)
    places = range(k) if order is None else order.tolist()
    logit, one = calibrator.input_scale == "logit", calibrator.n_features_in_ == 1
    module: Any
    if isinstance(calibrator, AutoCalibrator):
        return _module(calibrator.calibrator_, order)
    if isinstance(calibrator, CalibratorCV):
        module = modules.AverageOfMaps(_module(one, order) for one in calibrator.calibrators_)
    elif isinstance(calibrator, OneVsRestCalibrator):
        reading = modules.Reading("none" if logit else "log_as_given", 0.0, places, False)
        module = modules.OneVsRestMap(
            (_module(one, None) for one in calibrator.calibrators_), reading
        )
    elif isinstance(calibrator, IdentityCalibrator):
        module = modules.IdentityMap(modules.Reading("none" if logit else "log", 0.0, places, one))
    elif isinstance(calibrator, PlattCalibrator | BetaCalibrator):
        kind = "log_softmax" if logit else "log_as_given"
        reading = modules.Reading(kind, calibrator.clip_, places, one)
        names = ["slope_"] if isinstance(calibrator, PlattCalibrator) else _BETA_SLOPES
        slopes = {name: getattr(calibrator, name) for name in names}
        module = modules.LogisticMap(reading, slopes, calibrator.intercept_)
    elif isinstance(calibrator, AbstractLinearCalibrator | BayesianDirichletCalibrator):
        module = _linear_module(calibrator, places)
    else:
        raise ValueError(
            f"`calibrator` is a {type(calibrator).__name__}, which has no module. "
            "Use to_onnx or to_python."
        )
    module.source = to_bytes(calibrator)
    module.classes = plain_labels(calibrator.classes_)
    module.columns = plain_labels(calibrator.column_classes_)[-calibrator.n_features_in_ :]
    return module


_BETA_SLOPES = ["slope_positive_", "slope_negative_"]


def _linear_module(calibrator: Any, places: Any) -> Any:
    from torch import nn, tensor

    from dircal.export import _torch_modules as modules

    kind = "none" if calibrator._reads_raw_logits else "log_softmax"
    if calibrator.input_scale == "probability":
        kind = "log"
    reading = modules.Reading(kind, calibrator.clip_, places, False)
    softening, structure = None, None
    if isinstance(calibrator, BayesianDirichletCalibrator):
        softening = modules.Softening(
            calibrator.temperature_, calibrator.smoothing_, calibrator._normalised
        )
    else:
        structure = calibrator._structure(len(calibrator.classes_))
    weight, bias = tensor(calibrator.coef_), tensor(calibrator.intercept_)
    if isinstance(structure, Scalar):
        return modules.LinearMap(reading, modules.Slope(float(weight[0, 0])))
    if isinstance(structure, Diagonal):
        return modules.LinearMap(reading, modules.Slopes(weight.diagonal().clone(), bias))
    layer = nn.Linear(len(bias), len(bias), dtype=weight.dtype)
    layer.weight.data, layer.bias.data = weight, bias
    return modules.LinearMap(reading, layer, softening)
