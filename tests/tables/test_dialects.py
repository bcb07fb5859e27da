"""Delimiters, decimal separators and encodings of text files."""

import csv
import gzip
import io

import numpy as np
import pandas as pd
import pytest

from dircal import IdentityCalibrator, TemperatureScaling, scan
from dircal.tables import TextFile


@pytest.mark.parametrize(
    ("line", "ending", "found"),
    [
        ("y,a,b", "csv", ","),
        ("y;a;b", "csv", ";"),
        ("y\ta\tb", "csv", "\t"),
        ("y|a|b", "csv", "|"),
        ("y,a,b", "tsv", ","),
        ("alone", "csv", ","),
        # If the usual one occurs, no other is looked for.
        ("y;a;b;c,d", "csv", ","),
        # Quoted text separates nothing.
        ('"y,1";"a,2";b', "csv", ";"),
        ("y\ta\tb", "tsv", "\t"),
        ("y\ta\tb", "txt", "\t"),
    ],
)
def test_the_first_line_tells_the_delimiter(tmp_path, line, ending, found):
    path = tmp_path / f"p.{ending}"
    path.write_text(f"{line}\n")
    assert TextFile(path).header[0] == found


@pytest.mark.parametrize(
    ("cell", "decimal", "number"),
    [("0,25", ",", 0.25), ("2,5e-3", ",", 0.0025), ("3", ",", 3.0), ("-1,5", ",", -1.5)],
)
def test_numbers_with_a_decimal_comma(tmp_path, cell, decimal, number):
    path = tmp_path / "p.csv"
    path.write_text(f"a;b\n1;{cell}\n")
    assert TextFile(path, decimal=decimal).read().numbers(["b"]) == [[number]]


@pytest.mark.parametrize(
    ("cell", "decimal"),
    [("0.25", ","), ("1.000,5", ","), ("0,25", "."), ("1_000", "."), ("", ",")],
)
def test_cells_with_another_decimal_separator(tmp_path, cell, decimal):
    path = tmp_path / "p.csv"
    path.write_text(f"a;b\n1;{cell}\n")
    with pytest.raises(ValueError, match="line 2, column 'b'") as error:
        TextFile(path, decimal=decimal).read().numbers(["b"])
    assert ("decimal=','" in str(error.value)) == (cell == "0,25")


ROWS = [["a", "0.5", "é", "0.5"], ["b,;", "0.125", 'x "y"', "0.875"]]


@pytest.mark.parametrize(
    ("options", "encoding", "delimiter"),
    [
        ({}, "utf-8", ","),
        ({"decimal": ","}, "utf-8", ";"),
        ({"decimal": ","}, "utf-8", ","),
        ({"encoding": "latin-1"}, "latin-1", ","),
        ({"encoding": "utf-16"}, "utf-16", ","),
        ({"encoding": "utf-16-le"}, "utf-16-le", ","),
        ({"encoding": "UTF8"}, "utf-8", ","),
        ({"encoding": "utf-8-sig"}, "utf-8-sig", ","),
        ({"delimiter": "|"}, "utf-8", "|"),
        ({"delimiter": " "}, "utf-8", " "),
    ],
)
@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
@pytest.mark.parametrize("adds", [False, True])
def test_files_are_written_in_the_dialect_they_have(
    tmp_path, options, encoding, delimiter, ending, adds
):
    decimal = options.get("decimal", ".")
    rows = [[t, p.replace(".", decimal), u, q.replace(".", decimal)] for t, p, u, q in ROWS]
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter).writerows([["t", "p", "u", "q"], *rows])
    content = text.getvalue().encode(encoding)
    path, target = tmp_path / f"p.{ending}", tmp_path / f"out.{ending}"
    path.write_bytes(gzip.compress(content) if ending.endswith("gz") else content)
    identity = IdentityCalibrator(classes=["p", "q"]).fit(np.eye(2) / 2 + 0.25, ["p", "q"])
    calibrated = identity.predict_proba(scan(path, **options))
    assert calibrated.write(target, suffix="2" if adds else "") == 2
    found = target.read_bytes()
    found = gzip.decompress(found) if ending.endswith("gz") else found
    lines = csv.reader(io.StringIO(found.decode(encoding), newline=""), delimiter=delimiter)
    expected = [["t", "p", "u", "q"], *rows]
    if adds:
        expected = [["t", "p", "u", "q", "p2", "q2"], *([*row, row[1], row[3]] for row in rows)]
    assert list(lines) == expected


def test_a_spreadsheet_from_a_country_with_decimal_commas(tmp_path):
    lines = ["y;ant;bee", "ant;0,9;0,1", "bee;0,2;0,8", "ant;0,4;0,6", "bee;0,3;0,7", ""]
    path = tmp_path / "p.csv"
    path.write_text("\r\n".join(lines), encoding="utf-16")
    with pytest.raises(ValueError, match="encoding: --encoding utf-16 or encoding='utf-16'"):
        scan(path, label="y")
    with pytest.raises(ValueError, match=r"line 2, column 'ant' holds '0,9', .* decimal=','"):
        TemperatureScaling().fit(scan(path, label="y", encoding="utf-16"))
    options = {"encoding": "utf-16", "decimal": ","}
    fitted = TemperatureScaling().fit(scan(path, label="y", **options))
    fitted.predict_proba(scan(path, **options)).write(tmp_path / "out.csv")
    written = (tmp_path / "out.csv").read_text("utf-16")
    assert written.startswith("y;ant;bee\n")
    first = written.splitlines()[1].split(";")
    assert first[0] == "ant"
    assert sum(float(cell.replace(",", ".")) for cell in first[1:]) == pytest.approx(1.0)
    assert "." not in written


def test_an_old_encoding(tmp_path):
    path = tmp_path / "p.csv.gz"
    path.write_bytes(gzip.compress("y,naïve,b\nnaïve,0.5,0.5\nb,1,0\n".encode("cp1252")))
    rows = scan(path, label="y", encoding="cp1252").loaded
    assert rows.labels.tolist() == ["naïve", "b"]
    assert rows.named_scores.names.tolist() == ["b", "naïve"]


def test_text_in_another_encoding_is_named(tmp_path):
    path = tmp_path / "p.csv"
    path.write_bytes(b"y,a,b\n" + b"a,1,0\n" * 300_000 + b"\x81,1,0\n")
    with pytest.raises(ValueError, match=r"p.csv' is not text in CP1252 \(byte 0x81\)"):
        TemperatureScaling().fit(scan(path, label="y", encoding="cp1252"))


def test_one_column_leads_to_the_delimiter(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("y a b\nant 0.9 0.1\n")
    with pytest.raises(ValueError, match=r"no column called 'y'.* separates them: `delimiter`"):
        scan(path, label="y")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delimiter": ""}, "`delimiter` must be one character"),
        ({"delimiter": ",,"}, "`delimiter` must be one character"),
        ({"delimiter": '"'}, "`delimiter` must be one character"),
        ({"delimiter": "\n"}, "`delimiter` must be one character"),
        ({"delimiter": "§"}, "`delimiter` must be one character of ASCII"),
        ({"decimal": "'"}, "`decimal` must be one of '.', ','"),
        ({"encoding": "no-such"}, "`encoding` 'no-such' is not known"),
        ({"encoding": "base64"}, "`encoding` 'base64' is not known"),
    ],
)
def test_options_that_are_invalid(tmp_path, options, message):
    path = tmp_path / "p.csv"
    path.write_text("y,a,b\na,1,0\n")
    with pytest.raises(ValueError, match=message):
        scan(path, label="y", **options)


@pytest.mark.parametrize(
    ("option", "value"), [("delimiter", ";"), ("decimal", ","), ("encoding", "cp1252")]
)
@pytest.mark.parametrize("kind", ["npy", "parquet", "frame"])
def test_options_of_text_are_for_text(tmp_path, kind, option, value):
    source = pd.DataFrame({"y": [0, 1], "0": [0.5, 0.5], "1": [0.5, 0.5]})
    path = tmp_path / f"p.{kind}"
    if kind == "npy":
        np.save(path, source[["0", "1"]])
    else:
        source.to_parquet(path)
    where = "`source`" if kind == "frame" else r"'.*p\.\w+'"
    with pytest.raises(ValueError, match=rf"`{option}` is '{value}', but {where} is not a text"):
        scan(source if kind == "frame" else path, **{option: value})
