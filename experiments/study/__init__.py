"""The paper's open question: which networks are calibrated by temperature scaling alone."""
