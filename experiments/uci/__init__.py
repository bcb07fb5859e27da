"""The paper's experiment on UCI data: ``python -m experiments.uci --help``."""
