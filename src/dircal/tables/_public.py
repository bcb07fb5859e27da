"""The names of `dircal.tables`, loaded together at the first use of any of them."""

from dircal.tables._arguments import (
    LARGEST,
    check_distribution,
    check_random_state,
    check_ranks,
    check_square,
    check_table,
    check_vector,
)
from dircal.tables._arrays import (
    check_confidence,
    check_fit_arrays,
    check_predictions,
    check_probabilities,
    check_scores,
)
from dircal.tables._calibrated import CalibratedTable
from dircal.tables._checks import check_fit
from dircal.tables._column_choice import PYTHON, ClassColumns
from dircal.tables._columns import (
    FITTING,
    MEASURING,
    Arguments,
    classes_of_columns,
)
from dircal.tables._conversion import as_array, category_order, same_kind
from dircal.tables._keys import (
    check_keys,
    find_key,
    groups_of_fit,
    key_type,
    known_groups,
    split_groups,
    unique_keys,
)
from dircal.tables._known_labels import empty_labels, parse_whole_numbers
from dircal.tables._label_types import (
    as_label_array,
    as_plain,
    check_classes,
    is_missing,
    plain_labels_advice,
    show,
)
from dircal.tables._labelled_rows import BOTH, ArrayRows, LabelledRows
from dircal.tables._labels import (
    as_labels,
    class_indices,
    observed_classes,
)
from dircal.tables._limits import LIMITS, TableLimits
from dircal.tables._names import (
    as_classes,
    find_columns,
    label_text,
    like_labels,
    match_names,
)
from dircal.tables._numbers import check_integer, check_number, check_option
from dircal.tables._order import find_better_order, warn_column_order
from dircal.tables._partitioned_rows import PartitionedRows
from dircal.tables._pass_progress import Passes, pass_progress
from dircal.tables._raw_rows import check_weight
from dircal.tables._row_sums import ROW_SUM_TOLERANCE
from dircal.tables._score_table import ScoreTable, scan, scan_files, with_common_classes
from dircal.tables._soft_labels import reject_soft_labels
from dircal.tables._text import TextFile
from dircal.tables._two_classes import BINARY
from dircal.tables._unchanged import changed, unchanged

__all__ = [
    "BINARY",
    "BOTH",
    "FITTING",
    "LARGEST",
    "LIMITS",
    "MEASURING",
    "PYTHON",
    "ROW_SUM_TOLERANCE",
    "Arguments",
    "ArrayRows",
    "CalibratedTable",
    "ClassColumns",
    "LabelledRows",
    "PartitionedRows",
    "Passes",
    "ScoreTable",
    "TableLimits",
    "TextFile",
    "as_array",
    "as_classes",
    "as_label_array",
    "as_labels",
    "as_plain",
    "category_order",
    "changed",
    "check_classes",
    "check_confidence",
    "check_distribution",
    "check_fit",
    "check_fit_arrays",
    "check_integer",
    "check_keys",
    "check_number",
    "check_option",
    "check_predictions",
    "check_probabilities",
    "check_random_state",
    "check_ranks",
    "check_scores",
    "check_square",
    "check_table",
    "check_vector",
    "check_weight",
    "class_indices",
    "classes_of_columns",
    "empty_labels",
    "find_better_order",
    "find_columns",
    "find_key",
    "groups_of_fit",
    "is_missing",
    "key_type",
    "known_groups",
    "label_text",
    "like_labels",
    "match_names",
    "observed_classes",
    "parse_whole_numbers",
    "pass_progress",
    "plain_labels_advice",
    "reject_soft_labels",
    "same_kind",
    "scan",
    "scan_files",
    "show",
    "split_groups",
    "unchanged",
    "unique_keys",
    "warn_column_order",
    "with_common_classes",
]
