"""Every published calibrator, in every variant that changes its code path.

Laws of the fit hold for all of them. Laws of columns, labels and files are marked with
`representatives`: one calibrator stands for all that share the code of these.
"""

import warnings
from pathlib import Path

import pytest
from sklearn.base import clone
from sklearn.utils import get_tags

from dircal import AutoCalibrator, CalibratorCV, OneVsRestCalibrator, calibrators
from dircal.exceptions import GridEdgeWarning
from dircal.llm import LabelCalibrator
from dircal.shift import PriorShift, RecalibratedCalibrator

VARIANTS = {
    "BayesianDirichletCalibrator": [{"prior": "fixed"}],
    "BetaCalibrator": [{"slopes": "nonnegative"}],
    "DirichletCalibrator": [{"penalty": name} for name in ("l2", "l2_reference", "none")],
    "HistogramCalibrator": [{"strategy": "frequency"}, {"edges": "unit"}],
    "MatrixScaling": [{"penalty": "l2"}],
    "VectorScaling": [{"penalty": "l2"}],
}


ON_THE_SIMPLEX = {
    "check_fit_score_takes_y": "test_rows_sum_to_one",
    "check_estimators_overwrite_params": "test_clone_and_pickle",
    "check_dont_overwrite_parameters": "test_clone_and_pickle",
    "check_estimators_fit_returns_self": "test_rows_sum_to_one",
    "check_readonly_memmap_input": "test_memory_maps",
    "check_n_features_in_after_fitting": "test_wrong_number_of_columns_to_predict",
    "check_estimators_dtypes": "test_float32_gives_the_answer_of_float64",
    # Before scikit-learn 1.7 also of what takes no sparse rows.
    "check_sample_weight_equivalence_on_sparse_data": "test_bad_scores",
    "check_sample_weights_pandas_series": "test_weights_as_series_and_lists",
    "check_sample_weights_not_an_array": "test_weights_as_series_and_lists",
    "check_sample_weights_list": "test_weights_as_series_and_lists",
    "check_sample_weights_shape": "test_bad_weights",
    "check_sample_weights_not_overwritten": "test_input_is_never_modified",
    "check_sample_weight_equivalence_on_dense_data": "test_integer_weights_equal_repeated_rows",
    "check_dtype_object": "test_scores_as_objects",
    "check_pipeline_consistency": "test_pipeline_gives_the_same",
    "check_estimators_nan_inf": "test_bad_scores",
    "check_estimators_pickle": "test_clone_and_pickle",
    "check_f_contiguous_array_estimator": "test_memory_order_and_strides_are_irrelevant",
    "check_classifier_data_not_an_array": "test_memory_order_and_strides_are_irrelevant",
    "check_classifiers_classes": "test_labels_of_any_kind",
    "check_classifiers_train": "test_rows_sum_to_one",
    "check_supervised_y_2d": "test_labels_in_a_column_with_a_warning",
    "check_non_transformer_estimators_n_iter": "test_iterations_are_counted",
    "check_methods_sample_order_invariance": "test_prediction_is_row_by_row",
    "check_methods_subset_invariance": "test_prediction_is_row_by_row",
    "check_dict_unchanged": "test_prediction_leaves_the_calibrator_alone",
    "check_fit_idempotent": "test_refitting_repeats_and_forgets",
    "check_fit_check_is_fitted": "test_clone_and_pickle",
    "check_n_features_in": "test_rows_sum_to_one",
    "check_fit2d_predict1d": "test_bad_scores_to_predict",
    "check_positive_only_tag_during_fit": "test_bad_scores",
}


# Laws that a search over folds cannot keep, and what it keeps instead.
NOT_FOR_SEARCHES = {
    "test_integer_weights_equal_repeated_rows": "copies of a row fall into several folds",
    "test_counts_equal_repeated_rows": "copies of a row fall into several folds",
    "test_rows_without_annotators_may_hold_anything": "folds are dealt by position",
    "test_the_order_of_rows_does_not_matter": "folds are dealt by position",
    "test_order_of_rows_is_irrelevant": "folds are dealt by position",
    "test_rows_with_one_class_left_tell_a_fit_nothing": "folds are dealt by position",
    "test_uniform_rows": "folds have other shares of the classes than all rows",
    "test_a_faultless_classifier_is_said_to_be_one": "the penalty inside bounds the map",
}


def innermost(calibrator):
    while getattr(calibrator, "calibrator", None) is not None:
        calibrator = calibrator.calibrator
    return calibrator


def has_edges(calibrator):
    inner = innermost(calibrator)
    return isinstance(inner, calibrators.HistogramCalibrator | calibrators.IsotonicCalibrator)


def is_variant(calibrator):
    """Whether it is one of the VARIANTS, by itself or in one-vs-rest."""
    inner = innermost(calibrator)
    searches = isinstance(calibrator, CalibratorCV)
    return not searches and inner.get_params() != type(inner)().get_params()


def goes_by_folds(calibrator):
    return isinstance(calibrator, CalibratorCV) or getattr(calibrator, "cv", None) is not None


def shares_steps(calibrator):
    """Whether it is a variant whose map has the steps of another calibrator here."""
    return is_variant(calibrator) and not has_edges(calibrator)


# One for each way from columns and labels to a fit: a linear map of probabilities and one of raw
# logits, binary calibrators in one-vs-rest with slopes and with edges, a search, a calibrator of
# language models, two that start from a fitted one, and a choice.
REPRESENTATIVES = {
    "DirichletCalibrator",
    "VectorScaling",
    "OneVsRest-BetaCalibrator",
    "OneVsRest-IsotonicCalibrator",
    "CalibratorCV-average",
    "LabelCalibrator",
    "PriorShift",
    "RecalibratedCalibrator",
    "AutoCalibrator",
    # Of the binary ones.
    "IsotonicCalibrator",
    "PlattCalibrator",
}
# Tests that have nothing to say of some calibrators, and of which.
SILENT_FOR = dict.fromkeys(NOT_FOR_SEARCHES, goes_by_folds) | {
    # Vector scaling, which reads raw logits, is among the candidates.
    "test_constants_on_rows_of_logits_change_nothing": lambda calibrator: (
        isinstance(calibrator, AutoCalibrator) and goes_by_folds(calibrator)
    ),
    "test_iterations_are_counted": lambda calibrator: (
        not hasattr(innermost(calibrator), "max_iter")
        or isinstance(calibrator, PriorShift | RecalibratedCalibrator)
    ),
    "test_single_precision_where_the_map_is_undecided": lambda calibrator: (
        has_edges(calibrator) or shares_steps(calibrator)
    ),
    "test_exports_agree": shares_steps,
    "test_exports_mask_alike": shares_steps,
    "test_exports_of_binary_calibrators_agree": shares_steps,
    "test_exports_of_binary_calibrators_mask_alike": shares_steps,
    "test_exports_of_one_column_agree": shares_steps,
    "test_single_precision": shares_steps,
    "test_single_precision_of_binary_calibrators": shares_steps,
    # The logistic ones read both columns.
    "test_equal_scores_get_equal_probabilities": lambda binary: not has_edges(binary),
}


def pytest_configure(config):
    config.addinivalue_line("markers", "representatives: for one calibrator of each kind")


def pytest_collection_modifyitems(items):
    """Leave out what does not apply, rather than skip it."""

    def applies(item):
        if item.path.parent != Path(__file__).parent or not hasattr(item, "callspec"):
            return True
        given = item.callspec.params
        published = {"calibrator": many_classes, "binary": two_classes}
        for name, all_of_them in published.items():
            if name in given and item.get_closest_marker("representatives"):
                number = item.callspec.indices[name]
                return [one.id for one in all_of_them()][number] in REPRESENTATIVES
        silent_for = SILENT_FOR.get(item.originalname)
        return silent_for is None or not silent_for(given.get("calibrator", given.get("binary")))

    items[:] = [item for item in items if applies(item)]


@pytest.fixture(autouse=True)
def edges_of_grids_are_no_news():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GridEdgeWarning)
        yield


def all_calibrators():
    """Name and instance of each; a new calibrator is here the moment it is published."""
    for name in calibrators.__all__:
        cls = getattr(calibrators, name)
        for options in [{}, *VARIANTS.get(name, [])]:
            yield "-".join([name, *options.values()]), cls(**options)


def is_binary(calibrator):
    return not get_tags(calibrator).classifier_tags.multi_class


def many_classes():
    """Those for any number of classes; binary ones through one-vs-rest."""
    for name, calibrator in all_calibrators():
        if is_binary(calibrator):
            yield pytest.param(OneVsRestCalibrator(calibrator), id=f"OneVsRest-{name}")
        else:
            yield pytest.param(calibrator, id=name)
    inner = calibrators.TemperatureScaling()
    yield pytest.param(OneVsRestCalibrator(inner), id="OneVsRest-TemperatureScaling")
    grid = {"lam": [1.0, 1e-2, 1e-3]}
    for combine in ("average", "refit"):
        search = CalibratorCV(
            calibrators.DirichletCalibrator(penalty="l2"), grid, cv=2, combine=combine
        )
        yield pytest.param(search, id=f"CalibratorCV-{combine}")

    yield pytest.param(LabelCalibrator(), id="LabelCalibrator")
    shifted = PriorShift(calibrators.TemperatureScaling())
    yield pytest.param(shifted, id="PriorShift")
    moved = RecalibratedCalibrator(calibrators.TemperatureScaling())
    yield pytest.param(moved, id="RecalibratedCalibrator")
    yield pytest.param(AutoCalibrator(), id="AutoCalibrator")
    yield pytest.param(AutoCalibrator(cv=2), id="AutoCalibrator-folds")


def two_classes():
    """The binary ones themselves."""
    for name, calibrator in all_calibrators():
        if is_binary(calibrator):
            yield pytest.param(calibrator, id=name)


@pytest.fixture(params=many_classes())
def calibrator(request):
    """One of all calibrators, not fitted, for probabilities."""
    return clone(request.param)


@pytest.fixture(params=two_classes())
def binary(request):
    """One of the binary calibrators, not fitted, for probabilities."""
    return clone(request.param)


@pytest.fixture(scope="session")
def on_the_simplex():
    """Checks of scikit-learn that feed other columns, and the test that asks the same."""
    return ON_THE_SIMPLEX


@pytest.fixture(scope="session")
def configure():
    """Sets parameters, those of the calibrator inside others where there is one."""

    def set_inner(calibrator, **parameters):
        inner = innermost(calibrator)
        if parameters.get("input_scale") == "logit" and getattr(inner, "edges", "data") == "unit":
            inner.set_params(edges="data")  # the unit interval is for probabilities
        inner.set_params(**parameters)
        return calibrator

    return set_inner


@pytest.fixture(params=["probability", "logit"])
def scaled(request, calibrator, configure, make_problem):
    """A calibrator on one of the two scales, and a function that makes a problem for it."""
    return on_scale(request.param, calibrator, configure, make_problem)


@pytest.fixture
def turn(request):
    """Number of the calibrator: for laws that need not hold in every combination."""
    return request.node.callspec.indices["calibrator"]


@pytest.fixture
def either(turn, calibrator, configure, make_problem):
    """A calibrator on one of the two scales in turn, for laws of what both scales share.

    Variants of a calibrator stand beside each other, so each kind is there on both.
    """
    return on_scale(("probability", "logit")[turn % 2], calibrator, configure, make_problem)


@pytest.fixture(params=["probability", "logit"])
def scaled_binary(request, binary, configure, make_problem):
    """The same for a binary one."""
    return on_scale(request.param, binary, configure, make_problem)


def on_scale(scale, calibrator, configure, make_problem):
    configure(calibrator, input_scale=scale)

    def make(*args, **kwargs):
        problem = make_problem(*args, **kwargs)
        return (problem.logits if scale == "logit" else problem.proba), problem.y

    return calibrator, make
