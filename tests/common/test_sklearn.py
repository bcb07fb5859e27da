"""scikit-learn's own checks, and where a bare calibrator has to differ.

Many of those checks feed columns that are neither probabilities nor one for each class. Each such
check is listed with the test here that asks the same of rows on the simplex.
"""

import warnings
from pathlib import Path

import pytest
from sklearn.utils.estimator_checks import check_estimator

ON_THE_SIMPLEX = {
    "check_fit_score_takes_y": "test_rows_sum_to_one",
    "check_estimators_overwrite_params": "test_clone_and_pickle",
    "check_dont_overwrite_parameters": "test_clone_and_pickle",
    "check_estimators_fit_returns_self": "test_rows_sum_to_one",
    "check_readonly_memmap_input": "test_memory_maps",
    "check_n_features_in_after_fitting": "test_wrong_number_of_columns_to_predict",
    "check_estimators_dtypes": "test_float32_gives_the_answer_of_float64",
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


@pytest.mark.parametrize("scale", ["probability", "logit"])
def test_checks_of_scikit_learn(calibrator, configure, scale):
    configure(calibrator, input_scale=scale)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(
            calibrator, expected_failed_checks=ON_THE_SIMPLEX, on_skip=None, on_fail=None
        )
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert not failed
    assert sum(r["status"] == "passed" for r in results) >= 20


def test_every_exception_has_its_own_test():
    here = Path(__file__).parent
    tests = [here / "test_contracts.py", here.parent / "test_validation.py"]
    written = "".join(path.read_text() for path in tests)
    for name in ON_THE_SIMPLEX.values():
        assert f"def {name}" in written, name
