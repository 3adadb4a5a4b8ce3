"""What a comparison of base and head says of one benchmark: plain values."""

from __future__ import annotations

from dataclasses import dataclass

from app.domain.verdicts import Verdict

TOO_FEW = "too few values"
BASE_IS_ZERO = "base is around 0"
TOO_LARGE = "ratio too large"
"""Why there is no change to show."""


@dataclass(frozen=True, eq=False)
class BenchmarkValues:
    """The values of one benchmark: `base` and `head` as (block, value) in the order of the file.

    A block names a pair of both sides that were measured next to each other; None where that is not known.
    """

    benchmark: str
    base: tuple[tuple[str | None, float], ...]
    head: tuple[tuple[str | None, float], ...]


@dataclass(frozen=True)
class Comparison:
    """One benchmark of a check.

    `change` is head/base − 1 (of values that are not all positive, the difference as a share of the size of base's
    middle) and `ci_low` to `ci_high` its 95 % interval; None where there is none, and `note` says why. `p_value` is
    two-sided, against "no change"; `q_value` is one-sided, in the direction that the values point to and beyond the
    minimum effect, after control of the false-discovery rate over all benchmarks of the call. `verdict` is
    `regressed`, `improved`, `no_regression` or `inconclusive`.
    """

    benchmark: str
    change: float | None
    ci_low: float | None
    ci_high: float | None
    p_value: float
    q_value: float
    verdict: Verdict
    n_base: int
    n_head: int
    note: str = ""
