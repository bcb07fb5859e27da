"""Runs the contracts against one library; started in the environment of that library.

``python _scoreboard_worker.py MODULE N_CLASSES OUTCOMES [CALIBRATOR/CONTRACT ...]`` appends
two lines of JSON for each cell to the file of outcomes: one when it starts, one when it has ended.
Cells that are named at the end are left out. A cell that computes for too long ends the process,
and one that crashes does so too: whoever started it goes on with the next cell in a new process.

``python _scoreboard_worker.py --reproduce MODULE FOLDER`` runs the programs of a folder, each in a
process of its own, and writes beside ``NAME.py`` what it wrote, ``NAME.err``, and how it ended,
``NAME.code``. Libraries take seconds to load, so that is done once, before they are forked.
"""

import faulthandler
import importlib
import importlib.metadata
import json
import os
import runpy
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from _scoreboard_contracts import CONTRACTS, Broken

__all__ = ["LIMIT", "NO_LOGITS", "cells", "run_cell"]

LIMIT = 120
"""Seconds that a cell may compute; the clock on the wall runs faster on a busy machine."""
NO_LOGITS = "takes probabilities"
# Where nothing is computed any more, as in a deadlock.
_ASLEEP = 1800


def functions(module: ModuleType | Any, calibrator: str, contract: str) -> tuple[Any, Any, Any]:
    """What a contract calls: `new`, `fit` and `predict` of a calibrator."""
    if contract != "logits":
        return module.CALIBRATORS[calibrator], module.fit, module.predict
    return (
        module.LOGITS[calibrator],
        getattr(module, "fit_logits", module.fit),
        getattr(module, "predict_logits", module.predict),
    )


def not_offered(module: ModuleType | Any, contract: str) -> str | None:
    """Why a contract is nothing that a library offers, if so."""
    if contract == "logits" and not hasattr(module, "LOGITS"):
        return str(module.NOT_OFFERED.get(contract, NO_LOGITS))
    reason: str | None = module.NOT_OFFERED.get(contract)
    return reason


def run_cell(
    module: ModuleType | Any,
    calibrator: str,
    contract: str,
    n_classes: int,
    contracts: Mapping[str, Callable[..., None]] = CONTRACTS,
) -> dict[str, str]:
    """One contract with one calibrator: the verdict, and what was seen."""
    cell = {"calibrator": calibrator, "contract": contract}
    reason = not_offered(module, contract)
    if reason is not None:
        return cell | {"verdict": "not offered", "message": reason}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            contracts[contract](*functions(module, calibrator, contract), n_classes)
    except Broken as broken:
        return cell | {"verdict": "wrong", "message": str(broken)}
    except Exception as error:
        message = traceback.format_exception_only(error)[0].strip()
        return cell | {"verdict": "error", "message": message}
    return cell | {"verdict": "holds", "message": ""}


def cells(module: ModuleType | Any) -> list[tuple[str, str]]:
    """All cells of a library."""
    return [(calibrator, contract) for calibrator in module.CALIBRATORS for contract in CONTRACTS]


def versions() -> dict[str, str]:
    """Of Python and of everything that is installed, by name."""
    found = {one.metadata["Name"]: one.version for one in importlib.metadata.distributions()}
    if ours := sys.modules.get("dircal"):
        # What is loaded may come from a checkout beside what is installed.
        found["dircal"] = ours.__version__
    return {"python": ".".join(map(str, sys.version_info[:3])), **found}


def main(name: str, n_classes: int, outcomes: Path, done: list[str]) -> None:
    """All cells of a library that are not done yet."""
    with outcomes.open("a", encoding="utf-8") as file:

        def tell(line: dict[str, Any]) -> None:
            print(json.dumps(line), file=file, flush=True)

        try:
            module = importlib.import_module(f"rivals.{name}")
        except Exception as error:
            message = traceback.format_exception_only(error)[0].strip()
            tell({"cannot be imported": message, "versions": versions()})
            return
        tell({"versions": versions()})
        for calibrator, contract in cells(module):
            if f"{calibrator}/{contract}" in done:
                continue
            tell({"starts": {"calibrator": calibrator, "contract": contract}})
            # Nobody handles this signal, so it ends the process, whatever is computed there.
            signal.setitimer(signal.ITIMER_PROF, LIMIT)
            faulthandler.dump_traceback_later(_ASLEEP, exit=True)
            outcome = run_cell(module, calibrator, contract, n_classes)
            faulthandler.cancel_dump_traceback_later()
            signal.setitimer(signal.ITIMER_PROF, 0)
            tell({"ends": outcome})


def reproduce(name: str, folder: Path) -> None:
    """Run the programs of a folder with a library that is loaded already."""
    importlib.import_module(f"rivals.{name}")
    for program in sorted(folder.glob("*.py")):
        child = os.fork()
        if child == 0:
            run_program(program)
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        program.with_suffix(".code").write_text(str(code), encoding="utf-8")


def run_program(program: Path) -> NoReturn:
    """Be the process of this program, to its end."""
    errors = program.with_suffix(".err").open("w", encoding="utf-8")
    os.dup2(errors.fileno(), 2)
    signal.setitimer(signal.ITIMER_PROF, LIMIT)
    signal.alarm(_ASLEEP)
    code = 0
    try:
        warnings.simplefilter("ignore")
        runpy.run_path(str(program), run_name="__main__")
    except BaseException:
        code = 1
        traceback.print_exc(file=errors)
    errors.flush()
    os._exit(code)


if __name__ == "__main__":
    if sys.argv[1] == "--reproduce":
        reproduce(sys.argv[2], Path(sys.argv[3]))
    else:
        main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:])
