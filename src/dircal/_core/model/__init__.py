"""What is minimised: structures, penalties, the objective, its two-class form."""

__all__: list[str] = []
