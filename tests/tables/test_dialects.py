import gzip

import pytest

from dircal.cli.tables import open_table
from dircal.cli.tables._dialect import found_delimiter, plain_number, written_number


@pytest.mark.parametrize(
    ("line", "usual", "found"),
    [
        ("y,a,b", ",", ","),
        ("y;a;b", ",", ";"),
        ("y\ta\tb", ",", "\t"),
        ("y|a|b", ",", "|"),
        ("y,a,b", "\t", ","),
        ("alone", ",", ","),
        # Where the usual one occurs, nothing else is looked for.
        ("y;a;b;c,d", ",", ","),
        # What is quoted separates nothing.
        ('"y,1";"a,2";b', ",", ";"),
    ],
)
def test_the_first_line_tells_what_separates(line, usual, found):
    assert found_delimiter(line, usual) == found


def test_numbers_with_a_decimal_comma():
    assert plain_number("0,25", ",") == 0.25
    assert plain_number("2,5e-3", ",") == 0.0025
    for cell, decimal in [
        ("0.25", ","),
        ("1.000,5", ","),
        ("0,25", "."),
        ("1_000", "."),
        ("", ","),
    ]:
        with pytest.raises(ValueError):  # noqa: PT011
            plain_number(cell, decimal)


@pytest.mark.parametrize(("delimiter", "cell"), [(";", "0,125"), (",", '"0,125"')])
def test_numbers_are_written_as_they_were(delimiter, cell):
    assert written_number(0.125, ",", delimiter) == cell
    assert written_number(0.125, ".", delimiter) == "0.125"


def test_a_spreadsheet_from_a_country_with_decimal_commas(run, tmp_path):
    lines = ["y;ant;bee", "ant;0,9;0,1", "bee;0,2;0,8", "ant;0,4;0,6", "bee;0,3;0,7", ""]
    (tmp_path / "p.csv").write_text("\r\n".join(lines), encoding="utf-16")
    told = run("fit", "p.csv", "--label", "y", "-o", "map.json", code=2).stderr
    assert "--encoding utf-16" in told
    options = ["--encoding", "utf-16"]
    told = run("fit", "p.csv", *options, "--label", "y", "-o", "map.json", code=2).stderr
    assert "line 2, column 'ant' holds '0,9', which is no number. Pass --decimal ," in told
    options += ["--decimal", ","]
    calibrator = ["--calibrator", "temperature"]
    run("fit", "p.csv", *options, *calibrator, "--label", "y", "-o", "map.json")
    run("apply", "map.json", "p.csv", *options, "-o", "out.csv")
    written = (tmp_path / "out.csv").read_text("utf-16")
    assert written.startswith("y;ant;bee\n")
    first = written.splitlines()[1].split(";")
    assert first[0] == "ant"
    assert sum(float(cell.replace(",", ".")) for cell in first[1:]) == pytest.approx(1.0)
    assert "." not in written


def test_an_encoding_of_old(tmp_path):
    path = tmp_path / "p.csv.gz"
    path.write_bytes(gzip.compress("y,naïve,b\nnaïve,0.5,0.5\n".encode("cp1252")))
    with open_table(path, encoding="cp1252") as table:
        assert table.names == ("y", "naïve", "b")
        [chunk] = table.chunks([0])
        assert chunk.values(0).tolist() == ["naïve"]


def test_one_column_asks_for_the_delimiter(run, tmp_path):
    (tmp_path / "p.csv").write_text("y a b\nant 0.9 0.1\n")
    told = run("fit", "p.csv", "--label", "y", "-o", "map.json", code=2).stderr
    assert "Say what separates them: --delimiter." in told
