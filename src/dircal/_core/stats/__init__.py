"""Bins, draws, intervals and tests, on clean arrays."""

__all__: list[str] = []
