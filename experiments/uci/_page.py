"""The tables as one page for people, ours beside the printed numbers."""

from pathlib import Path
from typing import Any

import pandas as pd

from experiments._shared.files import write_whole
from experiments._shared.page import markdown, render
from experiments._shared.versions import tell_versions

from ._calibrate import MEASURES
from ._captions import captions
from ._classifiers import CLASSIFIERS
from ._compare import FAR_APART
from ._data import DATASETS
from ._findings import count_turned, tell_ranks, tell_repetitions, tell_ties_in_print
from ._methods import LEGACY, METHODS, OURS, PAPER_METHODS
from ._results import Results
from ._study import Study
from ._tables import REACH
from ._words import share

__all__ = ["write_page"]

_TITLES = {
    "accuracy": "Accuracy (table S5)",
    "log-loss": "Log-loss (tables 2 and S6)",
    "Brier": "Brier score (table S7)",
    "MCE": "Maximum calibration error (table S8)",
    "conf-ECE": "Confidence-ECE (table S9)",
    "cw-ECE": "Classwise-ECE (table S10)",
    "p-conf-ECE": "p-value of confidence-ECE (table S11)",
    "p-cw-ECE": "p-value of classwise-ECE (tables 1 and S12)",
}

_SHAPE = ("n_samples", "n_features", "n_classes")


def write_page(results: Results) -> None:
    """Fill the template with what the tables say."""
    page = render(Path(__file__).parent / "page.md.j2", _contents(results))
    write_whole(results.folder / "page.md", page)


def _contents(results: Results) -> dict[str, Any]:
    study = Study(results)
    tables = {path.stem: results.read(f"tables/{path.name}") for path in _csv(results, "tables")}
    compared = {
        path.stem: results.read(f"compare/{path.name}") for path in _csv(results, "compare")
    }
    orders, claims = compared["orders"], compared["claims"]
    kept = orders[orders["kept"] == "yes"]["temperature"].value_counts()
    cells = results.read("cells.csv")
    once = cells[cells["repetition"] == 0]
    classifiers = tables["classifiers"]
    return {
        "n_pairs": len(study.means),
        "n_nominal": len(DATASETS) * len(CLASSIFIERS),
        "repetitions": tell_repetitions(study),
        "versions": tell_versions(study.rows["versions"]),
        "n_yes": int((claims["holds"] == "yes").sum()),
        "n_claims": int((claims["holds"] != "").sum()),
        "broken_claims": list(claims[claims["holds"] == "no"]["claim"]),
        "far_apart": FAR_APART,
        "n_far": int((orders["temperature"] == "converged").sum()),
        "n_turned": count_turned(orders, study),
        "n_tied": tell_ties_in_print(),
        "n_kept": kept.get("converged", 0),
        "n_kept_legacy": kept.get("2019", 0),
        "findings": tell_ranks(study),
        "figures": captions(study, claims),
        "average_ranks": _average_ranks(tables["ranks"]),
        "tests": _tests(tables["tests"]),
        "rank_tables": [
            {"title": title, "measure": measure, "table": _rank_table(tables["ranks"], measure)}
            for measure, title in _TITLES.items()
        ],
        "naive_bayes": _naive_bayes(tables["naive_bayes"]),
        "naive_bayes_text": _naive_bayes_text(study),
        "naive_bayes_gaps": _gaps(compared["naive_bayes"]),
        "examples": _examples(tables["examples"]),
        "today_ranks": _today_ranks(tables["today"]),
        "today_shares": _today_shares(tables["today"]),
        "passed_methods": _passed(tables["passed"], "method"),
        "passed_classifiers": _passed(tables["passed"], "classifier"),
        "hyperparameters": _hyperparameters(tables["hyperparameters"]),
        "n_classifier_datasets": classifiers["n"].iloc[0],
        "classifier_difference": f"{float(classifiers['critical_difference'].iloc[0]):.2f}",
        "classifiers": _classifiers(classifiers),
        "calibrate_minutes": f"{once['calibrate_seconds'].sum() / 60:.0f}",
        "train_minutes": f"{once['train_seconds'].sum() / 60:.0f}",
        "ours_minutes": f"{_minutes(tables['seconds'], OURS):.0f}",
        "seconds": markdown(tables["seconds"].drop(columns="one_repetition").round(3)),
        "datasets": _datasets(tables["datasets"]),
        "claims": markdown(claims),
        "orders": _orders(orders),
        "deviations": _deviations(compared["deviations"]),
        "failures": _failures(results.read("failures.csv")),
    }


def _minutes(seconds: pd.DataFrame, methods: tuple[str, ...]) -> float:
    """Core minutes of the fits of some methods in one repetition."""
    return float(seconds.set_index("method").loc[list(methods), "one_repetition"].sum()) / 60


def _csv(results: Results, folder: str) -> list[Path]:
    return sorted((results.folder / folder).glob("*.csv"))


def _cells(lines: pd.DataFrame, column: str, digits: int) -> list[str]:
    """Ours and (printed) for the seven methods; the lowest of ours is bold."""
    table = lines.set_index("method").loc[list(PAPER_METHODS), [column, "printed"]]
    best = table[column].min()
    cells = []
    for ours, theirs in table.itertuples(index=False, name=None):
        text = f"**{ours:.{digits}f}**" if ours == best else f"{ours:.{digits}f}"
        cells.append(text if theirs == "" else f"{text} ({float(theirs):.{digits}f})")
    return cells


def _ours(lines: pd.DataFrame, column: str, digits: int) -> list[str]:
    """The methods that the paper does not have; never bold, for they are not ranked with it."""
    return [f"{value:.{digits}f}" for value in lines.set_index("method").loc[list(OURS), column]]


def _today_ranks(table: pd.DataFrame) -> str:
    lines = []
    for line in table.to_dict("records"):
        ranks = {name: line[name] for name in (*PAPER_METHODS, *OURS)}
        near = min(ranks.values()) + line["critical_difference"]
        cells = [f"**{r:.2f}**" if r <= near else f"{r:.2f}" for r in ranks.values()]
        lines.append([line["measure"], *cells, f"{line['critical_difference']:.2f}"])
    columns = ["measure", *PAPER_METHODS, *OURS, "critical difference"]
    return markdown(pd.DataFrame(lines, columns=columns))


def _today_shares(table: pd.DataFrame) -> str:
    names = [name for name in table.columns if " better than " in name]
    shares = [name for name in names if not name.startswith(REACH)]
    text = {name: _told(table[name], table[f"{REACH}{name}"]) for name in shares}
    return markdown(pd.DataFrame({"measure": table["measure"], **text}))


def _told(shares: pd.Series, reaches: pd.Series) -> list[str]:
    pairs = zip(shares.astype(float), reaches.astype(float), strict=True)
    return [share(one, reach) for one, reach in pairs]


def _average_ranks(ranks: pd.DataFrame) -> str:
    own = ranks[(ranks["classifier"] == "average") & (ranks["temperature"] == "converged")]
    legacy = ranks[
        (ranks["classifier"] == "average")
        & (ranks["temperature"] == "2019")
        & (ranks["method"] == "TempS")
    ].set_index("measure")["rank"]
    lines = []
    for measure, lines_of in own.groupby("measure", sort=False):
        cells = _cells(lines_of, "rank", 2)
        cells += [f"{legacy[measure]:.2f}", *_ours(lines_of, "rank", 2)]
        lines.append([measure, lines_of["n"].iloc[0], *cells])
    return markdown(pd.DataFrame(lines, columns=["measure", "N", *PAPER_METHODS, LEGACY, *OURS]))


def _rank_table(ranks: pd.DataFrame, measure: str) -> str:
    own = ranks[(ranks["measure"] == measure) & (ranks["temperature"] == "converged")]
    lines = []
    for classifier, lines_of in own.groupby("classifier", sort=False):
        digits = 2 if classifier == "average" else 1
        cells = [*_cells(lines_of, "rank", digits), *_ours(lines_of, "rank", digits)]
        lines.append([classifier, lines_of["n"].iloc[0], *cells])
    return markdown(pd.DataFrame(lines, columns=["", "N", *PAPER_METHODS, *OURS]))


def _tests(tests: pd.DataFrame) -> str:
    own = tests[(tests["classifier"] == "average") & (tests["temperature"] == "converged")]
    names = {"n": "N", "pvalue": "p-value", "critical_difference": "critical difference"}
    return markdown(own.drop(columns=["temperature", "classifier", "order"]).rename(columns=names))


def _naive_bayes(table: pd.DataFrame) -> str:
    lines = []
    for dataset, own in table.groupby("dataset", sort=False):
        legacy = own.set_index("method").loc[LEGACY, "value"]
        cells = [*_cells(own, "value", 2), f"{legacy:.2f}", *_ours(own, "value", 2)]
        lines.append([dataset, *cells])
    return markdown(pd.DataFrame(lines, columns=["", *PAPER_METHODS, LEGACY, *OURS]))


def _naive_bayes_text(study: Study) -> str:
    told = []
    for temperature, name in (("converged", "With our temperature"), ("2019", "With that of 2019")):
        found = study.ranking("log-loss", temperature, "nbayes")  # type: ignore[arg-type]
        ranks = ", ".join(f"{method} {found.ranks[method]:.2f}" for method in found.order)
        groups = " | ".join(" ~ ".join(group) for group in found.groups())
        told.append(
            f"{name}: Friedman's statistic is {found.statistic:.1f} (printed 73.8), p = "
            f"{found.pvalue:.3g} (6.71e-14), N = {found.n} (20); average ranks {ranks}; critical "
            f"difference {found.difference:.2f}; groups {groups}."
        )
    told.append(
        "Printed average ranks: DirL2 1.05, Beta 3.40, FreqB 3.40, Isot 3.95, WidB 4.40, TempS "
        "5.53, Uncal 6.28."
    )
    return "\n\n".join(told)


def _examples(table: pd.DataFrame) -> str:
    lines = []
    by = ["table", "dataset", "classifier", "measure"]
    for key, own in table.groupby(by, sort=False):
        lines.append([*key, *_cells(own, "value", 2), *_ours(own, "value", 2)])
    return markdown(pd.DataFrame(lines, columns=[*by, *PAPER_METHODS, *OURS]))


def _passed(table: pd.DataFrame, by: str) -> str:
    own = table[table["by"] == by]
    own = own.assign(text=_told(own["share"], own["reach"]))
    text = own.pivot(index="name", columns="measure", values="text")
    text = text.loc[[name for name in (*METHODS, *CLASSIFIERS) if name in text.index]]
    return markdown(text.reset_index(names=by))


def _hyperparameters(table: pd.DataFrame) -> str:
    parts = []
    for method, own in table.groupby("method", sort=False):
        columns = ["", *own["value"].map("{:g}".format)]
        cells = _told(own["share"], own["reach"])
        parts.append(markdown(pd.DataFrame([[method, *cells]], columns=columns)))
    return "\n\n".join(parts)


def _classifiers(table: pd.DataFrame) -> str:
    table = table.assign(
        text=[
            f"**{rank:.1f}**" if best else f"{rank:.1f}"
            for rank, best in zip(table["rank"], table["among_best"], strict=True)
        ]
    )
    wide = table.pivot(index="measure", columns="classifier", values="text")
    present = [name for name in CLASSIFIERS if name in wide.columns]
    return markdown(wide.loc[list(MEASURES), present].reset_index())


def _datasets(table: pd.DataFrame) -> str:
    lines = []
    for line in table.to_dict("records"):
        same = all(line[name] == line[f"{name}_printed"] for name in _SHAPE)
        often = sorted({line["fewest_repetitions"], line["most_repetitions"]})
        told = [line[name] for name in _SHAPE]
        repeated = " to ".join(map(str, often))
        known = "yes" if same else "no"
        lines.append([line["dataset"], *told, known, line["classifiers"], repeated])
    columns = ["dataset", "rows", "features", "classes", "as printed", "classifiers"]
    return markdown(pd.DataFrame(lines, columns=[*columns, "folds drawn, times"]))


def _orders(orders: pd.DataFrame) -> str:
    lost = orders[(orders["kept"] == "no") & (orders["temperature"] == "converged")]
    if lost.empty:
        return "None."
    names = {"printed_gap": "printed gap", "our_gap": "our gap", "explanation": "known to differ"}
    gaps = {name: [f"{gap:.2f}" for gap in lost[name]] for name in ("printed_gap", "our_gap")}
    return markdown(lost.assign(**gaps).drop(columns=["temperature", "kept"]).rename(columns=names))


def _deviations(table: pd.DataFrame) -> str:
    digits = {"rank": ".2f", "printed": ".1f", "difference": "+.2f"}
    told = {name: [f"{one:{how}}" for one in table[name]] for name, how in digits.items()}
    return markdown(table.assign(**told).rename(columns={"rank": "ours"}))


def _gaps(table: pd.DataFrame) -> str:
    told = {
        "worst_difference": [f"{gap:+.2f}" for gap in table["worst_difference"]],
        "worst_relative": [f"{one:.0%}" for one in table["worst_relative"]],
    }
    names = {"within_5_percent": "within 5 %", "worst_dataset": "furthest off"}
    names |= {"worst_difference": "by", "worst_relative": "largest in parts of print"}
    table = table.assign(**told).rename(columns=names)
    return markdown(table.rename(columns=lambda name: name.replace("_", " ")))


def _failures(failures: pd.DataFrame) -> str:
    if failures.empty:
        return "Everything was completed, by every classifier and every method."
    by = ["dataset", "classifier", "method", "reason"]
    return markdown(failures.groupby(by).size().reset_index(name="cells"))
