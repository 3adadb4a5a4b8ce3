"""Numbers in CSV fields: a column at once, and one field with what is wrong with it.

Stricter than Python's own conversions, which also take `1_000`, digits of other scripts and `nan`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from app.formats.csv_columns import BadChunkError
from app.formats.problems import shown

_INTEGER = re.compile(r"\s*[+-]?[0-9]+\s*", re.ASCII)
_INT64 = np.iinfo(np.int64)


def number_column(fields: Sequence[str]) -> NDArray[np.float64]:
    """Return a column of finite numbers. Raises BadChunkError where one is none."""
    _refuse_odd_digits(fields)
    try:
        numbers = np.fromiter(map(float, fields), np.float64, len(fields))
    except ValueError as error:
        raise BadChunkError from error
    if not np.isfinite(numbers).all():
        raise BadChunkError
    return numbers


def integer_column(fields: Sequence[str]) -> NDArray[np.int64]:
    """Return a column of integers. Raises BadChunkError where one is none or does not fit into 64 bits."""
    _refuse_odd_digits(fields)
    try:
        return np.fromiter(map(int, fields), np.int64, len(fields))
    except (ValueError, OverflowError) as error:
        raise BadChunkError from error


def number_fault(column: str, field: str) -> str:
    """Return what is wrong with a field that `number_column` does not take, or nothing."""
    if not field.strip():
        return f"{column} is empty; write a number, or leave the row out"
    try:
        number_column([field])
    except BadChunkError:
        return f"{column} is {shown(field)}; write a finite number such as 12.5"
    return ""


def integer_fault(column: str, field: str) -> str:
    """Return what is wrong with a field that `integer_column` does not take, or nothing."""
    if not field.strip():
        return f"{column} is empty; write an integer"
    if not _INTEGER.fullmatch(field):
        return f"{column} is {shown(field)}; write an integer such as 12"
    try:
        integer_column([field])
    except BadChunkError:
        return f"{column} is {shown(field)}; write an integer from {_INT64.min} to {_INT64.max}"
    return ""


def _refuse_odd_digits(fields: Sequence[str]) -> None:
    joined = "".join(fields)
    if "_" in joined or not joined.isascii():
        raise BadChunkError
