"""Files that last: calibrators as text, and the logits that come with papers."""

from dircal.io._file import load, save
from dircal.io._pickled_logits import LabelledLogits, read_pickled_logits

__all__ = ["LabelledLogits", "load", "read_pickled_logits", "save"]
