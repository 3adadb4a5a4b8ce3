"""Rows of what `xpu-smi` prints: of its tables with two columns, and of its CSV."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence

ROW = re.compile(r"^[ \t]*\|([^|\n]*)\|([^|\n]*)\|[ \t]*\r?$", re.MULTILINE)


def csv_rows(text: str, columns: Sequence[str]) -> Iterator[dict[str, str]]:
    """Yield whole rows; where the text ends within the last one's last cell, that cell may have been cut."""
    lines = text.splitlines()
    for number, cells in enumerate(csv.reader(lines, skipinitialspace=True), start=1):
        if len(cells) != len(columns) or cells[0].strip() == columns[0]:
            continue
        row = dict(zip(columns, (cell.strip() for cell in cells), strict=True))
        if number == len(lines) and not text.endswith("\n"):
            row[columns[-1]] = ""
        yield row
