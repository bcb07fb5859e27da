from threadpoolctl import threadpool_info

from dircal._threads import limited_blas


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_small_products_run_on_one_blas_thread():
    before = blas_threads()
    with limited_blas((10_000_000, 10)):
        assert blas_threads() == {1}
    assert blas_threads() == before


def test_several_threads_leave_blas_as_it_was():
    before = blas_threads()
    first, second = limited_blas((100, 3)), limited_blas((100, 3))
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert blas_threads() == {1}
    second.__exit__(None, None, None)
    assert blas_threads() == before


def test_large_products_keep_their_threads():
    before = blas_threads()
    with limited_blas((10_000, 1000)):
        assert blas_threads() == before
