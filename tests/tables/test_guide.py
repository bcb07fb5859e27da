"""The example of the guide as a user runs it: copied to a file, with a worker killed meanwhile."""

import os
import re
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from dircal import DirichletCalibrator, distributed

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "large_data.md"


def test_a_worker_that_is_killed_leaves_the_map_as_it_was(tmp_path, cut):
    [example] = re.findall(r"```python\n(import os\n.*?)```", PAGE.read_text(), re.DOTALL)
    script = tmp_path / "example.py"
    script.write_text(example)
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", script], stdout=subprocess.PIPE, text=True
    ) as process:
        workers = process.stdout.readline().split()
        assert workers[0] == "workers:"
        time.sleep(1.0)
        os.kill(int(workers[1]), signal.SIGKILL)
        found = process.stdout.read().split()
    assert process.returncode == 0
    parts = runpy.run_path(str(script))
    table = parts["make_scores"](200_000)
    whole = distributed.fit(DirichletCalibrator(), cut(table, 16), columns=parts["CLASSES"])
    assert found == ["map:", whole.coef_.tobytes().hex()]
    assert np.isfinite(whole.coef_).all()
