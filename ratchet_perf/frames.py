"""Records as pandas frames, where pandas is installed; a column for each field, what is inside a field flattened."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

Record_co = TypeVar("Record_co", covariant=True)


class Records(tuple[Record_co, ...]):
    """Some records in order; `more` says that there are others, which a limit has cut off."""

    more: bool

    def __new__(cls, records: Iterable[Record_co] = (), *, more: bool = False) -> Records[Record_co]:
        """Return the records."""
        made = super().__new__(cls, records)
        made.more = more
        return made

    def to_frame(self) -> Any:
        """Return them as a pandas frame."""
        return to_frame(self)


def to_frame(records: Iterable[Any]) -> Any:
    """Return records of one kind as a pandas frame, a row each.

    What a record holds becomes columns of its own: those of its series by their names, with `series` for its id, and of
    anything else with the field's name before them, such as `base_median`. Parameters and values stay what they are.

    Raises ModuleNotFoundError where pandas is not installed.
    """
    try:
        import pandas
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("frames need pandas: pip install pandas", name=error.name) from None
    return pandas.DataFrame([dict(_cells(record)) for record in records])


def _cells(record: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for one in fields(record):
        value = getattr(record, one.name)
        if not is_dataclass(value):
            yield f"{prefix}{one.name}", value
        elif one.name == "series":
            yield from (("series" if name == "id" else name, cell) for name, cell in _cells(value))
        else:
            yield from _cells(value, f"{prefix}{one.name}_")
