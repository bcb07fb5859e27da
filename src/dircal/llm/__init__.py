"""Label probabilities of language models: from raw output to calibrated labels."""

from dircal.llm._label_calibrator import LabelCalibrator
from dircal.llm._label_calibrator import label_map as label_map
from dircal.llm._options import check_options_occur as check_options_occur
from dircal.llm._options import option_probabilities, sampled_probabilities
from dircal.llm._responses import top_logprobs

__all__ = ["LabelCalibrator", "option_probabilities", "sampled_probabilities", "top_logprobs"]
