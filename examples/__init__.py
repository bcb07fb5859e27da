"""Longer examples, to read and to run: ``python -m examples.dirichlet_layer``."""
