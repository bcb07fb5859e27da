"""Where numbers come from."""

from dircal.inference import tell_sources


def test_nothing_is_said_where_all_is_drawn():
    assert tell_sources(10, []) == ""
    assert tell_sources(10, [("the score test", "draws")]) == ""


def test_each_is_told_once_with_its_source():
    found = [("b", "draws"), ("a", "moments"), ("a", "moments"), ("c", "multipliers")]
    assert tell_sources(200_000, found) == (
        "With 200,000 rows these come from moments of sums over rows: a; "
        "from rows with random signs: c; from draws: b."
    )
