"""What is marked in a history beside its points, in words: machines that arrive, void values, runs without a point."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from app.domain.units import format_quantity
from app.domain.verdicts import Verdict
from app.reports.text import plain
from app.reports.words import VERDICTS, count, explain

_FAILURES = {verdict.value: VERDICTS[verdict].name for verdict in (Verdict.HEAD_FAILS, Verdict.BASE_FAILS)}
"""Verdicts that say more than that there is no point."""

_FACTS = 3
"""Facts of a machine that are told in a sentence."""

Fact = tuple[str, str | None, str | None]
"""A fact's name, and what it was and became."""


def reason_words(code: str | None) -> str:
    """Return a reason as it stands within a sentence."""
    told = explain(code)
    words = plain(told.replace("_", " ") if told.isidentifier() else told)
    return f"{words[:1].lower()}{words[1:]}"


def epoch_words(facts: Sequence[Fact], *, is_back: bool) -> str:
    """Return what changed about the machine: `Another machine: driver 550.54 → 560.28`."""
    told = [plain(f"{name} {before} → {after}") for name, before, after in facts[:_FACTS]]
    more = len(facts) - len(told)
    words = ", ".join([*told, *([f"{more} more"] if more else [])])
    return f"{'A machine of before is back' if is_back else 'Another machine'}: {words}"


def void_words(n_void: int, n_values: int, reasons: Iterable[str] | None) -> str:
    """Return how many of a point's values do not count, and why."""
    why = "; ".join(map(reason_words, reasons or ()))
    told = f"{n_void} of {count(n_values, 'value')} void"
    return f"{told}: {why}" if why else told


def failed_words(verdict: str | None, reason: str | None) -> str:
    """Return why a run brought no point."""
    told = ": ".join(part for part in (_FAILURES.get(verdict or "", ""), reason_words(reason)) if part)
    return f"{told[:1].upper()}{told[1:]}" or "No value of it counts"


def budget_words(limit: float, unit: str, *, is_minimum: bool) -> str:
    """Return a limit in words."""
    return f"budget: at {'least' if is_minimum else 'most'} {format_quantity(limit, unit)}"
