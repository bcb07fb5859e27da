"""The tables as one page for people."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from experiments._shared.files import write_whole
from experiments._shared.page import markdown, render
from experiments._shared.versions import tell_versions

from ._asking import NOT_RUN
from ._example import EXAMPLE, OF_EFFECTS, matrix_name, pairs_name, words_name
from ._findings import (
    gains_table,
    tell_best,
    tell_convergence,
    tell_draws,
    tell_grids,
    tell_in_short,
    tell_outliers,
    tell_twice,
)
from ._methods import GENERAL, METHODS, OURS, PAPER_METHODS
from ._networks import catalogued, known
from ._page_print import print_contents
from ._results import Results
from ._study import FAMILIES, Study

__all__ = ["write_page"]

_TITLES = {
    "log-loss": "Log-loss (tables 4 and S13)",
    "Brier": "Brier score (table S14)",
    "conf-ECE": "Confidence-ECE (table S15)",
    "cw-ECE": "Classwise-ECE, sum over classes as printed (tables 3 and S16)",
    "MCE": "Maximum calibration error (table S17)",
    "accuracy": "Error in percent (table S18)",
    "p-conf-ECE": "p-value of confidence-ECE (table S19)",
    "p-cw-ECE": "p-value of classwise-ECE (table S20)",
}
_LARGEST = 5


def write_page(results: Results, examples: Sequence[str]) -> None:
    """Fill the template with what the tables say."""
    page = render(Path(__file__).parent / "page.md.j2", _contents(results, examples))
    write_whole(results.folder / "page.md", page)


def _contents(results: Results, examples: Sequence[str]) -> dict[str, Any]:
    study = Study(results)
    tables = _read_all(results, "tables")
    compared = _read_all(results, "compare")
    claims = compared["claims"]
    asked = claims[claims["holds"] != ""]
    return {
        "n_networks": len(study.networks),
        "n_logits": int(study.networks["logits"].sum()),
        "n_sources": study.networks.query("kind == 'network'")["source"].nunique(),
        "from_catalogue": any(name in study.networks.index for name in catalogued()),
        "draws": tell_draws(study.fits),
        "grids": tell_grids(study),
        "convergence": tell_convergence(study.fits),
        "versions": tell_versions(study.fits["versions"]),
        "n_claims": len(asked),
        "held": _held(asked, "yes"),
        "failed": _held(asked, "no"),
        "n_open": int((claims["numbers"] == NOT_RUN).sum()),
        "n_undecided": int(((claims["holds"] == "") & (claims["numbers"] != NOT_RUN)).sum()),
        "best": tell_best(study),
        "in_short": tell_in_short(study),
        "gains": markdown(gains_table(study)),
        "families": [
            {
                "title": family.title,
                "ranks": _ranks(tables["ranks"], name),
                "tests": _tests(tables["tests"], name),
            }
            for name, family in FAMILIES.items()
        ],
        "printed_tests": _tests(tables["tests"], "printed"),
        "score_tables": [
            {
                "title": title,
                "logits": _scores(study, tables["scores"], measure, logits=1),
                "others": _scores(study, tables["scores"], measure, logits=0),
            }
            for measure, title in _TITLES.items()
        ],
        "replications": _replications(study, tables["replications"]),
        "twice": tell_twice(study),
        "example": EXAMPLE,
        "of_effects": OF_EFFECTS,
        "examples": [_example(results, name) for name in examples],
        "figures": {path.stem for path in (results.folder / "figures").glob("*.svg")},
        "closeness": _closeness(tables["closeness"]),
        "outliers": tell_outliers(study),
        "choices": _choices(tables["choices"]),
        "targets": markdown(compared["targets"]),
        "seconds": markdown(tables["seconds"]),
        "networks": _networks(tables["networks"]),
        "origins": _origins(study),
        "not_run": _not_run(study),
        "failures": _failures(results.read("failures.csv")),
        "claims": markdown(claims),
        **print_contents(study, compared),
    }


def _held(asked: pd.DataFrame, answer: str) -> dict[str, int]:
    """How many claims have an answer, and in how many of them the interval leaves no doubt."""
    own = asked[asked["holds"] == answer]["surely"].value_counts()
    counts = {name: int(own.get(name, 0)) for name in ("yes", "no", "")}
    return {
        "count": sum(counts.values()),
        "surely": counts["yes"],
        "perhaps": counts["no"],
        "bare": counts[""],
    }


def _read_all(results: Results, folder: str) -> dict[str, pd.DataFrame]:
    found = sorted((results.folder / folder).glob("*.csv"))
    return {path.stem: results.read(f"{folder}/{path.name}") for path in found}


def _ranks(table: pd.DataFrame, family: str) -> str:
    own = table[table["family"] == family]
    lines = []
    for measure, lines_of in own.groupby("measure", sort=False):
        cells = lines_of.set_index("method")
        best = cells["rank"].min()
        pairs = cells[["rank", "printed"]].itertuples(index=False, name=None)
        texts = [_rank(ours, best, theirs) for ours, theirs in pairs]
        lines.append([measure, lines_of["n"].iloc[0], *texts])
    if not lines:
        return "Too few networks have been run."
    return markdown(pd.DataFrame(lines, columns=["", "N", *FAMILIES[family].methods]))


def _rank(ours: float, best: float, theirs: Any) -> str:
    text = f"**{ours:.2f}**" if ours == best else f"{ours:.2f}"
    return text if theirs == "" else f"{text} ({float(theirs):.2f})"


def _tests(table: pd.DataFrame, family: str) -> str:
    names = {"n": "N", "pvalue": "p-value", "critical_difference": "critical difference"}
    own = table[table["family"] == family].drop(columns=["family", "order"])
    return markdown(own.rename(columns=names)) if len(own) else "Too few networks have been run."


def _scores(study: Study, table: pd.DataFrame, measure: str, *, logits: int) -> str:
    """A line for each network; in small figures the rank, the best of the paper's in bold."""
    methods = [*PAPER_METHODS, *OURS] if logits else [*GENERAL, *(m for m in OURS if _general(m))]
    own = table[table["measure"] == measure]
    lines = []
    order = study.networks.sort_values(["n_classes", "source"], kind="stable")
    for network in order[order["logits"] == logits].index:
        cells = own[own["network"] == network].set_index("method")
        lines.append([network, *(_score(cells, method, measure) for method in methods)])
    return markdown(pd.DataFrame(lines, columns=["", *methods])) if lines else "None."


def _general(method: str) -> bool:
    return not METHODS[method].needs_logits


def _score(cells: pd.DataFrame, method: str, measure: str) -> str:
    if method not in cells.index:
        return ""
    value, rank = cells.loc[method, ["value", "rank"]]
    digits = 2 if measure == "accuracy" else 4
    text = f"{float(value):.{digits}f}"
    if rank == "":
        return text
    return f"**{text}** ({float(rank):g})" if float(rank) == 1 else f"{text} ({float(rank):g})"


def _replications(study: Study, table: pd.DataFrame) -> str:
    """Log-losses, and their paired differences with intervals."""
    losses = table.columns[1:]
    table = table.assign(**{name: table[name].map("{:.5f}".format) for name in losses})
    for method, other in (("MS-ODIR", "VecS"), ("MS-ODIR-zero", "MS-ODIR")):
        gaps = study.differences(method, other).reindex(table["network"])
        table[f"{method} less {other}"] = [
            "" if pd.isna(difference) else f"{difference:+.5f} ({low:+.5f} to {high:+.5f})"
            for difference, low, high in zip(
                gaps["difference"], gaps["low"], gaps["high"], strict=True
            )
        ]
    return markdown(table)


def _example(results: Results, name: str) -> dict[str, Any]:
    return {
        "name": name,
        "words": [
            *results.read(words_name(name)).get("sentence", []),
            *_quoted(results.read(pairs_name(name))),
        ],
        "confusions": _confusions(results.read(matrix_name(name))),
    }


def _quoted(pairs: pd.DataFrame) -> list[str]:
    """The differences of measures, in words."""
    return [
        f"On the test rows the {line['measure']} of {line['method']} less that of {line['other']} "
        f"is {line['difference']:+.4f} ({line['low']:+.4f} to {line['high']:+.4f})."
        for line in pairs.to_dict("records")
    ]


def _confusions(table: pd.DataFrame) -> str:
    """The largest changes off the diagonal, with the entry of the matrix."""
    if table.empty:
        return "Not run yet."
    own, on = table[table["row"] != table["column"]].copy(), table[table["row"] == table["column"]]
    largest = own["a"].max()
    own["change"] = own["confusions_after"] - own["confusions_before"]
    own["size"] = own["change"].abs()
    own = own.sort_values("size", ascending=False, kind="stable").head(2 * _LARGEST)
    names = {"row": "true", "column": "taken for", "confusions_before": "times before"}
    own = own.rename(columns=names)
    own = own.assign(a=own["a"].map("{:.4f}".format), change=own["change"].map("{:+d}".format))
    changes = markdown(own[["true", "taken for", "a", "times before", "change"]])
    return (
        f"{changes}\n\nThe largest entry of the matrix off its diagonal is {largest:.4f}, the mean "
        f"on it {on['a'].mean():.2f}. Where the first is next to nothing, the changes come from "
        "the diagonal and the intercepts."
    )


def _closeness(table: pd.DataFrame) -> str:
    by = table.groupby("method")[["identity_share", "distance_from_TempS"]]
    summary = by.agg(["median", "min", "max"]).round(4)
    names = {"identity_share": "share", "distance_from_TempS": "distance"}
    summary.columns = pd.Index([f"{names[what]}, {how}" for what, how in summary.columns])
    return markdown(summary.reset_index())


def _choices(table: pd.DataFrame) -> str:
    lines = []
    for (grid, method, parameter), own in table.groupby(["grid", "method", "parameter"]):
        at_edge = int((own["steps_to_edge"] == 0).sum())
        value = own["value"].astype(float)
        steps = [at_edge, own["steps_to_edge"].median(), own["n_values"].iloc[0]]
        lines.append([grid, method, parameter, len(own), f"{value.median():g}", *steps])
    columns = ["grid", "method", "parameter", "networks", "median choice", "at the edge"]
    columns += ["median steps to the edge", "values in the grid"]
    return markdown(pd.DataFrame(lines, columns=columns))


def _networks(table: pd.DataFrame) -> str:
    """What was run, and what has to be known of it."""
    yes = {1: "yes", 0: "no"}
    names = {"n_classes": "k", "n_fit": "rows to fit", "n_test": "rows to test"}
    names["methods"] = "methods run"
    table = table.assign(
        logits=table["logits"].map(yes),
        divided_here=table["divided_here"].map(yes),
        note=[known(name).note for name in table["network"]],
    )
    return markdown(table.rename(columns={**names, "divided_here": "divided here"}))


def _origins(study: Study) -> str:
    """Where the files of each source are from."""
    origins = {known(name).source: known(name).origin for name in study.networks.index}
    lines = sorted((source, origin) for source, origin in origins.items() if origin)
    return markdown(pd.DataFrame(lines, columns=["source", "origin"])) if lines else ""


def _not_run(study: Study) -> list[str]:
    """What the catalogue has and the results lack; files of a user are complete by themselves."""
    sources = study.networks["source"]
    if not any(known(name).source == sources.get(name) for name in catalogued()):
        return []
    return [name for name in catalogued() if name not in study.networks.index]


def _failures(failures: pd.DataFrame) -> str:
    return "Nothing failed." if failures.empty else markdown(failures)
