"""Numbers that steer `dircal._core.data`, with their sources and sensitivities."""

from dataclasses import dataclass

from dircal._limits import in_context

__all__ = ["DATA_LIMITS", "DataLimits"]


@dataclass(frozen=True)
class DataLimits:
    """Limits of sources of rows.

    They decide what a pass costs and where sums are cut, which moves results by rounding. The
    fractions of the subsample decide where solvers start, and no result beyond their tolerance.
    """

    # Scores up to this size are computed once and kept; larger ones are read again in every pass.
    # Costs memory only.
    cache_bytes: int = 256 * 2**20
    # 512 kB of float64: the passes over a chunk stay in the cache.
    chunk_elements: int = 65_536
    # With very many classes, enough rows for the matrix product to pay.
    min_chunk_rows: int = 512
    # Bundles of parts of a table of medium size: enough to share out.
    n_bundles: int = 64
    # Larger scores leave single precision too few digits for smaller ones in the same row.
    max_float32_score: float = 1e3
    # The squares of smaller scores, or the slopes that make up for them, leave the range of
    # float32.
    min_float32_score: float = 1e-9
    # With more parameters, the optimum of a subsample is further away than the temperature map.
    max_params_per_row: int = 2
    # One row in four makes a subsample: its Hessian is close, and costs a quarter.
    subsample_stride: int = 4
    # Below four times this number, all rows are quick.
    min_subsample_rows: int = 4096
    # 32 MB, which stay in memory.
    max_subsample_elements: int = 2**22


DATA_LIMITS = in_context(DataLimits())
