"""The engine: pure functions and frozen dataclasses on clean arrays.

Nothing here checks what a user passed, prints, or knows an estimator. Names that mean the same
everywhere:

=================  ===========================================================================
``n_samples`` n    rows
``n_classes`` k    classes; row i of W belongs to output class i, column j to input class j
``scores``         what the linear map reads: log-probabilities or logits. Users have (n, k);
                   inside, a chunk is stored class by class as (k, m), which makes sums over
                   classes run along memory and lets formulas read as in the paper: W s + b
``labels``         class indices 0..k-1
``weights``        (k, k + 1), the matrix W with the intercepts b as its last column
``params`` p       the free entries of ``weights`` as a structure orders them
``proba``          what comes out: columns of a chunk sum to one
``sample_weight``  one weight per row; their sum is what every formula calls n
=================  ===========================================================================

Read in this order: `_simplex`, `_losses`, `_rows`, `_precondition`, `_structure`, `_penalty`,
`_objective`, `_logistic`, `_solve`, `_settle`, `_path`, `_logistic_fit`, `_temperature`, `_paired`,
`_floor`, `_effects`; for maps learned by evidence `_soften`, `_posterior`, `_groups`,
`_floor_by_evidence`; then, for measures, `_bins`, `_resample`, `_bands`, `_isotonic`, `_smooth`,
`_bootstrap`, `_confidence`, `_score`.
"""

from dircal.core._bands import consistency_band
from dircal.core._bins import (
    Bins,
    BinTable,
    debiased_squares,
    equal_mass,
    equal_width,
    paper_table,
    tabulate,
)
from dircal.core._bootstrap import bootstrap_sums
from dircal.core._confidence import (
    ConfidenceDistribution,
    OfAbsoluteGaps,
    OfMean,
    OfShifted,
    interval_of,
    two_sided,
)
from dircal.core._effects import Effects, measure_effects, shifts_of_pairs
from dircal.core._floor import FLOORS, LearnedFloor, learn_floor
from dircal.core._floor_by_evidence import SoftPrior, floor_by_evidence
from dircal.core._groups import GroupFit, GroupPrior, fit_groups
from dircal.core._isotonic import IsotonicFit, fit_isotonic
from dircal.core._logistic import LogisticObjective, log_odds, sigmoid
from dircal.core._logistic_fit import fit_logistic, tilt_of_targets
from dircal.core._losses import LOSS_CLIP, confidence_and_hits, log_losses, squared_errors
from dircal.core._objective import LocalModel, Objective, SecondOrder
from dircal.core._paired import PairedDifference, paired_difference
from dircal.core._path import order_of_path, solve_path
from dircal.core._penalty import (
    GROUPS,
    Penalty,
    l2,
    no_penalty,
    off_diagonal,
    towards_identity,
)
from dircal.core._posterior import ExactPosterior, Posterior, SketchedPosterior
from dircal.core._precondition import Preconditioner, Sketch, make_preconditioner
from dircal.core._resample import errors_of_classes, errors_of_one_curve
from dircal.core._rows import Chunk, Reader, Rows, Source, log_of_floor, row_slices, used_part
from dircal.core._score import GroupScores, Scores, adjust_holm, scores_at_identity
from dircal.core._settle import TRACE, settle, solve
from dircal.core._simplex import (
    ROUNDING,
    TINY,
    as_given,
    log_probability,
    log_softmax,
    normalise,
    normalise_beyond_rounding,
    rest_of_logits,
    rest_of_proba,
    softmax,
    sums_of_columns,
)
from dircal.core._smooth import grid_cells, smooth_error, smoothed
from dircal.core._soften import Softening, levelled, softened, uniform_share
from dircal.core._solve import Solution, Status, minimise
from dircal.core._structure import Diagonal, Full, Scalar, Structure
from dircal.core._temperature import TemperatureFit, definite_temperature, fit_temperature

__all__ = [
    "FLOORS",
    "GROUPS",
    "LOSS_CLIP",
    "ROUNDING",
    "TINY",
    "TRACE",
    "BinTable",
    "Bins",
    "Chunk",
    "ConfidenceDistribution",
    "Diagonal",
    "Effects",
    "ExactPosterior",
    "Full",
    "GroupFit",
    "GroupPrior",
    "GroupScores",
    "IsotonicFit",
    "LearnedFloor",
    "LocalModel",
    "LogisticObjective",
    "Objective",
    "OfAbsoluteGaps",
    "OfMean",
    "OfShifted",
    "PairedDifference",
    "Penalty",
    "Posterior",
    "Preconditioner",
    "Reader",
    "Rows",
    "Scalar",
    "Scores",
    "SecondOrder",
    "Sketch",
    "SketchedPosterior",
    "SoftPrior",
    "Softening",
    "Solution",
    "Source",
    "Status",
    "Structure",
    "TemperatureFit",
    "adjust_holm",
    "as_given",
    "bootstrap_sums",
    "confidence_and_hits",
    "consistency_band",
    "debiased_squares",
    "definite_temperature",
    "equal_mass",
    "equal_width",
    "errors_of_classes",
    "errors_of_one_curve",
    "fit_groups",
    "fit_isotonic",
    "fit_logistic",
    "fit_temperature",
    "floor_by_evidence",
    "grid_cells",
    "interval_of",
    "l2",
    "learn_floor",
    "levelled",
    "log_losses",
    "log_odds",
    "log_of_floor",
    "log_probability",
    "log_softmax",
    "make_preconditioner",
    "measure_effects",
    "minimise",
    "no_penalty",
    "normalise",
    "normalise_beyond_rounding",
    "off_diagonal",
    "order_of_path",
    "paired_difference",
    "paper_table",
    "rest_of_logits",
    "rest_of_proba",
    "row_slices",
    "scores_at_identity",
    "settle",
    "shifts_of_pairs",
    "sigmoid",
    "smooth_error",
    "smoothed",
    "softened",
    "softmax",
    "solve",
    "solve_path",
    "squared_errors",
    "sums_of_columns",
    "tabulate",
    "tilt_of_targets",
    "towards_identity",
    "two_sided",
    "uniform_share",
    "used_part",
]
