"""Globs on device classes and on benchmarks."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any


def matching_classes(globs: Iterable[str], classes: Iterable[str]) -> tuple[str, ...]:
    """Return the device classes that at least one glob matches, each once, in the order given.

    Globs are the shell's (`*`, `?`, `[…]`), match the whole name and tell upper from lower case.
    """
    patterns = tuple(globs)
    matched = (name for name in classes if any(fnmatchcase(name, pattern) for pattern in patterns))
    return tuple(dict.fromkeys(matched))


def budget_for(budgets: Iterable[dict[str, Any]], benchmark: str, metric: str) -> dict[str, Any] | None:
    """Return the first of a policy's budgets that limits the metric of the benchmark; None if none does.

    A budget's `benchmark` is a glob like those above; its `max` and `min` are in the metric's base unit, or None.
    """
    return next(
        (b for b in budgets if b["metric"] == metric and fnmatchcase(benchmark, b["benchmark"])), None
    )
