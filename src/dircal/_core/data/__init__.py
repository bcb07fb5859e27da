"""Rows: from probabilities or logits to scores, in chunks, and what a row loses."""

__all__: list[str] = []
