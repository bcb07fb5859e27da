"""A map as a Keras layer, and files with such layers."""

import importlib
import os
import tempfile
from pathlib import Path
from typing import Any, Literal

from dircal._files import write_whole
from dircal.export._extras import need
from dircal.export._fitted import check_fitted
from dircal.io import to_bytes
from dircal.tables import check_option

__all__ = ["register_keras", "to_keras"]


def to_keras(
    calibrator: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    dtype: Literal["float64", "float32"] = "float64",
) -> Any:
    """Make a Keras layer of a fitted calibrator.

    Parameters
    ----------
    calibrator : calibrator
        A fitted calibrator. A `CalibratedClassifier` cannot be exported, since it holds a
        classifier.
    path : str or path, optional
        Where to write a model of this one layer, which ``keras.models.load_model`` reads after
        `register_keras`; by custom a name that ends in ``.keras``. None writes nothing.
    dtype : {"float64", "float32"}, default="float64"
        What the layer computes in, and what comes out. "float32" is refused where it would not be
        exact enough, or not finite.

    Returns
    -------
    layer : keras.Layer
        Takes a tensor of shape (n, n_features), of any float type, and returns probabilities of
        shape (n, n_classes). ``layer.columns`` and ``layer.classes`` are the labels of what goes in
        and of what comes out.

    See Also
    --------
    register_keras : Needed before files with such layers are read.
    to_torch : With parameters that can be trained further.

    Notes
    -----
    The layer runs on every backend of Keras 3 that computes in ``dtype``; JAX needs its option
    ``jax_enable_x64`` for "float64", and is refused without. It has no weights: layers before it
    can be trained through it, while it stays what it is. A model that holds it can be saved as
    ``.keras``, with the map as text and no code.

    "float64" agrees with `predict_proba` to 1e-12 times one plus the largest logit, "float32" to
    1e-5 for probabilities of at least 1e-30 and logits of at most 50. The layer does not check its
    input. A logit of -inf masks its class, as in `predict_proba`; a row in which all are masked
    becomes NaN.

    Keras hands rows to ``model.predict`` in float32, whatever the model computes in: call the layer
    with arrays of NumPy, or tensors, for all digits.

    When not to use it: to train the map itself, which `to_torch` is for.

    Examples
    --------
    >>> import numpy as np
    >>> from dircal import DirichletCalibrator
    >>> from dircal.export import to_keras
    >>> q = np.array([[0.9, 0.1], [0.6, 0.4], [0.3, 0.7], [0.2, 0.8]])
    >>> calibrator = DirichletCalibrator(penalty="l2").fit(q, [0, 1, 0, 1])
    >>> layer = to_keras(calibrator)
    >>> np.allclose(layer(q), calibrator.predict_proba(q))
    True
    """
    check_option("dtype", dtype, ("float64", "float32"))
    check_fitted(calibrator)
    keras = _keras()
    from dircal.export._keras_layer import CalibratorLayer

    layer = CalibratorLayer(to_bytes(calibrator).decode(), dtype=dtype)
    if path is not None:
        write_whole(path, _model(keras, layer))
    return layer


def register_keras() -> None:
    """Let Keras read files of models with layers of `to_keras`.

    See Also
    --------
    to_keras : The layers.

    Notes
    -----
    Keras reads layers of others only where they are registered, which `to_keras` does as well: a
    program that only reads a model calls this once, before ``keras.models.load_model``. A file
    brings the map as data, and no code.

    When not to use it: after `to_keras` in the same program, where it changes nothing.

    Examples
    --------
    >>> import keras
    >>> from dircal.export import register_keras
    >>> register_keras()
    >>> keras.saving.get_registered_object("dircal>CalibratorLayer").__name__
    'CalibratorLayer'
    """
    _keras()
    importlib.import_module("dircal.export._keras_layer")


def _keras() -> Any:
    try:
        return need("keras")
    except ModuleNotFoundError as error:
        if error.name == "keras":
            raise
        raise ModuleNotFoundError(
            f"Keras is installed, but its backend {error.name} is not. Install it, or set the "
            "environment variable KERAS_BACKEND to one that is: torch, jax or tensorflow.",
            name=error.name,
        ) from error


def _model(keras: Any, layer: Any) -> bytes:
    """The file of a model of this layer alone."""
    model = keras.Sequential([keras.Input((len(layer.columns),), dtype=layer.dtype), layer])
    with tempfile.TemporaryDirectory() as folder:
        # Keras goes by the end of the name.
        file = Path(folder) / "map.keras"
        model.save(file)
        return file.read_bytes()
