"""How the databases differ: literals, names, types, and what keeps an expression from growing."""

from dataclasses import dataclass

import numpy as np

__all__ = ["DIALECTS", "Dialect"]


@dataclass(frozen=True)
class Dialect:
    """One way of writing SQL.

    ``literal`` and ``infinity`` are patterns of numbers in double precision; ``quoted`` is one of
    names, with ``escapes`` for what may not stand in them as it is. ``whole_row`` makes one value
    of a row of the table, and ``all_fields`` gives its columns back. ``common_table`` and ``fence``
    stand before and at the end of each part of the query. Names have up to ``longest_name`` bytes.
    ``refuses_underflow`` is for databases that raise an error where a product or an exponential
    rounds to zero; ``scalar_product`` is one of a list ``x`` and numbers ``y``, where it is fast.
    """

    number_type: str
    literal: str
    infinity: str
    quoted: str = '"{}"'
    escapes: tuple[tuple[str, str], ...] = (('"', '""'),)
    whole_row: str = "{}"
    all_fields: str = "{}.*"
    common_table: str = "AS"
    fence: str = ""
    longest_name: int | None = None
    refuses_underflow: bool = False
    scalar_product: str | None = None

    def number(self, value: float) -> str:
        """A literal that is read as exactly this number, in double precision."""
        if np.isinf(value):
            return self.infinity.format("-" if value < 0 else "")
        text = repr(float(value))
        # Without an exponent some take it for a decimal number.
        text = self.literal.format(text if "e" in text else f"{text}e0")
        return f"({text})" if text.startswith("-") else text

    def name(self, text: str) -> str:
        """A quoted identifier."""
        for character, escaped in self.escapes:
            text = text.replace(character, escaped)
        return self.quoted.format(text)


DIALECTS = {
    "duckdb": Dialect(
        "DOUBLE",
        "{}",
        "CAST('{}inf' AS DOUBLE)",
        common_table="AS NOT MATERIALIZED",
        scalar_product="list_dot_product({x}, [{y}])",
    ),
    # OFFSET 0 keeps the planner from writing the columns of one part into the next, once for each
    # time that they are used.
    "postgres": Dialect(
        "double precision",
        "'{}'::float8",
        "'{}Infinity'::float8",
        all_fields="({}).*",
        common_table="AS NOT MATERIALIZED",
        fence="\n    OFFSET 0",
        longest_name=63,
        refuses_underflow=True,
    ),
    "spark": Dialect(
        "DOUBLE",
        "{}D",
        "CAST('{}Infinity' AS DOUBLE)",
        quoted="`{}`",
        escapes=(("`", "``"),),
        whole_row="struct({}.*)",
    ),
    "bigquery": Dialect(
        "FLOAT64",
        "{}",
        "CAST('{}inf' AS FLOAT64)",
        quoted="`{}`",
        escapes=(("\\", "\\\\"), ("`", "\\`"), ("\n", "\\n"), ("\r", "\\r")),
    ),
}
