"""A map as a PyTorch module, and back."""

import io
import json
import os
from dataclasses import replace
from typing import Any, Literal

from sklearn.base import clone

from dircal._files import write_whole
from dircal.export._evaluate import single_expression
from dircal.export._extras import need
from dircal.export._fitted import check_fitted
from dircal.io import from_bytes, to_bytes
from dircal.maps import CalibrationMap, MeanOfMaps, OneVsRest
from dircal.selection import AutoCalibrator
from dircal.shift import GroupedCalibrator
from dircal.tables import check_option

__all__ = ["from_torch", "to_torch"]

_REMEDY = "Use dtype='input': the module takes and returns float32, and computes in float64."


def to_torch(
    calibrator: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    dtype: Literal["input", "float64", "float32"] = "input",
) -> Any:
    """Make a PyTorch module of a fitted calibrator.

    Parameters
    ----------
    calibrator : calibrator
        A fitted calibrator. Isotonic and histogram calibration cannot be exported, since their
        curves have no gradient; a `CalibratedClassifier` cannot, since it holds a classifier.
    path : str or path, optional
        Where to write the module as a program that ``torch.export.load`` reads, without `dircal`;
        None writes nothing.
    dtype : {"input", "float64", "float32"}, default="input"
        Type of the result. "input" computes in float64 and returns the type of the scores, so that
        a float32 network stays float32. "float64" and "float32" are also the type of the
        parameters; "float32" is refused if it would not be exact enough, or not finite.

    Returns
    -------
    module : torch.nn.Module
        Takes a tensor of shape (n, n_features), of any float type, and returns probabilities of
        shape (n, n_classes). ``module.logits`` stops before the softmax. ``module.steps`` is the
        map as a `torch.fx.GraphModule` with the parameters of each step, such as
        ``module.steps.affine.matrix``; ``print(module.steps.code)`` shows it as Python.
        ``module.columns`` and ``module.classes`` are the labels of the input and of the result.

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

    "float64" agrees with `predict_proba` to 1e-12 times one plus the largest logit, "input" to the
    rounding of the scores and of the result, "float32" to 1e-5 for probabilities of at least 1e-30
    and logits of at most 50. With "input", scores in half precision are read as they are and the
    result is rounded to half precision: probabilities below 6e-8 become zero in float16, and
    bfloat16 keeps two or three digits. Converting the module itself, with ``module.float()`` or as
    part of a network, changes the type that it computes in. The module does not check its input.
    A logit of -inf masks its class, as in `predict_proba`; a row in which all are masked becomes
    NaN.

    `torch.export`, `torch.onnx`, `torch.compile` and `torch.jit.script` accept the module. The
    file contains the operations and the parameters, and as JSON, in the extra files
    ``dircal.columns`` and ``dircal.classes``, the labels of the input and of the result. Its input
    has one type: float32 for "input".

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
    >>> [name for name, _ in module.named_parameters()]
    ['steps.affine.matrix', 'steps.affine.intercepts']
    >>> with torch.no_grad():
    ...     proba = module(torch.tensor(q))
    >>> np.allclose(proba, calibrator.predict_proba(q))
    True
    """
    check_option("dtype", dtype, ("input", "float64", "float32"))
    fitted = check_fitted(calibrator)
    # Refuses what no program can compute alike, in the same words as the other exports.
    fitted.expression()
    torch = need("torch")
    from dircal.export._torch_module import CalibratorModule

    source = to_bytes(_holder_of(calibrator))
    module = CalibratorModule(fitted, source, returns_input_type=dtype == "input")
    if dtype == "float32":
        single_expression(fitted, _REMEDY)
        module = module.float()
    if path is not None:
        scores_type = torch.float64 if dtype == "float64" else torch.float32
        write_whole(path, _program(torch, module, scores_type))
    return module


def _program(torch: Any, module: Any, scores_type: Any) -> bytes:
    """The module as a program of its own, for any number of rows."""
    n_columns = len(module.columns)
    # Two rows: with one, torch takes the number for a constant.
    rows = torch.full((2, n_columns), 1.0 / max(n_columns, 2), dtype=scores_type)
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
        Of the class that the module was made from, with its parameters and labels. For an
        `AutoCalibrator` the calibrator that it chose. For a calibrator that extends a fitted one,
        such as `PriorShift`, a `GroupedCalibrator` without groups, with the original calibrator as
        ``calibrator_``: training does not keep the parts of its map apart.

    See Also
    --------
    to_torch : The way there.

    Notes
    -----
    A module that was not trained gives the map that it was made from. After training ``map_``, and
    all that is read from it, is that of the module, while ``n_iter_`` and ``explain()`` still speak
    of the original fit; ``explain(X)`` measures the new map on rows.

    When not to use it: for other modules. A layer of your own is a calibrator only if its input
    and its labels are known.

    Examples
    --------
    >>> from dircal import TemperatureScaling
    >>> from dircal.export import from_torch, to_torch
    >>> calibrator = TemperatureScaling().fit([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]], [0, 1, 1])
    >>> module = to_torch(calibrator)
    >>> _ = module.steps.scale.slope.data.fill_(0.5)
    >>> from_torch(module).temperature_
    2.0
    """
    torch = need("torch")
    from dircal.export._torch_module import CalibratorModule

    if not isinstance(module, CalibratorModule):
        raise ValueError(
            f"`module` must be what dircal.export.to_torch returned; got a "
            f"{type(module).__name__}. Make one of a fitted calibrator, and train that."
        )
    for name, parameter in module.named_parameters():
        if not torch.isfinite(parameter).all():
            raise ValueError(
                f"`module` has a parameter that is not finite: {name}, which is "
                f"{parameter.detach().tolist()!r:.80}. Train with a smaller learning rate."
            )
    calibrator = from_bytes(module.source)
    chain = module.trained_map()
    try:
        assert chain.n_classes == len(module.classes)
    except ValueError as error:
        raise ValueError(
            f"`module` has parameters that are not those of a map: {error}. Train with a smaller "
            "learning rate."
        ) from None
    _give_map(calibrator, chain)
    return calibrator


def _holder_of(calibrator: Any) -> Any:
    """Return a calibrator with the same map to which `_give_map` can give another.

    Parts of a map that a calibrator computes anew from its attributes, such as the priors of a
    `PriorShift`, cannot be replaced there. A `GroupedCalibrator` without groups stores its map.
    """
    if isinstance(calibrator, AutoCalibrator):
        return _holder_of(calibrator.calibrator_)
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


def _give_map(calibrator: Any, chain: CalibrationMap) -> None:
    """Replace the map of a calibrator that `_holder_of` returned."""
    calibrator.fit_ = replace(calibrator.fit_, map=chain)
    if isinstance(calibrator, AutoCalibrator):
        _give_map(calibrator.calibrator_, chain)
    elif hasattr(calibrator, "calibrators_"):
        members = calibrator.calibrators_
        for member, part in zip(members, _parts(chain, len(members)), strict=True):
            _give_map(member, part)


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
