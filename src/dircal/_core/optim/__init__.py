"""How it is minimised: Newton's method, and what stands on it."""

__all__: list[str] = []
