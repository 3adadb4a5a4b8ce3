"""What one document may hold of what a run measured: so many results, so many values, and each case once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from statistics import median

from app.formats.imported.model import ImportedResult
from app.formats.results_payload import MAX_RESULTS, MAX_VALUES
from workers.protocol import params_key

MOST_RESULTS, MOST_VALUES = MAX_RESULTS // 5, MAX_VALUES // 4
"""Of one document, so that even with the longest names it is no larger than a body may be."""

SUMMARISED = f"with more than {MAX_VALUES} values: their median between the extremes stands for them"


def is_too_large(one: ImportedResult) -> bool:
    """Tell whether no document takes all its values."""
    return len(one.values) > MAX_VALUES


def summarised(one: ImportedResult) -> ImportedResult:
    """Return the result with the median of its values, between the smallest and the largest of them."""
    return replace(one, values=(median(one.values),), low=min(one.values), high=max(one.values))


def portions(
    results: Iterable[ImportedResult], most: int, most_values: int
) -> Iterator[list[ImportedResult]]:
    """Yield the results in portions of at most so many results and values, none with a metric of a case twice.

    A result with more values than that stands alone.
    """
    left = list(results)
    while left:
        part: list[ImportedResult] = []
        rest: list[ImportedResult] = []
        seen, n_values = set(), 0
        for one in left:
            key = one.benchmark, params_key(one.params), one.metric
            fits = len(part) < most and (not part or n_values + len(one.values) <= most_values)
            if key in seen or not fits:
                rest.append(one)
            else:
                part.append(one)
                seen.add(key)
                n_values += len(one.values)
        yield part
        left = rest
