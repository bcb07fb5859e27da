"""The paper's experiment on neural networks, re-run on networks that anybody can get."""
