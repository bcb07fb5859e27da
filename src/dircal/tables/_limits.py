"""Numbers that decide how tables are read, with their sources."""

from dataclasses import dataclass

__all__ = ["LIMITS", "TableLimits"]


@dataclass(frozen=True)
class TableLimits:
    """Sizes by which tables are read.

    Parameters
    ----------
    memory_bytes : int
        Scores up to this size are kept in memory. Beyond it, every pass reads the table again.
    block_cells : int
        Cells that are read at a time from files of arrays and Parquet.
    text_length : int
        Characters of the longest label or name: every label of an array takes as much as the
        longest.
    block_bytes : int
        Bytes of a text file that are parsed at a time when it is copied.
    record_bytes : int
        A line of this many bytes is not part of a table.
    judged_rows : int
        Rows of a table in parts by which the order of its columns is judged.
    group_rows : int
        Rows of a row group of Parquet that is written; they are in memory until it is full.
    buffer_bytes : int
        Bytes of a Parquet file that are read ahead when it is copied.
    pair_cells : int
        Cells of two-class problems that are in memory at a time, and at least one problem.
    threads : int
        Threads that read parts: each has one in memory, so more would cost more than they save.
    min_bundle_bytes, max_bundle_bytes : int
        Parts that are worked on together have 1/64 of the bytes of the table within these limits:
        small enough to share out, and large enough that sending them, about a millisecond, does
        not count.
    """

    memory_bytes: int = 256 * 2**20
    block_cells: int = 2**20
    text_length: int = 10_000
    block_bytes: int = 2**18
    record_bytes: int = 2**24
    judged_rows: int = 2**16
    group_rows: int = 2**19
    buffer_bytes: int = 2**20
    pair_cells: int = 2**24
    threads: int = 4
    min_bundle_bytes: int = 8 * 2**20
    max_bundle_bytes: int = 256 * 2**20


LIMITS = TableLimits()
