"""Which column belongs to which label."""

import numpy as np
import pandas as pd
import pytest

from dircal import IdentityCalibrator

GOOD = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.4, 0.6]])


Y = np.array([0, 1, 1, 0])


def test_frame_columns_may_name_absent_classes():
    frame = pd.DataFrame(np.full((4, 3), 1 / 3), columns=["b", "a", "c"])
    fitted = IdentityCalibrator().fit(frame, ["a", "b", "a", "b"])
    assert fitted.classes_.tolist() == ["a", "b", "c"]
    numbered = frame.set_axis(["2", "1", "3"], axis=1)
    fitted = IdentityCalibrator().fit(numbered, [1, 2, 1, 2])
    assert fitted.classes_.tolist() == [1, 2, 3]
    assert fitted.column_classes_.tolist() == [2, 1, 3]


def test_frames_with_other_names_keep_their_order_and_their_names():
    frame = pd.DataFrame(GOOD, columns=["p_no", "p_yes"])
    fitted = IdentityCalibrator().fit(frame, Y)
    assert fitted.feature_names_in_.tolist() == ["p_no", "p_yes"]
    np.testing.assert_allclose(fitted.predict_proba(frame), GOOD)
    with pytest.raises(ValueError, match=r"columns named \['p_yes', 'p_no'\].*\['p_no', 'p_yes'\]"):
        fitted.predict_proba(frame[["p_yes", "p_no"]])


def test_names_of_a_frame_win_over_the_order_of_classes():
    frame = pd.DataFrame(GOOD[:, ::-1], columns=["yes", "no"])
    labels = np.array(["no", "yes"])[Y]
    fitted = IdentityCalibrator(classes=["no", "yes"]).fit(frame, labels)
    np.testing.assert_allclose(fitted.predict_proba(frame), GOOD)


def test_half_a_match_of_names_is_refused():
    frame = pd.DataFrame(np.full((3, 3), 1 / 3), columns=["a", "b", "x"])
    with pytest.raises(ValueError, match=r"named after labels.*also 'x'.*\['a', 'b', 'c'\]"):
        IdentityCalibrator().fit(frame, ["a", "b", "c"])
    with pytest.raises(ValueError, match=r"named after labels.*also 'b'"):
        IdentityCalibrator().fit(frame, ["a", "x", "y"])


def test_numbered_columns_of_a_frame_are_no_names():
    frame = pd.DataFrame(np.array([[0.2, 0.5, 0.3]] * 3))
    shifted = IdentityCalibrator().fit(frame, [1, 2, 3])
    assert shifted.column_classes_.tolist() == [1, 2, 3]
    # Integers below the number of columns are the numbers of columns.
    assert IdentityCalibrator().fit(frame, [1, 2, 2]).column_classes_.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match=r"3 columns, but `y` holds only 2 class"):
        IdentityCalibrator().fit(frame, [1, 3, 3])


def test_float_labels_are_matched_by_name():
    frame = pd.DataFrame(GOOD[:, ::-1], columns=[2, 1])
    fitted = IdentityCalibrator().fit(frame, Y + 1.0)
    np.testing.assert_allclose(fitted.predict_proba(frame), GOOD)
