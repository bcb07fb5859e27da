"""The paper's experiments, re-run with the public names of `dircal` only."""
