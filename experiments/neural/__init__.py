"""The paper's experiment on neural networks, re-run on networks of others and of our own."""
