"""What the experiment on networks says of its rows: families, counts, claims, targets, page."""

from functools import cache, partial
from io import StringIO
from itertools import product

import pandas as pd
import pytest
from experiments.neural._asking import Answer, Held, judged
from experiments.neural._claims import claims
from experiments.neural._compare import compare
from experiments.neural._example import CLASS_NAMES, EXAMPLE, OF_EFFECTS, matrix_name, pairs_name
from experiments.neural._findings import tell_convergence, tell_draws, tell_twice
from experiments.neural._methods import METHODS, PAPER_METHODS
from experiments.neural._networks import catalogued, known
from experiments.neural._page import write_page
from experiments.neural._printed import printed
from experiments.neural._study import FAMILIES, Share
from experiments.neural._summary import show_summary
from experiments.neural._tables import make_tables
from experiments.neural._targets import targets
from neural_rows import make_study
from rich.console import Console


class TestFamilies:
    def test_bayes_is_ranked_once(self):
        for family in FAMILIES.values():
            assert "Bayes-logits" not in family.methods
        assert len(FAMILIES["paper and ours"].methods) == 9


class TestCounts:
    def test_networks_of_one_source_are_one_trial(self, tmp_path):
        names = ["one", "two", "three", "alone"]
        about = {name: {"source": "same"} for name in names[:3]}
        losses = {name: {"TempS": 1.0, "VecS": 0.9} for name in names[:2]}
        losses |= {"three": {"TempS": 1.0, "VecS": 2.0}, "alone": {"TempS": 1.0, "VecS": 0.5}}
        study = make_study(tmp_path, losses, about)
        # Two of the three have the lower value, but their mean is higher.
        assert study.wins("VecS", "TempS", "log-loss", study.chosen()) == Share(1, 2)

    def test_most_networks_of_a_source_decide_for_it(self, tmp_path):
        about = {name: {"source": "same"} for name in ("one", "two")}
        study = make_study(tmp_path, {name: {"TempS": 1.0} for name in ("one", "two", "x")}, about)
        found = pd.Series({"one": True, "two": False, "x": True})
        assert study.agree(found) == Share(1, 2)
        assert str(study.agree(found)) == "1 of 2 sources (9 to 91 %)"


class TestAnswers:
    @pytest.mark.parametrize(
        ("interval", "expected"),
        [((0.6, 0.8), (True, True)), ((0.4, 0.8), (True, False))],
        ids=["beyond", "across"],
    )
    def test_a_number_above_a_half(self, interval, expected):
        assert Held.within(0.7, interval, 0.5) == expected

    def test_a_number_that_is_not_in_the_range(self):
        assert Held.within(0.2, (0.1, 0.4), 0.5) == (False, True)
        assert Held.within(0.2, (0.1, 0.6), 0.5) == (False, False)
        assert not Held.within(0.5, (0.1, 0.9), 0.5).holds
        assert Held.within(0.5, (0.1, 0.9), 0.5, ends=True).holds

    def test_one_sure_no_is_enough_and_every_yes_must_be_sure(self):
        sure, unsure = Held(True, True), Held(True, False)
        assert judged([sure, sure], "told") == Answer(True, "told", True)
        assert judged([sure, unsure], "told").surely is False
        assert judged([sure, Held(False, False), Held(False, True)], "") == Answer(False, "", True)
        # What surely holds says nothing about the part that does not.
        assert judged([sure, Held(False, False)], "") == Answer(False, "", False)

    def test_the_share_is_asked_with_the_interval_that_it_shows(self):
        share = Share(1, 2)
        low, high = share.interval
        assert f"({100 * low:.0f} to {100 * high:.0f} %)" in str(share)
        assert share.value == 0.5


claims_of = cache(claims)


def ask(study, part):
    """The answer to the one claim whose text has this part, and its numbers."""
    table = claims_of(study)
    own = table[table["text"].str.contains(part, regex=False)]
    assert len(own) == 1
    return own[["holds", "numbers"]].iloc[0].tolist()


def surely(study, part):
    """What the column of intervals says of the one claim whose text has this part."""
    table = claims_of(study)
    return table[table["text"].str.contains(part, regex=False)]["surely"].item()


def values(**changed):
    """All of the paper's methods at 1, except some."""
    named = {name.replace("_", "-"): value for name, value in changed.items()}
    return {**dict.fromkeys(PAPER_METHODS, 1.0), **named}


class TestClaims:
    def test_little_is_little_either_way(self, tmp_path):
        losses = {name: values(MS_ODIR=1.8) for name in ("one", "two")}
        assert ask(make_study(tmp_path / "much", losses), "but by little")[0] == "no"
        losses = {name: values(MS_ODIR=1.005) for name in ("one", "two")}
        assert ask(make_study(tmp_path / "little", losses), "but by little")[0] == "yes"

    def test_two_sources_may_be_chance_and_twenty_are_not(self, tmp_path):
        for n, expected in ((2, "no"), (20, "yes")):
            losses = {f"n{i}": values(Dir_ODIR=0.9) for i in range(n)}
            study = make_study(tmp_path / str(n), losses)
            assert ask(study, "few classes Dir-ODIR is better")[0] == "yes"
            assert surely(study, "few classes Dir-ODIR is better") == expected
        assert surely(study, "With few classes Dir-L2 is better") == "yes"
        assert surely(study, "depends on the network") == ""

    def test_slightly_higher_is_in_parts_of_the_temperature(self, tmp_path):
        losses = {"one": values(Dir_ODIR=1.5), "two": values(Dir_ODIR=0.75)}
        about = {name: {"n_classes": 100} for name in losses}
        holds, numbers = ask(make_study(tmp_path, losses, about), "slightly higher log-loss")
        # In parts of Dir-ODIR it would be lower on the mean, and higher by 12.5 % it is.
        assert holds == "no"
        assert numbers.startswith("Dir-ODIR is lower by -12.50 %")

    def test_calibration_errors_of_the_example_have_intervals(self, tmp_path):
        study = make_study(tmp_path, {EXAMPLE: values(TempS=0.9)})
        bare = ["yes", "TempS 0.9000, Uncal 1.0000"]
        assert ask(study, "TempS lowers conf-ECE") == bare
        pairs = [["conf-ECE", "TempS", "Uncal", -0.1, -0.25, 0.05]]
        columns = ["measure", "method", "other", "difference", "low", "high"]
        study.results.write(pairs_name(), pd.DataFrame(pairs, columns=columns))
        table = claims(study)
        own = table[table["text"].str.contains("TempS lowers conf-ECE")].iloc[0]
        assert own["surely"] == "no"
        assert own["numbers"] == f"{bare[1]}; difference -0.1000 (-0.2500 to +0.0500)"

    def test_nothing_is_said_of_networks_that_are_not_there(self, tmp_path):
        zeros = [["one", "MS-ODIR-zero", "MS-ODIR", 1e-6, -1e-6, 2e-6, 1e-5]]
        study = make_study(tmp_path, {"one": values(MS_ODIR_zero=1.0)}, differences=zeros)
        for part in ("and on the rest they make it worse", "and there MS-ODIR has a lower"):
            assert ask(study, part) == ["", "there is no such network here"]
        assert ask(study, "practically zero")[0] == "yes"

    def test_without_vector_scaling_nothing_is_said_of_it(self, tmp_path):
        zeros = [["one", "MS-ODIR-zero", "MS-ODIR", 0.1, 0.05, 0.2, 0.1]]
        losses = {"one": {"MS-ODIR": 1.0, "MS-ODIR-zero": 1.1}}
        study = make_study(tmp_path, losses, differences=zeros)
        assert ask(study, "and there MS-ODIR has a lower") == ["", "not run"]
        assert ask(study, "and on the rest they make it worse")[0] == "yes"

    def test_without_such_entries_probabilities_must_stay(self, tmp_path):
        zeros = [["one", "MS-ODIR-zero", "MS-ODIR", 1e-6, -1e-6, 2e-6, 0.02]]
        study = make_study(tmp_path, {"one": values(MS_ODIR_zero=1.0)}, differences=zeros)
        holds, numbers = ask(study, "practically zero")
        assert holds == "no"
        assert "0.02000 at most" in numbers

    def test_each_of_three_must_be_best_somewhere(self, tmp_path):
        losses = {"a": values(TempS=0.5), "b": values(Dir_L2=0.5), "c": values(Dir_ODIR=0.5)}
        assert ask(make_study(tmp_path / "mixed", losses), "depends on the network")[0] == "yes"
        losses["c"] = values(Uncal=0.1, Dir_L2=0.5)
        holds, numbers = ask(make_study(tmp_path / "two", losses), "depends on the network")
        assert holds == "no"
        assert "Dir-ODIR 0 of 3" in numbers

    def test_whom_the_best_is_ahead_of_is_told(self, tmp_path):
        order = values(Uncal=4.0, TempS=3.0, Dir_L2=2.0, Dir_ODIR=1.0)
        study = make_study(tmp_path, {f"n{i}": order for i in range(12)})
        holds, numbers = ask(study, "Dir-ODIR has the best average rank")
        assert holds == "yes"
        assert "Dir-ODIR is significantly ahead of TempS, Uncal" in numbers

    def test_vector_scaling_pays_with_log_loss(self, tmp_path):
        losses = {name: values(VecS=0.9, MS_ODIR=0.8) for name in ("one", "two")}
        study = make_study(tmp_path, losses)
        assert ask(study, "By cw-ECE VecS has the best")[0] == "no"
        assert ask(study, "VecS pays with log-loss")[0] == "yes"

    def test_many_classes_are_asked_of_both(self, tmp_path):
        about = {"one": {"n_classes": 100}}
        study = make_study(tmp_path / "both", {"one": values(Dir_ODIR=0.9, MS_ODIR=0.9)}, about)
        assert ask(study, "With 100 classes and more, too")[0] == "yes"
        study = make_study(tmp_path / "one", {"one": values(Dir_ODIR=0.9)}, about)
        assert ask(study, "With 100 classes and more, too")[0] == "no"
        study = make_study(tmp_path / "few", {"one": values()})
        assert ask(study, "With 100 classes and more, too") == ["", "not run"]

    def test_the_share_of_the_identity_names_its_outlier(self, tmp_path):
        fits = {(name, "Dir-ODIR"): {"identity_share": 0.99} for name in ("one", "two")}
        fits["bad", "Dir-ODIR"] = {"identity_share": 0.14}
        about = {"bad": {"n_fit": 300}}
        losses = {name: values() for name in ("one", "two", "bad")}
        holds, numbers = ask(make_study(tmp_path, losses, about, fits=fits), "its matrix")
        assert holds == "yes"
        assert "least 0.140 (bad, 300 rows)" in numbers

    def test_reruns_are_counted_one_by_one(self, tmp_path):
        about = {name: {"source": "same", "kind": "replication"} for name in ("r1", "r2")}
        gaps = [["r1", "MS-ODIR", "VecS", -0.5, -0.6, -0.4, 0.1]]
        gaps += [["r2", "MS-ODIR", "VecS", 0.1, -0.1, 0.3, 0.1]]
        losses = {"one": values(), "r1": values(), "r2": values()}
        study = make_study(tmp_path, losses, about, gaps)
        holds, numbers = ask(study, "trained anew")
        assert holds == "no"
        assert "r2 +0.10000 (-0.10000 to +0.30000)" in numbers


def with_matrix(folder, largest):
    """A map whose entry (2, 8) is the largest off the diagonal and takes confusions away."""
    lines = [
        [row, column, float(row == column), 0.1, 20, 20]
        for row in CLASS_NAMES
        for column in CLASS_NAMES
    ]
    lines[28][2], lines[28][5] = largest, 5
    lines[1][5] = 21
    study = make_study(folder, {EXAMPLE: values()})
    columns = ["row", "column", "a", "c", "confusions_before", "confusions_after"]
    study.results.write(matrix_name(OF_EFFECTS), pd.DataFrame(lines, columns=columns))
    return study


class TestInterpretation:
    def test_large_entries_explain_confusions(self, tmp_path):
        study = with_matrix(tmp_path, 0.6)
        assert ask(study, "larger off-diagonal")[0] == "yes"
        holds, numbers = ask(study, "with the largest off-diagonal")
        assert holds == "yes"
        assert numbers == "a = 0.60: bird taken for ship 20 times, then 5"

    def test_tiny_entries_explain_nothing(self, tmp_path):
        study = with_matrix(tmp_path, 0.003)
        for part in ("larger off-diagonal", "with the largest off-diagonal"):
            holds, numbers = ask(study, part)
            assert holds == ""
            assert numbers.startswith("not decidable here: the largest off-diagonal entry is 0.003")


class TestTargets:
    def test_means_are_of_the_same_files(self, tmp_path):
        about = {"with": {"n_classes": 100}, "without": {"n_classes": 100, "logits": 0}}
        losses = {
            "with": {"TempS": 1.0, "Dir-ODIR": 1.1, "MS-ODIR": 0.9, "Bayes": 0.95},
            "without": {"TempS": 3.0, "Dir-ODIR": 3.2, "Bayes": 2.0},
        }
        table = targets(make_study(tmp_path, losses, about)).set_index("target")
        table = table[table.index.str.startswith("k = 100,")]
        assert table["reached"].tolist() == ["yes", "no", "no", "yes"]
        assert (
            table["numbers"].iloc[0]
            == "TempS 1.0000, Dir-ODIR 1.1000, MS-ODIR 0.9000, Bayes 0.9500"
        )
        assert table["numbers"].iloc[2] == "TempS 2.0000, Dir-ODIR 2.1500, Bayes 1.4750"
        assert "all files (2 networks)" in table.index[2]

    def test_what_is_missed_has_a_reason(self, tmp_path):
        about = {name: {"n_classes": 155, "n_fit": 2000} for name in ("one", "two")}
        better, worse = {"TempS": 1.0, "Bayes": 0.9}, {"TempS": 1.0, "Bayes": 0.8}
        losses = {
            "one": {**better, "Dir-ODIR": 1.1, "MS-ODIR": 1.2},
            "two": {**worse, "Dir-ODIR": 0.98, "MS-ODIR": 1.2},
        }
        gaps = [["one", "Dir-ODIR", "TempS", 0.1, 0.05, 0.15, 0.1]]
        gaps += [["two", "Dir-ODIR", "TempS", -0.02, -0.05, 0.01, 0.1]]
        table = targets(make_study(tmp_path, losses, about, gaps))
        assert table["reached"].tolist()[:2] == ["no", "yes"]
        assert table["why"].tolist()[:2] == [
            "Dir-ODIR is above TempS by 0.0400, on 1 of 2 sources; by the paired interval on 1 of "
            "2 networks, below on 0; 2000 rows to fit 24180 entries",
            "",
        ]

    def test_what_is_reached_has_paired_intervals_beside_it(self, tmp_path):
        losses = {name: {"TempS": 1.0, "Dir-ODIR": 0.9, "Bayes": 0.8} for name in ("one", "two")}
        about = {name: {"n_classes": 100, "logits": 0} for name in losses}
        gaps = [["one", "Bayes", "TempS", -0.2, -0.3, -0.1, 0.1]]
        gaps += [["two", "Bayes", "TempS", -0.2, -0.5, 0.1, 0.1]]
        table = targets(make_study(tmp_path, losses, about, gaps))
        told = table["numbers"].iloc[1]
        assert told.endswith(
            "paired interval of Bayes against TempS below zero on 1 of 2, above on 0"
        )

    def test_all_together_and_by_the_number_of_classes(self, tmp_path):
        about = {"a": {"n_classes": 100}, "b": {"n_classes": 200}}
        losses = {k: {"TempS": 1.0, "Dir-ODIR": 0.9, "MS-ODIR": 1.0, "Bayes": 0.9} for k in about}
        table = targets(make_study(tmp_path, losses, about))
        starts = [text.split(",")[0] for text in table["target"][:6:2]]
        assert starts == ["100 to 200 classes", "k = 100", "k = 200"]
        assert set(table["reached"]) == {"yes"}

    def test_with_1000_classes_failures_count(self, tmp_path):
        about = {"large": {"n_classes": 1000}}
        done = dict.fromkeys(METHODS, 1.0)
        table = targets(make_study(tmp_path / "all", {"large": done}, about))
        assert table["reached"].tolist() == ["yes"]
        assert table["numbers"].tolist() == ["1 s (Uncal), at most 100 MB"]
        done.pop("VecS")
        study = make_study(tmp_path / "failed", {"large": done}, about)
        assert targets(study)["why"].tolist() == ["VecS on large: not run"]
        failed = pd.DataFrame({"network": ["large"], "method": ["VecS"], "reason": ["no memory"]})
        study.results.write("failures.csv", failed)
        assert targets(study)["reached"].tolist() == ["no"]
        assert targets(study)["why"].tolist() == ["VecS on large: no memory"]


class TestPrint:
    def test_the_terminal_tells_all_measures(self, tmp_path):
        first = printed("files").iloc[0]
        about = {"renamed": {"sha256": first["sha256"]}}
        study = make_study(tmp_path, {"renamed": values(), "other": values()}, about)
        make_tables(study.results)
        compare(study.results)
        console = Console(file=StringIO(), width=100)
        show_summary(study.results, console)
        told = console.file.getvalue()
        assert "Log-loss beside print" in told
        assert "Other measures beside print" in told
        assert "cw-ECE" in told.split("Other measures beside print")[1]
        assert "compare/printed.csv" in told


def page_of(study):
    """The page, with its spaces and line ends made one."""
    for stage in (make_tables, compare, partial(write_page, examples=[EXAMPLE])):
        stage(study.results)
    return " ".join((study.results.folder / "page.md").read_text().split())


def study_of_all(folder, fits=None, about=None, names=("one", "two", "imdb_cleanlab_cv_half1")):
    losses = {name: {**dict.fromkeys(METHODS, 1.0), "Dir-ODIR": 0.9} for name in names}
    changed = {pair: {"versions": "dircal 0.1.0+abc, numpy 2"} for pair in product(names, METHODS)}
    for pair, more in (fits or {}).items():
        changed[pair] = {**changed[pair], **more}
    return make_study(folder, losses, about, fits=changed)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The page of three networks: one of 100 classes on a smaller grid, and two gaps."""
    every = {pair: {"draws": 200} for pair in product(("one", "two"), METHODS)}
    every["two", "Dir-ODIR"] = {"draws": 200, "grid": "9 x 5"}
    known_of = {"not_converged": 0, "at_infinity": 0}
    for method in METHODS:
        every["one", method] = {**every["one", method], **known_of}
    every["one", "VecS"] |= {"not_converged": 1}
    every["one", "Dir-ODIR"] |= {"at_infinity": 5}
    about = {"two": {"n_classes": 100}}
    study = study_of_all(tmp_path_factory.mktemp("page"), every, about)
    gaps = [["one", "Dir-ODIR", "TempS", -0.1, -0.2, -0.05, 0.1]]
    gaps += [["two", "Dir-ODIR", "TempS", 0.1, 0.05, 0.2, 0.1]]
    columns = ["network", "method", "other", "difference", "low", "high", "moved"]
    study.results.write("differences.csv", pd.DataFrame(gaps, columns=columns))
    return page_of(study)


class TestPage:
    def test_draws_are_those_of_the_fits(self, tmp_path, page):
        assert tell_draws(study_of_all(tmp_path / "none").fits) == "10000"
        assert "p-values come from 200 draws" in page

    def test_grids_are_those_of_the_fits(self, page):
        assert "the paper's whole grids with 10 classes (2 networks); 9 values of lambda" in page
        assert "3 values of lambda" not in page

    def test_convergence_is_told_only_where_it_is_known(self, tmp_path, page):
        assert tell_convergence(study_of_all(tmp_path / "unknown").fits) == []
        fine = {pair: {"not_converged": 0, "at_infinity": 0} for pair in product(("one",), METHODS)}
        told = tell_convergence(study_of_all(tmp_path / "all", fine).fits)
        assert told == ["Every fit has converged."]
        fine["one", "VecS"] = {"not_converged": 0, "at_infinity": 1}
        told = tell_convergence(study_of_all(tmp_path / "beyond", fine).fits)
        assert told[0] == "Every fit that has an optimum has converged."
        assert "Not converged: VecS on 1 (one)." in page
        assert "grow without bound: Dir-ODIR on 1 (one)." in page

    def test_the_papers_networks_are_named_where_there_are_any(self, tmp_path, page):
        absent = ("None of the paper's own networks is among these", "Nothing here can be compared")
        assert all(text in page for text in absent)
        first = printed("files").iloc[0]
        other = page_of(study_of_all(tmp_path, about={"one": {"sha256": first["sha256"]}}))
        assert not any(text in other for text in absent)
        assert f"1 of the paper's 14 networks are among them ({first['network']})" in other
        assert (
            "| S13 | log-loss | TempS | 1.00000 | 0.22509 | +0.77491 | | not explained |" in other
        )

    def test_networks_have_their_notes_and_origins(self, page):
        assert known("imdb_cleanlab_cv_half1").note in page
        assert "| IMDB cleanlab | github.com/cleanlab/label-errors |" in page

    def test_undecided_claims_do_not_wait_for_networks(self, tmp_path):
        page = page_of(with_all_methods(tmp_path))
        assert "2 cannot be decided on what was run" in page

    def test_claims_are_counted_with_their_intervals(self, tmp_path):
        study = with_all_methods(tmp_path)
        page, table = page_of(study), claims(study)
        yes = table[table["holds"] == "yes"]["surely"].value_counts()
        assert f"{yes.sum()} of {(table['holds'] != '').sum()} claims of the text hold" in page
        assert f"in {yes.get('yes', 0)} of these every interval or critical difference" in page

    def test_bayes_given_logits_is_told_to_be_bayes(self, tmp_path):
        losses = {"one": {"Bayes": 0.5, "Bayes-logits": 0.5 + 4e-10}, "two": {"Bayes": 1.0}}
        told = tell_twice(make_study(tmp_path / "both", losses))
        assert told == "no measure of the file with logits differs by more than 1e-09"
        assert tell_twice(make_study(tmp_path / "none", {"two": {"Bayes": 1.0}})) == ""

    def test_zeros_off_the_diagonal_have_differences_with_intervals(self, tmp_path):
        study = with_all_methods(tmp_path)
        columns = ["network", "method", "other", "difference", "low", "high", "moved"]
        gaps = [["two", "MS-ODIR-zero", "MS-ODIR", 0.1, -0.1, 0.3, 0.1]]
        study.results.write("differences.csv", pd.DataFrame(gaps, columns=columns))
        rows = study.rows.query("method == 'MS-ODIR'").assign(method="MS-ODIR-zero")
        study.results.write("rows.csv", pd.concat([study.rows, rows]))
        page = page_of(study)
        losses = "| two | 1.00000 | 1.00000 | 1.00000 |"
        assert f"{losses} | +0.10000 (-0.10000 to +0.30000) |" in page

    def test_the_summary_says_where_it_helps(self, page):
        assert "100 classes or more Dir-ODIR has a lower log-loss than TempS on 1 of 1" in page
        assert "of the methods without logits it gains most" in page
        assert (
            "| 100 classes or more | Dir-ODIR | 1 of 1 sources (21 to 100 %) | +10.00 % |" in page
        )
        assert (
            "below zero on 1 of 2 (most on one, -0.1000, -0.2000 to -0.0500) and above zero on 1 "
            "(most on two, +0.1000, +0.0500 to +0.2000)" in page
        )


def with_all_methods(folder):
    """Networks of all methods and a matrix that explains nothing."""
    names = (EXAMPLE, "two")
    study = study_of_all(folder, names=names)
    columns = ["row", "column", "a", "c", "confusions_before", "confusions_after"]
    lines = [[i, j, float(i == j), 0.1, 20, 20] for i in CLASS_NAMES for j in CLASS_NAMES]
    study.results.write(matrix_name(OF_EFFECTS), pd.DataFrame(lines, columns=columns))
    return study


class TestCatalogue:
    def test_what_is_not_said_to_be_a_network_is_not_ranked(self):
        for name in ("imdb_cleanlab_cv_half1", "20news_cleanlab_cv_half1"):
            assert known(name).kind == "other"

    def test_other_labels_are_another_source(self):
        first, second = known("cifar10n_aggre_swinb"), known("cifar10n_worst_efficientnetb1")
        assert first.source != second.source

    def test_every_source_has_one_origin(self):
        found = {(known(name).source, known(name).origin) for name in catalogued()}
        assert len(found) == len({source for source, _ in found})
        assert all(origin for _, origin in found)

    def test_one_recipe_on_one_test_set_is_one_source(self):
        names = catalogued()
        recipe = {known(name).source for name in names if name.endswith("_chenyaofo")}
        assert recipe == {"CIFAR-10 chenyaofo", "CIFAR-100 chenyaofo"}
        languages = {known(name).source for name in names if name.startswith("nli_")}
        assert languages == {"MNLI", "SNLI"}
        own = [known(name).source for name in names if name.startswith("paper_")]
        assert len(own) == len(set(own)) == 3
