"""Records of a text file: lines, or several of them where a quoted cell goes on over lines."""

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["LONGEST_RECORD", "Record", "RecordReader"]

LONGEST_RECORD = 2**24
"""A record of this many characters is none: a file without line ends, or a quote left open."""
# What may stand between two records, and is copied with the first.
_MOST_EMPTY = 2**20
# A doubled quote is one inside the cell. Nothing is tried twice: that would take memory.
_REST_OF_QUOTED = re.compile('[^"]*+(?:""[^"]*+)*+"')


@dataclass
class Record:
    """Cells as they stand in the file, the line they begin on, their length, and what ends them."""

    line: int
    cells: list[str]
    length: int
    end: str


class RecordReader:
    """Splits text into records, and records into cells."""

    def __init__(self, path: Path, delimiter: str) -> None:
        self._path = path
        self._delimiter = delimiter
        self._starts_quoted = re.compile(f'(?:^|{re.escape(delimiter)})"')

    def records(self, text: io.TextIOWrapper, lines_before: int = 0) -> Iterator[Record]:
        """Records one by one; an empty line belongs to the end of the record before it."""
        waiting: Record | None = None
        empty = io.StringIO(newline="")
        line = lines_before
        while content := text.readline(LONGEST_RECORD):
            line += 1
            first = line
            if '"' in content:
                # A quoted cell may go on over lines.
                parts = io.StringIO(newline="")
                parts.write(content)
                is_open, length = self._is_open(content, False), len(content)
                while is_open:
                    content = text.readline(LONGEST_RECORD)
                    length += len(content)
                    if not content or length >= LONGEST_RECORD:
                        raise ValueError(
                            f"{str(self._path)!r}: the quote that opens on line {first} is never "
                            "closed. Close it, or double quotes inside a quoted cell."
                        )
                    line += 1
                    parts.write(content)
                    is_open = self._is_open(content, True)
                content = parts.getvalue()
            if len(content) >= LONGEST_RECORD:
                raise ValueError(
                    f"{str(self._path)!r}: line {first} has more than {LONGEST_RECORD:,} "
                    "characters; this is no table. Check that it is the right file."
                )
            body = content.rstrip("\r\n")
            end = content[len(body) :]
            if not body and waiting is not None:
                empty.write(end)
                if empty.tell() > _MOST_EMPTY:
                    raise self._too_empty(waiting.line)
                continue
            if waiting is not None:
                waiting.end += empty.getvalue()
                yield waiting
            waiting = Record(first, self._cells(body), len(content), end)
            if empty.tell():
                empty = io.StringIO(newline="")
        if waiting is not None:
            waiting.end += empty.getvalue()
            yield waiting

    def _too_empty(self, line: int) -> ValueError:
        return ValueError(
            f"{str(self._path)!r}: line {line} is followed by more than {_MOST_EMPTY:,} characters "
            "of empty lines; this is no table. Check that it is the right file."
        )

    def _is_open(self, line: str, is_open: bool) -> bool:
        """Whether a quoted cell goes on after this line; it begins with one if ``is_open``."""
        at = 0
        while True:
            if not is_open:
                found = self._starts_quoted.search(line, at)
                if found is None:
                    return False
                at = found.end()
            at = _after_quote(line, at)
            if at == 0:
                return True
            is_open = False

    def _cells(self, body: str) -> list[str]:
        if '"' not in body:
            return body.split(self._delimiter)
        cells: list[str] = []
        at = 0
        while True:
            end = _after_quote(body, at + 1) if body.startswith('"', at) else at
            end = body.find(self._delimiter, end)
            if end < 0:
                return [*cells, body[at:]]
            cells.append(body[at:end])
            at = end + 1


def _after_quote(text: str, at: int) -> int:
    """Where a quoted cell ends, from a place inside it; zero where it does not."""
    found = _REST_OF_QUOTED.match(text, at)
    return 0 if found is None else found.end()
