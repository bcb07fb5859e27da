import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from scipy.stats import dirichlet

from dircal import CanonicalParameters, DirichletCalibrator, GenerativeParameters, LinearParameters
from dircal.exceptions import RowSumWarning

# The same map by another formula: logits of size 100 carry 1e-14, exponentials pass it on.
SAME = {"rtol": 1e-10, "atol": 1e-14}

TRUTH = GenerativeParameters([[5.0, 1.5, 1.0], [1.0, 3.0, 2.0], [0.5, 1.0, 4.0]], [0.5, 0.3, 0.2])

seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(2, 50)
scales = st.sampled_from([0.1, 1.0, 10.0])


def draw_linear(seed, k, scale=1.0):
    rng = np.random.default_rng(seed)
    return LinearParameters(rng.normal(scale=scale, size=(k, k)), rng.normal(size=k))


def draw_generative(seed, k, scale=1.0):
    rng = np.random.default_rng(seed)
    return GenerativeParameters(
        scale * rng.standard_exponential((k, k)) + 1e-3, rng.dirichlet(np.full(k, 2.0))
    )


def draw_rows(seed, k, n=20):
    """Rows of the simplex: ordinary ones, near a corner, and the centre."""
    rng = np.random.default_rng(seed)
    rows = [rng.dirichlet(np.ones(k), size=n), rng.dirichlet(np.full(k, 0.05), size=n)]
    return np.vstack([*rows, np.full(k, 1.0 / k)]).clip(1e-300)


def forms(parameters):
    return parameters.to_linear(), parameters.to_canonical(), parameters.to_generative()


def test_canonical_test_vectors(expected):
    name, k = "dir_odir_lam0.1_mu0.2_W", 4
    W = [[expected[f"{name}[{i},{j}]"] for j in range(k)] for i in range(k)]
    b = [expected[f"{name}[{i},b]"] for i in range(k)]
    canonical = LinearParameters(W, b).to_canonical()
    for i in range(k):
        assert canonical.c[i] == pytest.approx(expected[f"dir_odir_c[{i}]"], abs=1e-8)
        for j in range(k):
            assert canonical.A[i, j] == pytest.approx(expected[f"dir_odir_A[{i},{j}]"], abs=1e-8)


def test_two_clouds_worked_out_by_hand():
    # Densities 2 q_0 and 1: the odds of class 0 are 2 q_0. B(2, 1) = 1/2 and B(1, 1) = 1.
    truth = GenerativeParameters([[2, 1], [1, 1]], [0.5, 0.5])
    assert_allclose(
        truth.predict_proba([[0.25, 0.75], [1.0, 0.0]]), [[1 / 3, 2 / 3], [2 / 3, 1 / 3]]
    )
    linear, canonical, _ = forms(truth)
    assert_allclose(linear.W, [[1, 0], [0, 0]])
    assert_allclose(linear.b, np.log([1.0, 0.5]))
    assert_allclose(canonical.A, [[1, 0], [0, 0]])
    assert_allclose(canonical.c, [0.5, 0.5])
    assert_allclose(canonical.to_generative().pi, [0.5, 0.5])


@pytest.mark.parametrize("k", [2, 3, 10])
def test_identity(k):
    identity = LinearParameters(np.eye(k), np.zeros(k))
    _, canonical, generative = forms(identity)
    assert_allclose(canonical.A, np.eye(k), atol=0)
    assert_allclose(canonical.c, 1 / k, rtol=1e-14)
    assert_allclose(generative.alpha, np.eye(k) + 1)
    assert_allclose(generative.pi, 1 / k, rtol=1e-14)
    q = draw_rows(0, k)
    for form in forms(identity):
        assert_allclose(form.predict_proba(q), q, **SAME)


def test_generative_map_is_bayes_rule_with_the_densities_of_scipy():
    q = np.random.default_rng(0).dirichlet(np.ones(3), size=30)
    joint = [TRUTH.pi[i] * dirichlet(TRUTH.alpha[i]).pdf(q.T) for i in range(3)]
    assert_allclose(TRUTH.predict_proba(q), (joint / np.sum(joint, axis=0)).T, rtol=1e-12)


def test_linear_and_canonical_maps_are_their_formulas():
    linear, canonical, _ = forms(draw_linear(0, 4))
    q = draw_rows(0, 4)
    assert_allclose(
        linear.predict_proba(q), softmax(np.log(q) @ linear.W.T + linear.b, axis=1), rtol=1e-12
    )
    logits = np.log(4 * q) @ canonical.A.T + np.log(canonical.c)
    assert_allclose(canonical.predict_proba(q), softmax(logits, axis=1), rtol=1e-12)


@given(seed=seeds, k=sizes, scale=scales)
def test_theorem_1_from_linear(seed, k, scale):
    linear, canonical, generative = forms(draw_linear(seed, k, scale))
    q = draw_rows(seed, k)
    proba = linear.predict_proba(q)
    assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    # Logits are sums of k terms of size scale * 700: eps times that is what formulas share.
    tolerance = 1e-14 * k * max(1.0, scale) * 700
    assert_allclose(canonical.predict_proba(q), proba, rtol=tolerance, atol=1e-14)
    assert_allclose(generative.predict_proba(q), proba, rtol=tolerance, atol=1e-14)
    back = generative.to_linear().predict_proba(q)
    assert_allclose(back, proba, rtol=tolerance, atol=1e-14)


@given(seed=seeds, k=sizes, scale=scales)
def test_theorem_1_from_generative(seed, k, scale):
    generative = draw_generative(seed, k, scale)
    q = draw_rows(seed, k)
    proba = generative.predict_proba(q)
    tolerance = 1e-14 * k * max(1.0, scale) * 700
    for form in (*forms(generative), generative.to_canonical().to_generative()):
        assert_allclose(form.predict_proba(q), proba, rtol=tolerance, atol=1e-14)


@given(seed=seeds, k=sizes, scale=scales)
def test_canonical_is_valid_and_idempotent(seed, k, scale):
    for parameters in (draw_linear(seed, k, scale), draw_generative(seed, k, scale)):
        canonical = parameters.to_canonical()
        assert (canonical.A >= 0).all()
        assert_array_equal(canonical.A.min(axis=0), 0.0)
        assert_allclose(canonical.c.sum(), 1.0, rtol=1e-12)
        if canonical.c.min() > 0.0:
            assert_allclose(CanonicalParameters(canonical.A, canonical.c).c, canonical.c)
        for again in (
            canonical.to_canonical(),
            canonical.to_linear().to_canonical(),
            canonical.to_generative().to_canonical(),
        ):
            assert_allclose(again.A, canonical.A, rtol=1e-12, atol=1e-13 * scale)
            assert_allclose(again.log_c, canonical.log_c, rtol=1e-9, atol=1e-9)


@given(seed=seeds, k=sizes)
def test_canonical_is_unique(seed, k):
    """All ways to write a map have one canonical form: the columns and b may be shifted."""
    rng = np.random.default_rng(seed)
    linear = draw_linear(seed, k)
    shifted = LinearParameters(linear.W + 5 * rng.normal(size=k), linear.b + rng.normal())
    q = draw_rows(seed, k)
    assert_allclose(shifted.predict_proba(q), linear.predict_proba(q), rtol=1e-9, atol=1e-14)
    assert_allclose(shifted.to_canonical().A, linear.to_canonical().A, atol=1e-12)
    assert_allclose(shifted.to_canonical().c, linear.to_canonical().c, rtol=1e-10)
    # And different canonical parameters are different maps, which three kinds of rows show.
    canonical = linear.to_canonical()
    i = int(rng.integers(k))
    A = canonical.A.copy()
    A[i] += 0.1
    other = CanonicalParameters(A - A.min(axis=0), canonical.c)
    assert np.abs(other.A - canonical.A).max() > 0.05
    rows = canonical.interpretation_points(0.5 / k).points
    change = np.log(other.predict_proba(rows)) - np.log(canonical.predict_proba(rows))
    assert np.abs(change).max() > 1e-3


@given(seed=seeds, k=sizes)
def test_generative_is_not_unique(seed, k):
    """Columns of alpha may be shifted, if pi moves with them."""
    canonical = draw_linear(seed, k).to_canonical()
    first = canonical.to_generative()
    linear = LinearParameters(canonical.A + 1.0, canonical.to_linear().b)
    second = GenerativeParameters(first.alpha + 1.0, _prior(linear, first.alpha + 1.0))
    q = draw_rows(seed, k)
    assert_allclose(second.predict_proba(q), first.predict_proba(q), rtol=1e-8, atol=1e-14)


def _prior(linear, alpha):
    """Naive transcription of protocol (a): pi is proportional to exp(b) B(alpha)."""
    ones = np.full(len(alpha), 1.0 / len(alpha))
    log_density = np.array([dirichlet(row).logpdf(ones) for row in alpha])
    log_beta = (alpha - 1) @ np.log(ones) - log_density
    return softmax(linear.b + log_beta)


@given(seed=seeds, k=sizes, t=st.floats(0.05, 20.0))
def test_proposition_1_temperature_scaling(seed, k, t):
    z = 3 * np.random.default_rng(seed).normal(size=(10, k))
    scaling = LinearParameters(np.eye(k) / t, np.zeros(k))
    q = softmax(z, axis=1)
    for form in forms(scaling):
        assert_allclose(form.predict_proba(q), softmax(z / t, axis=1), rtol=1e-9, atol=1e-14)
    assert_allclose(scaling.to_canonical().A, np.eye(k) / t, rtol=1e-12)
    assert_allclose(scaling.to_canonical().c, 1 / k, rtol=1e-9)


@given(seed=seeds)
def test_two_classes_are_beta_calibration(seed):
    linear = draw_linear(seed, 2)
    p = np.random.default_rng(seed).uniform(0.01, 0.99, size=20)
    (w00, w01), (w10, w11) = linear.W
    logit = (w11 - w01) * np.log(p) - (w00 - w10) * np.log(1 - p) + linear.b[1] - linear.b[0]
    for form in forms(linear):
        proba = form.predict_proba(np.column_stack([1 - p, p]))
        assert_allclose(proba[:, 1], 1 / (1 + np.exp(-logit)), rtol=1e-10)


@given(seed=seeds, k=st.integers(2, 6))
def test_order_of_classes_is_irrelevant(seed, k):
    order = np.random.default_rng(seed).permutation(k)
    plain = draw_linear(seed, k)
    moved = LinearParameters(plain.W[np.ix_(order, order)], plain.b[order])
    for one, other in zip(forms(plain), forms(moved), strict=True):
        q = draw_rows(seed, k)
        assert_allclose(other.predict_proba(q[:, order]), one.predict_proba(q)[:, order], **SAME)
    assert_allclose(
        moved.to_generative().pi, plain.to_generative().pi[order], rtol=1e-10, atol=1e-300
    )


def test_zeros_are_read_as_the_smallest_normal_number():
    q = np.array([[0.0, 0.4, 0.6], [1.0, 0.0, 0.0]])
    clipped = q.clip(np.finfo(float).tiny)
    for form in forms(TRUTH):
        proba = form.predict_proba(q)
        assert np.isfinite(proba).all()
        assert_allclose(proba.sum(axis=1), 1.0)
        assert_allclose(proba, form.predict_proba(clipped), rtol=1e-12)


def test_conversions_survive_an_underflow_of_c():
    linear = LinearParameters([[2000.0, 0.0], [0.0, 0.0]], [0.0, 0.0])
    canonical, generative = linear.to_canonical(), linear.to_generative()
    assert canonical.c[0] == 0.0
    assert canonical.log_c[0] == pytest.approx(-2000 * np.log(2))
    q = [[1.0, 0.0], [1 - 1e-4, 1e-4]]
    for form in (linear, canonical, generative, generative.to_linear(), canonical.to_linear()):
        # The odds of class 0 are q_0 ** 2000.
        assert_allclose(form.predict_proba(q)[:, 0], [0.5, 1 / (1 + np.exp(0.20001))], rtol=1e-5)
    assert_array_equal(canonical.interpretation_points().images[-1], canonical.c)


def test_conversions_survive_an_underflow_of_pi():
    # A cloud around the centre so dense that a class of no weight matters there.
    k = 200
    W = np.zeros((k, k))
    W[0] = 1e6
    linear = LinearParameters(W, W.sum(axis=1) * np.log(k))
    generative = linear.to_generative()
    assert generative.pi[0] == 0.0
    assert np.isfinite(generative.log_pi).all()
    # Logits are differences of numbers of size 1e9.
    assert_allclose(generative.predict_proba(np.full((1, k), 1 / k)), 1 / k, rtol=1e-5)


@pytest.mark.parametrize("size", [1e-100, 1e4, 1e8, 1e100])
def test_extreme_entries_keep_rows_finite(size):
    linear = LinearParameters(size * np.eye(3), [0.0, size, -size])
    generative = GenerativeParameters(np.full((3, 3), size), [0.2, 0.3, 0.5])
    q = [[1.0, 0.0, 0.0], [0.2, 0.3, 0.5]]
    for form in (linear, linear.to_canonical(), linear.to_generative(), generative):
        proba = form.predict_proba(q)
        assert np.isfinite(proba).all()
        assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)


def test_many_rows_are_read_in_chunks():
    q = np.random.default_rng(0).dirichlet(np.ones(3), size=50_000)
    proba = TRUTH.predict_proba(q)
    assert_allclose(proba[-5:], TRUTH.predict_proba(q[-5:]), rtol=1e-12)


def test_parameters_are_frozen_copies():
    W = np.eye(2)
    linear = LinearParameters(W, np.zeros(2))
    W[0, 0] = 7.0
    assert linear.W[0, 0] == 1.0
    for form in forms(linear):
        for name in type(form).__dataclass_fields__:
            array = getattr(form, name)
            assert array.dtype == np.float64
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0.0
            with pytest.raises(AttributeError, match="cannot assign"):
                setattr(form, name, array)


def test_rounding_in_canonical_parameters_is_removed():
    canonical = CanonicalParameters([[1.0, 1e-12], [-1e-12, 1.0]], [0.30003, 0.7])
    assert_array_equal(canonical.A.min(axis=0), 0.0)
    assert_allclose(canonical.c.sum(), 1.0, rtol=1e-14)
    with pytest.warns(
        RowSumWarning, match=r"`c` does not sum to one \(it sums to 0.99\)"
    ) as record:
        third = CanonicalParameters(np.eye(3), [0.33, 0.33, 0.33])
    assert record[0].filename == __file__
    assert_allclose(third.c, 1 / 3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LinearParameters(np.ones((2, 3)), [0, 0]), r"`W` must be a square.*\(2, 3\)"),
        (lambda: LinearParameters([1.0, 2.0], [0, 0]), r"`W` must be a square matrix.*\(2,\)"),
        (lambda: LinearParameters([[1.0]], [0]), r"`W`.*at least two classes; got shape \(1, 1\)"),
        (lambda: LinearParameters([[1, 2], [3]], [0, 0]), r"`W`.*regular shape: .*inhomogeneous"),
        (lambda: LinearParameters(np.eye(2) * 1j, [0, 0]), r"`W`.*complex numbers"),
        (lambda: LinearParameters(np.eye(2), ["a", "b"]), r"`b` must hold real numbers.*'a'"),
        (lambda: LinearParameters(np.eye(2), [0, np.nan]), r"`b` must be finite.*holds nan"),
        (lambda: LinearParameters(np.eye(2) * 1e200, [0, 0]), r"at most 1e\+100.*holds 1e\+200"),
        (
            lambda: LinearParameters(np.eye(2), [0, 0, 0]),
            r"`b` must have shape \(2,\).*\(3,\).*`W`",
        ),
        (lambda: CanonicalParameters([[1, 0.5], [0, 0.7]], [0.5, 0.5]), r"`A`.*column 1 is 0\.5"),
        (lambda: CanonicalParameters([[1, -0.5], [0, 0]], [0.5, 0.5]), r"`A`.*column 1 is -0\.5"),
        (lambda: CanonicalParameters(np.eye(2), [1.0, 0.0]), r"`c` must be positive; entry 1 is 0"),
        (lambda: CanonicalParameters(np.eye(2), [0.5, 0.6]), r"`c` must sum to one.*1\.1\. Divide"),
        (lambda: CanonicalParameters(np.eye(2), [1.0]), r"`c` must have shape \(2,\).*`A`"),
        (
            lambda: GenerativeParameters([[1, 0], [1, 1]], [0.5, 0.5]),
            r"`alpha`.*row 0, column 1 is",
        ),
        (lambda: GenerativeParameters(np.ones((2, 2)), [2, -1]), r"`pi` must be positive.*1 is -1"),
        (lambda: GenerativeParameters(np.ones((2, 2)), [1, 1]), r"`pi` must sum to one.*sums to 2"),
        (lambda: TRUTH.predict_proba([0.2, 0.3, 0.5]), r"`q` must be a 2D.*q\.reshape\(1, -1\)"),
        (
            lambda: TRUTH.predict_proba([[0.5, 0.5]]),
            r"`q` has 2 columns, but the map has 3 classes",
        ),
        (lambda: TRUTH.predict_proba([[0.5, -0.5, 1]]), r"`q` must not be negative.*softmax first"),
        (lambda: TRUTH.predict_proba([[1.0, 1.0, 1]]), r"`q`.*row 0 sums to 3.*softmax first"),
        (lambda: TRUTH.sample(0), r"`n` must be a whole number of at least 1; got 0"),
        (lambda: TRUTH.sample(2, random_state="x"), r"`random_state` must be a whole number.*'x'"),
        (
            lambda: TRUTH.to_canonical().interpretation_points(0),
            r"`eps`.*above 0 and below 1; got 0",
        ),
        (lambda: TRUTH.to_canonical().interpretation_points(1.0), r"`eps`.*below 1; got 1\.0"),
    ],
    ids=lambda value: value if isinstance(value, str) else "call",
)
def test_errors_name_the_argument_the_value_and_the_fix(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_row_sums_that_are_mended_point_at_the_caller():
    with pytest.warns(RowSumWarning, match=r"`q` has rows that do not sum to one") as record:
        TRUTH.predict_proba([[0.33, 0.33, 0.33]])
    assert record[0].filename == __file__


@given(seed=seeds, k=sizes, eps=st.floats(1e-12, 0.999))
def test_interpretation_points_are_exact_images(seed, k, eps):
    canonical = draw_linear(seed, k).to_canonical()
    found = canonical.interpretation_points(eps)
    assert found.points.shape == found.images.shape == (k + 1, k)
    assert_allclose(found.points.sum(axis=1), 1.0, rtol=1e-12)
    assert_allclose(np.diagonal(found.points), eps)
    assert_allclose(found.images, canonical.predict_proba(found.points), rtol=1e-9, atol=1e-300)
    assert_allclose(found.images[-1], canonical.c, rtol=1e-12)
    assert_array_equal(found.exponents, canonical.A)


def test_interpretation_points_follow_the_protocol():
    A = np.array([[0.7, 0.0, 0.1], [0.0, 0.5, 0.0], [0.2, 0.1, 0.9]])
    c, k, eps = np.array([0.5, 0.2, 0.3]), 3, 0.05
    images = CanonicalParameters(A, c).interpretation_points(eps).images
    for j in range(k):
        naive = [
            A[i, j] * np.log(k * eps)
            + np.log(k * (1 - eps) / (k - 1)) * sum(A[i, m] for m in range(k) if m != j)
            + np.log(c[i])
            for i in range(k)
        ]
        assert_allclose(images[j], softmax(naive), rtol=1e-12)


def test_exponents_lead_as_eps_goes_to_zero():
    A = [[0.7, 0.0, 0.5], [0.0, 0.5, 0.0], [0.9, 0.4, 0.0]]
    canonical = CanonicalParameters(A, [0.5, 0.2, 0.3])
    near, nearer = (canonical.interpretation_points(eps) for eps in (1e-40, 1e-41))
    slopes = np.log10(near.images[:-1] / nearer.images[:-1]).T
    assert_allclose(slopes, A, atol=1e-12)
    # What is left is shared by the classes with a zero in the column.
    assert_allclose((nearer.images[:-1].T * (near.exponents == 0)).sum(axis=0), 1.0, rtol=1e-12)


def test_sample_has_the_moments_of_its_distributions():
    """21 means, each within 4.5 standard errors: a right sampler fails with one seed in 7000."""
    n = 40_000
    q, y = TRUTH.sample(n, random_state=0)
    assert q.shape == (n, 3)
    assert q.flags.c_contiguous
    assert y.dtype.kind == "i"
    shares = np.bincount(y, minlength=3) / n
    assert (np.abs(shares - TRUTH.pi) < 4.5 * np.sqrt(TRUTH.pi * (1 - TRUTH.pi) / n)).all()
    for i in range(3):
        expected = dirichlet(TRUTH.alpha[i])
        rows = q[y == i]
        error = np.sqrt(expected.var() / len(rows))
        assert (np.abs(rows.mean(axis=0) - expected.mean()) < 4.5 * error).all()
        squares = (rows - expected.mean()) ** 2
        error = squares.std(axis=0) / np.sqrt(len(rows))
        assert (np.abs(squares.mean(axis=0) - expected.var()) < 4.5 * error).all()


def test_sample_is_calibrated_by_its_own_map():
    """The score of the true parameters has mean zero; 12 of them, within 4.5 standard errors."""
    q, y = TRUTH.sample(40_000, random_state=1)
    residual = np.eye(3)[y] - TRUTH.predict_proba(q)
    features = np.column_stack([np.log(q), np.ones(len(q))])
    scores = residual[:, :, None] * features[:, None, :]
    error = scores.std(axis=0) / np.sqrt(len(q))
    assert (np.abs(scores.mean(axis=0)) < 4.5 * error).all()


def test_sample_with_tiny_parameters_stays_on_the_simplex():
    """Gamma variables with parameter 1e-4 underflow; their rows must not become 0/0."""
    n = 20_000
    alpha = np.full((3, 3), 1e-4) * [1.0, 2.0, 5.0]
    q, _ = GenerativeParameters(alpha, [0.2, 0.3, 0.5]).sample(n, random_state=0)
    assert np.isfinite(q).all()
    assert_allclose(q.sum(axis=1), 1.0, rtol=1e-12)
    share = np.array([1.0, 2.0, 5.0]) / 8
    assert (np.abs(q.mean(axis=0) - share) < 4.5 * np.sqrt(share * (1 - share) / n)).all()
    extreme = GenerativeParameters(np.full((2, 2), 1e-100), [0.5, 0.5]).sample(10, random_state=0)
    assert_array_equal(extreme[0].sum(axis=1), 1.0)


def test_sample_is_decided_by_random_state():
    one, two = TRUTH.sample(50, random_state=3), TRUTH.sample(50, random_state=3)
    assert_array_equal(one[0], two[0])
    assert_array_equal(one[1], two[1])
    generator = np.random.default_rng(3)
    assert_array_equal(TRUTH.sample(50, random_state=generator)[0], one[0])
    assert (TRUTH.sample(50, random_state=generator)[0] != one[0]).any()
    assert_array_equal(TRUTH.sample(50)[0], TRUTH.sample(50, random_state=0)[0])
    news = [TRUTH.sample(50, random_state=None)[0] for _ in range(2)]
    assert (news[0] != news[1]).any()


def test_a_fit_on_many_rows_approaches_the_true_map():
    """8 parameters and 2 n KL is chi-square: its mean is 8 / (2 n), 40 / (2 n) is never reached."""
    n = 50_000
    q, y = TRUTH.sample(n, random_state=5)
    fit = DirichletCalibrator(penalty="none").fit(q, y)
    canonical, true = fit.canonical_parameters(), TRUTH.to_canonical()
    assert_allclose(canonical.A, true.A, atol=0.15)
    assert_allclose(canonical.c, true.c, atol=0.03)
    q, _ = TRUTH.sample(n, random_state=6)
    truth, fitted = TRUTH.predict_proba(q), fit.predict_proba(q)
    divergence = (truth * np.log(truth / fitted)).sum(axis=1).mean()
    assert 0 < divergence < 40 / (2 * n)
