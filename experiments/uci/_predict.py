"""Stage one: train every classifier and keep its probabilities for all rows."""

import time
import warnings

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from experiments._shared.files import reason, write_arrays, write_json

from ._classifiers import CLASSIFIERS
from ._data import Dataset, load
from ._files import Cache
from ._grid import Cell
from ._splits import inner_splits

__all__ = ["predict"]


def predict(cache: Cache, cell: Cell) -> None:
    """Train on each of the three inner splits; a classifier that fails is a result too."""
    dataset = load(cell.dataset)
    began = time.process_time()
    try:
        with warnings.catch_warnings():
            # Features that are collinear, networks that want more steps: as in the paper.
            warnings.simplefilter("ignore")
            proba = np.stack(
                [
                    _probabilities(dataset, cell.classifier, split.trains)
                    for split in inner_splits(dataset, cell.repetition, cell.fold)
                ]
            )
    except Exception as error:
        write_json(cache.no_predictions(cell), {"reason": reason(error)})
        return
    seconds = time.process_time() - began
    write_arrays(cache.predictions(cell), proba=proba, seconds=seconds)


def _probabilities(
    dataset: Dataset, classifier: str, trains: npt.NDArray[np.intp]
) -> npt.NDArray[np.float64]:
    model = clone(CLASSIFIERS[classifier]).fit(dataset.X[trains], dataset.y[trains])
    proba = np.zeros((len(dataset.y), dataset.n_classes))
    proba[:, model.classes_] = model.predict_proba(dataset.X)
    if not np.isfinite(proba).all():
        bad = int((~np.isfinite(proba)).any(axis=1).sum())
        raise ValueError(f"predict_proba gave NaN or infinity in {bad} of {len(proba)} rows")
    return proba
