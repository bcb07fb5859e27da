from functools import partial

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, RepeatedKFold

from dircal import (
    BetaCalibrator,
    DirichletCalibrator,
    IsotonicCalibrator,
    OneVsRestCalibrator,
    TemperatureScaling,
    VectorScaling,
    compare,
    confidence_interval,
    metrics,
    paired_comparison,
)
from dircal.exceptions import ConvergenceWarning

PAIR = [TemperatureScaling(), VectorScaling()]
GAPS = ["confidence_ece", "classwise_ece", "smooth_ece"]


def run(calibrators, X, y, **options):
    return compare(calibrators, X, y, **({"n_resamples": 200, "random_state": 0} | options))


def test_one_row_for_each_calibrator_and_measure(make_problem):
    problem = make_problem(0, n=300, k=3)
    table = run(PAIR, problem.proba, problem.y)
    assert len(table) == 3 * 8
    names = list(dict.fromkeys(row.calibrator for row in table))
    assert names == ["uncalibrated", "TemperatureScaling", "VectorScaling"]
    for row in table:
        if row.measure == "maximum_calibration_error":
            assert row.low is row.high is row.pvalue is row.difference_low is None
            continue
        assert row.low <= row.value <= row.high
        if row.calibrator == "uncalibrated":
            assert row.difference == 0.0
            assert row.pvalue is row.difference_low is row.difference_high is None
        else:
            assert row.difference_low <= row.difference <= row.difference_high
            assert 0.0 < row.pvalue <= 1.0


@pytest.mark.filterwarnings("ignore::dircal.exceptions.SmallSampleWarning")
def test_values_are_those_of_maps_fitted_on_other_folds(make_problem):
    problem = make_problem(1, n=240, k=3)
    folds = list(KFold(4).split(problem.proba))
    table = run(PAIR, problem.proba, problem.y, cv=folds)
    mapped = np.empty_like(problem.proba)
    for fitting, scoring in folds:
        one = VectorScaling().fit(problem.proba[fitting], problem.y[fitting])
        mapped[scoring] = one.predict_proba(problem.proba[scoring])
    np.testing.assert_allclose(table.probabilities["VectorScaling"], mapped, rtol=1e-12)
    np.testing.assert_array_equal(table.scored, np.arange(240))
    for name in ("accuracy", "log_loss", "classwise_ece"):
        row, measure = table.row("VectorScaling", name), getattr(metrics, name)
        assert row.value == pytest.approx(measure(problem.y, mapped), abs=1e-12)
        before = measure(problem.y, problem.proba)
        assert row.difference == pytest.approx(row.value - before, abs=1e-12)
        # The same as asked one by one, up to the draws.
        alone = confidence_interval(problem.y, mapped, name, n_resamples=2000, random_state=1)
        width = alone.high - alone.low
        assert row.low == pytest.approx(alone.low, abs=0.15 * width)
        assert row.high == pytest.approx(alone.high, abs=0.15 * width)
        both = paired_comparison(
            problem.y, mapped, problem.proba, name, n_resamples=2000, random_state=1
        )
        assert row.difference == pytest.approx(both.difference, abs=1e-12)
        assert row.pvalue == pytest.approx(both.pvalue, abs=0.1)


def test_one_pair_is_a_calibration_set_and_a_test_set(make_problem):
    problem = make_problem(2, n=300, k=3)
    rows = np.random.default_rng(0).permutation(300)
    fitting, testing = rows[:200], rows[200:]
    table = run([DirichletCalibrator()], problem.proba, problem.y, cv=[(fitting, testing)])
    one = DirichletCalibrator().fit(problem.proba[fitting], problem.y[fitting])
    expected = metrics.log_loss(problem.y[testing], one.predict_proba(problem.proba[testing]))
    assert table.row("DirichletCalibrator", "log_loss").value == pytest.approx(expected)
    np.testing.assert_array_equal(table.scored, testing)


def test_calibration_helps_where_it_does(make_problem):
    problem = make_problem(3, n=1500, k=3)
    table = run(PAIR, problem.proba, problem.y, measures=["log_loss", "confidence_ece"])
    for name in ("TemperatureScaling", "VectorScaling"):
        for measure in ("log_loss", "confidence_ece"):
            assert table.row(name, measure).difference_high < 0
            assert table.row(name, measure).pvalue < 0.01


def test_measures_with_options_and_of_your_own(make_problem):
    problem = make_problem(4, n=200, k=3)

    def doubt(y_true, y_prob, *, sample_weight=None, classes=None):
        return float(np.average(1 - np.max(y_prob, axis=1), weights=sample_weight))

    measures = [partial(metrics.classwise_ece, aggregate="sum"), doubt, "log_loss"]
    table = run({"t": TemperatureScaling()}, problem.proba, problem.y, measures=measures)
    assert [row.measure for row in table][:3] == [
        "classwise_ece(aggregate=sum)",
        "doubt",
        "log_loss",
    ]
    plain = run({"t": TemperatureScaling()}, problem.proba, problem.y, measures=["log_loss"])
    assert plain.row("t", "log_loss") == table.row("t", "log_loss")


def test_logits_and_names(make_problem):
    problem = make_problem(5, n=300, k=3)
    calibrators = {
        name: DirichletCalibrator(penalty="l2", lam=lam, input_scale="logit")
        for name, lam in {"weak": 1e-3, "strong": 1.0}.items()
    }
    names = np.array(["ant", "bee", "cat"])[problem.y]
    table = run(calibrators, problem.logits, names, measures=["log_loss"])
    assert [row.calibrator for row in table] == ["uncalibrated", "weak", "strong"]
    expected = metrics.log_loss(problem.y, problem.proba)
    assert table.row("uncalibrated", "log_loss").value == pytest.approx(expected)
    moved = run(
        calibrators,
        problem.logits[:, [2, 0, 1]],
        names,
        measures=["log_loss"],
        classes=["cat", "ant", "bee"],
    )
    assert moved.row("weak", "log_loss").value == pytest.approx(
        table.row("weak", "log_loss").value, abs=1e-7
    )
    assert moved.row("weak", "log_loss").pvalue == table.row("weak", "log_loss").pvalue


def test_tables_and_frames(make_problem, monkeypatch):
    problem = make_problem(6, n=200, k=3)
    table = run(PAIR, problem.proba, problem.y)
    monkeypatch.setattr("dircal._frames.find_spec", lambda name: None)
    columns = table.to_frame("long")
    assert list(columns)[:3] == ["calibrator", "measure", "value"]
    assert len(columns) == 11
    assert all(len(column) == len(table) for column in columns.values())
    assert columns["value"] == [row.value for row in table]
    with pytest.raises(KeyError, match="none of the rows"):
        table.row("TemperatureScaling", "ece")
    wide = table.to_frame()
    assert list(wide)[:2] == ["calibrator", "log_loss"]
    assert wide["log_loss"] == [table.row(one, "log_loss").value for one in wide["calibrator"]]
    with pytest.raises(ValueError, match="`form` must be"):
        table.to_frame("tall")


def test_what_is_printed(make_problem):
    """One sentence, a row for each calibrator, and a star at the best value of each measure."""
    problem = make_problem(6, n=200, k=3)
    table = run(PAIR, problem.proba, problem.y)
    lines = repr(table).splitlines()
    best = table.best("log_loss")
    assert lines[0].startswith(f"Best log-loss: {best} (")
    assert max(map(len, lines)) < 110
    rows = {line.split()[0]: line.split()[1:] for line in lines if line[:1].isalnum()}
    assert set(table.calibrators) <= set(rows)
    for i, measure in enumerate(table.measures):
        starred = [name for name in table.calibrators if rows[name][i].endswith("*")]
        assert starred == [table.best(measure)]
    values = {one: table.row(one, "accuracy").value for one in table.calibrators}
    assert values[table.best("accuracy")] == max(values.values())
    worse = run({"halves": PoorCalibrator()}, problem.proba, problem.y, measures=["log_loss"])
    assert worse.sentence().startswith("Best log-loss: uncalibrated (")


class PoorCalibrator(ClassifierMixin, BaseEstimator):
    """Predicts the same for every row."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), 1.0 / len(self.classes_))


def test_short_names_are_those_of_the_command_line(make_problem):
    problem = make_problem(8, n=300, k=3)
    named = run(["temperature", "beta"], problem.proba, problem.y, measures=["log_loss"])
    objects = {"temperature": TemperatureScaling(), "beta": OneVsRestCalibrator(BetaCalibrator())}
    expected = run(objects, problem.proba, problem.y, measures=["log_loss"])
    assert named.table == expected.table
    two = make_problem(9, n=100, k=2)
    named = run({"b": "beta"}, two.proba, two.y, measures=["log_loss"])
    expected = run({"b": BetaCalibrator()}, two.proba, two.y, measures=["log_loss"])
    assert named.table == expected.table
    # They read what the others read.
    logits = run(
        ["vector", TemperatureScaling(input_scale="logit")],
        np.log(problem.proba),
        problem.y,
        measures=["log_loss"],
    )
    assert logits.row("vector", "log_loss").value > 0
    with pytest.raises(
        ValueError, match=r"'temprature', which is the name of none.*'temperature'\?"
    ):
        run(["temprature"], problem.proba, problem.y)
    # A generator can be gone through once.
    assert len(run((one for one in ["temperature"]), problem.proba, problem.y)) == 16


def test_rivals_are_fitted_on_the_probabilities(make_problem):
    problem = make_problem(10, n=240, k=3)
    names = np.array(["cat", "ant", "bee"])
    folds = list(KFold(4).split(problem.proba))
    table = run(
        ["temperature", LogisticRegression()],
        problem.proba,
        names[problem.y],
        cv=folds,
        classes=names,
        measures=["log_loss"],
    )
    mapped, order = np.empty_like(problem.proba), np.argsort(names)
    X, y = problem.proba[:, order], names[problem.y]
    for fitting, scoring in folds:
        rival = LogisticRegression().fit(X[fitting], y[fitting])
        mapped[scoring] = rival.predict_proba(X[scoring])
    np.testing.assert_allclose(table.probabilities["LogisticRegression"], mapped, rtol=1e-6)
    expected = metrics.log_loss(y, mapped, classes=names[order])
    assert table.row("LogisticRegression", "log_loss").value == pytest.approx(expected, rel=1e-6)
    with pytest.raises(ValueError, match="do not read the same scale"):
        run(
            [TemperatureScaling(input_scale="logit"), LogisticRegression()],
            np.log(problem.proba),
            problem.y,
        )


class Halves(ClassifierMixin, BaseEstimator):
    """Gives halves of probabilities."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return X / 2


def test_rivals_that_give_no_probabilities_are_told(make_problem):
    problem = make_problem(11, n=60, k=3)
    with pytest.raises(
        ValueError, match=r"holds Halves, whose predict_proba does not return prob.*row 0"
    ):
        run([Halves()], problem.proba, problem.y)
    with pytest.raises(ValueError, match="must be a calibrator of dircal; got the class Halves"):
        run({"one": Halves}, problem.proba, problem.y)


def test_a_class_that_a_rival_has_not_seen_gets_nothing(make_problem):
    problem = make_problem(12, n=60, k=3)
    y = problem.y.copy()
    y[:30] = np.arange(30) % 2
    y[30:] = np.arange(30) % 3
    table = run([LogisticRegression()], problem.proba, y, cv=[(np.arange(30), np.arange(30, 60))])
    assert (table.probabilities["LogisticRegression"][:, 2] == 0.0).all()


def test_seeds_repeat(make_problem):
    problem = make_problem(7, n=200, k=3)
    assert run(PAIR, problem.proba, problem.y).table == run(PAIR, problem.proba, problem.y).table
    other = run(PAIR, problem.proba, problem.y, random_state=1)
    assert other.table != run(PAIR, problem.proba, problem.y).table


def test_warnings_of_fits_are_told_and_kept():
    P = np.repeat([[0.9, 0.1], [0.2, 0.8]], 20, axis=0)
    y = np.repeat(["a", "b"], 20)
    with pytest.warns(ConvergenceWarning, match="^free: "):
        table = run({"free": DirichletCalibrator(penalty="none")}, P, y, measures=["log_loss"])
    assert table.fit_warnings["uncalibrated"] == ()
    assert len(table.fit_warnings["free"]) >= 1


P3, Y3 = np.full((12, 3), 1 / 3), np.arange(12) % 3


@pytest.mark.parametrize(
    ("calibrators", "options", "message"),
    [
        ([], {}, r"`calibrators` is empty"),
        (3, {}, r"`calibrators` must be a dict or a list of calibrators; got 3"),
        ([TemperatureScaling], {}, r"must be a calibrator of dircal; got the class"),
        ([TemperatureScaling()] * 2, {}, r"`calibrators` holds two of one class.*Pass a dict"),
        ({"uncalibrated": TemperatureScaling()}, {}, r"not 'uncalibrated', the name of no"),
        (
            [TemperatureScaling(), VectorScaling(input_scale="logit")],
            {},
            r"`calibrators` do not read the same scale: .*'VectorScaling': 'logit'",
        ),
        ([IsotonicCalibrator()], {}, r"which is for two classes, but there are 3.*OneVsRest"),
        (PAIR, {"cv": RepeatedKFold(n_splits=3)}, r"`cv` must score no row twice"),
        (PAIR, {"cv": "five"}, r"`cv` must be a number of folds"),
        (PAIR, {"measures": ["ece"]}, r"`metric` must be a measure.*got 'ece'"),
        (PAIR, {"level": 1}, r"`level` must be a finite number"),
        (PAIR, {"n_resamples": 1}, r"`n_resamples` must be a whole number of at least 100"),
    ],
)
def test_bad_arguments(calibrators, options, message):
    with pytest.raises(ValueError, match=f"(?s){message}"):
        compare(calibrators, P3, Y3, **options)


def test_maps_that_are_sure_of_everything_can_be_compared(make_problem):
    y = make_problem(0, n=60, k=3).y
    with pytest.warns(ConvergenceWarning):
        table = run([DirichletCalibrator(lam=1e-3, mu=1e-3)], np.eye(3)[y], y)
    assert table.row("DirichletCalibrator", "smooth_ece").value < 1e-3


def nameless(measure):
    def mine(y_true, y_prob, *, sample_weight=None, classes=None):
        return measure(y_true, y_prob, sample_weight=sample_weight, classes=classes)

    return mine


@pytest.mark.parametrize(
    ("measures", "told"),
    [
        ([nameless(metrics.log_loss), nameless(metrics.brier_score)], "two called 'mine'"),
        (["log_loss", "log_loss"], "two called 'log_loss'"),
        ([], "`measures` is empty"),
        ("log_loss", "`measures` must be a list of measures; got 'log_loss'"),
        (3, "`measures` must be a list of measures; got 3"),
    ],
)
def test_measures_that_cannot_be_told_apart_are_refused(measures, told, make_problem):
    problem = make_problem(0, n=100, k=3)
    with pytest.raises(ValueError, match=told):
        run(PAIR, problem.proba, problem.y, measures=measures)


def test_measures_may_be_an_array(make_problem):
    problem = make_problem(0, n=100, k=3)
    table = run(PAIR, problem.proba, problem.y, measures=np.array(["log_loss", "accuracy"]))
    assert len(table) == 3 * 2


@pytest.mark.parametrize(
    ("calibrators", "told"),
    [
        ({1: TemperatureScaling()}, "names that are text, .* got 1"),
        ("ab", "must be a dict or a list of calibrators; got 'ab'"),
        ({"hot": TemperatureScaling}, r"`calibrators\['hot'\]` must be a calibrator"),
        ({"steps": IsotonicCalibrator()}, r"`calibrators\['steps'\]` is IsotonicCalibrator"),
        ([], "Pass at least one"),
    ],
)
def test_calibrators_that_cannot_be_compared_are_named(calibrators, told, make_problem):
    problem = make_problem(0, n=100, k=3)
    with pytest.raises(ValueError, match=told):
        run(calibrators, problem.proba, problem.y)


def test_rows_counted_from_the_end_are_the_same_rows(make_problem):
    problem = make_problem(0, n=100, k=3)
    with pytest.raises(ValueError, match="score no row twice, but row 60"):
        run(PAIR, problem.proba, problem.y, cv=[(np.arange(50), [60, -40])])
    with pytest.raises(ValueError, match=r"`cv` is KFold.* cannot divide 100 rows"):
        run(PAIR, problem.proba, problem.y, cv=KFold(1000))


def test_calibrators_that_were_told_the_columns_are_believed(make_problem):
    problem = make_problem(0, n=200, k=3)
    names = np.array(["dog", "cat", "ant"])
    options = {"measures": ["accuracy"], "n_resamples": 100, "random_state": 0}
    scores, y = problem.proba, names[problem.y]
    given = compare([TemperatureScaling()], scores, y, classes=names, **options)
    told = compare([TemperatureScaling(classes=names)], scores, y, **options)
    for name in ("uncalibrated", "TemperatureScaling"):
        assert told.row(name, "accuracy").value == given.row(name, "accuracy").value
    others = {"a": TemperatureScaling(classes=names), "b": TemperatureScaling(classes=names[::-1])}
    with pytest.raises(ValueError, match="'b' has classes="):
        compare(others, scores, y, **options)


def test_intervals_are_told_beside_the_value_that_they_are_of(make_problem):
    rows = make_problem(0, n=300, k=3)
    table = compare([TemperatureScaling()], rows.proba, rows.y, n_resamples=100, random_state=0)
    for row in table:
        if row.low is not None:
            assert row.low <= row.corrected <= row.high
        assert not row.is_corrected or row.measure.endswith("_ece")


def test_moments_of_many_rows_tell_what_draws_tell(make_problem, use_limits):
    problem = make_problem(3, n=4000, k=3)
    options = {"n_resamples": 2000, "cv": 2, "measures": ["log_loss", *GAPS]}
    drawn = run([VectorScaling()], problem.proba, problem.y, **options)
    use_limits("ResamplingLimits", min_moment_rows=1000)
    found = run([VectorScaling()], problem.proba, problem.y, **options)
    assert {row.source for row in drawn} == {"draws"}
    assert {row.source for row in found} == {"moments"}
    for row, other in zip(found, drawn, strict=True):
        assert row.value == other.value
        width = other.high - other.low
        assert [row.low, row.high] == pytest.approx([other.low, other.high], abs=0.1 * width)
        if row.difference_low is None:
            continue
        width = other.difference_high - other.difference_low
        ends = [row.difference_low, row.difference_high]
        expected = [other.difference_low, other.difference_high]
        # Were both drawn apart from each other, intervals would be far wider.
        assert ends == pytest.approx(expected, abs=0.1 * width), row.measure
    told = "With 4,000 rows the intervals come from moments of sums over rows: log_loss, "
    assert told in repr(found)
    assert "moments of sums over rows" in found._repr_html_()
    assert "moments" not in repr(drawn) + drawn._repr_html_()
    alone = confidence_interval(
        problem.y[found.scored],
        found.probabilities["VectorScaling"],
        "classwise_ece",
        n_resamples=2000,
        random_state=0,
    )
    row = found.row("VectorScaling", "classwise_ece")
    assert [row.low, row.high] == pytest.approx([alone.low, alone.high], rel=1e-6)


def test_some_measures_may_have_too_many_sums(make_problem, use_limits):
    problem = make_problem(3, n=400, k=3)
    use_limits("ResamplingLimits", min_moment_rows=100, max_moment_sums=64)
    table = run([TemperatureScaling()], problem.proba, problem.y, measures=["log_loss", *GAPS])
    sources = {row.measure: row.source for row in table}
    assert sources["log_loss"] == "moments"
    assert sources["smooth_ece"] == "multipliers"
    assert "; from rows with random signs: classwise_ece, smooth_ece." in repr(table)
