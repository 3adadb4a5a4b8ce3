"""Results as documents for other programs: one line of JSON, one row of CSV."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")
"""What a spreadsheet takes for the beginning of a formula (OWASP, CSV injection), full-width forms included."""


def json_line(document: Mapping[str, Any]) -> str:
    """Return a document as one line of JSON in ASCII, without blanks; NaN and infinities must be None already."""
    return json.dumps(document, separators=(",", ":"), allow_nan=False) + "\n"


def number(value: float | None) -> float | None:
    """Return a number that JSON has: None for what is missing, NaN or infinite."""
    return float(value) if value is not None and math.isfinite(value) else None


def csv_line(cells: Iterable[object]) -> str:
    """Return a row of CSV; a missing cell is empty, a text that a spreadsheet would run gets an apostrophe."""
    line = io.StringIO()
    # The writer quotes a line break in a cell only if lines end with it, so they end in both here.
    csv.writer(line, lineterminator="\r\n").writerow([_inert(cell) for cell in cells])
    return line.getvalue().removesuffix("\r\n") + "\n"


def _inert(cell: object) -> object:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA_STARTS) else cell
