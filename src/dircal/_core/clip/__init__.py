"""The floor of probabilities before the logarithm: by likelihood, by evidence."""

__all__: list[str] = []
