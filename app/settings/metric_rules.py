"""What holds between `[[metric]]`, `[[budget]]` and the metrics that Ratchet knows by itself.

A file may name metrics that only its benchmarks know, so that a name cannot be refused for being unknown. It is
refused where it is so like a known one that it must be a slip, and where the file says nothing else of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from app.domain.errors import DataError
from app.domain.metrics import METRICS
from app.domain.units import Quantity, format_quantity, parse_quantity, same_dimension
from app.settings.entries import Draft, Entry
from app.settings.refusals import Refusals
from app.settings.wording import nearest, quoted

_LIKENESS_OF_A_SLIP = 0.85
"""How like a known metric's name (0 to 1) an unknown one is, to be taken for it: one letter in six or so."""

_DEFINING = ("unit", "better")
"""Keys that make a `[[metric]]` one of the project's own, whatever its name is like."""

_LIMITS = ("max", "min")
_EXAMPLES = {"s": "50 ms", "B": "2 GiB", "currency": "0.02 EUR", "units/J": "3 samples/J"}
_DIGITS = re.compile(r"[0-9]+")


def _exceptions_are_for_known_metrics(draft: Draft, refusals: Refusals) -> None:
    known = _known(draft)
    for metric in draft["metric"]:
        if not metric.tells("name") or not metric.sets_none_of(*_DEFINING):
            continue
        meant = _meant(metric.value.name, known)
        if meant:
            message = (
                f"`name` in {metric.title}: there is no metric of this name — did you mean {quoted(meant)}? "
                "If it is one of your own, give its `unit` or `better`"
            )
            refusals.add((*metric.path, "name"), "unknown_metric", message)


def _budgets_are_for_known_metrics(draft: Draft, refusals: Refusals) -> None:
    known = _known(draft)
    for budget in draft["budget"]:
        meant = _meant(budget.value.metric, known) if budget.tells("metric") else None
        if meant:
            message = (
                f"`metric` in {budget.title}: there is no metric {quoted(budget.value.metric)} — did you mean "
                f"{quoted(meant)}? If it is one of your own, add a [[metric]] with its `unit` or `better`"
            )
            refusals.add((*budget.path, "metric"), "unknown_metric", message)


def _known(draft: Draft) -> dict[str, str]:
    """Return the unit of every metric that is known: Ratchet's, and those that the file defines."""
    own = [m.value for m in draft["metric"] if m.tells("name") and not m.sets_none_of(*_DEFINING)]
    units = {name: metric.unit for name, metric in METRICS.items()}
    return units | {metric.name: metric.unit or units.get(metric.name, "") for metric in own}


def _meant(name: str, known: Iterable[str]) -> str | None:
    """Return the known metric that an unknown name is a slip of the pen for, if it is one."""
    names = set(known)
    if name in names:
        return None
    return nearest(
        name, sorted(k for k in names if not _differ_in_numbers(name, k)), likeness=_LIKENESS_OF_A_SLIP
    )


def _differ_in_numbers(name: str, other: str) -> bool:
    """Tell whether only numbers tell two names apart: `latency_p95` is no slip for `latency_p99`."""
    return name != other and _DIGITS.sub("0", name) == _DIGITS.sub("0", other)


def _budgets_limit_something(draft: Draft, refusals: Refusals) -> None:
    units = _known(draft)
    defined = {m.value.name for m in draft["metric"] if m.tells("unit") and m.value.unit}
    for budget in draft["budget"]:
        if budget.sets_none_of(*_LIMITS):
            message = f'{budget.title} sets neither `max` nor `min`; write one, such as max = "50 ms"'
            refusals.add(budget.path, "missing", message)
        if budget.tells("metric", *_LIMITS):
            metric = budget.value.metric
            owner = f"[[metric]] {quoted(metric)}" if metric in defined else quoted(metric)
            _check_limits(budget, refusals)
            _check_units(budget, units.get(metric, ""), owner, refusals)


def _check_limits(budget: Entry, refusals: Refusals) -> None:
    most: Quantity | None = budget.value.max
    least: Quantity | None = budget.value.min
    if most is None or least is None:
        return
    if same_dimension(most.unit, least.unit) and most.value >= least.value:
        return
    shown = [format_quantity(limit.value, limit.unit) for limit in (most, least)]
    message = f"{budget.title}: no value is at most {shown[0]} (`max`) and at least {shown[1]} (`min`)"
    refusals.add((*budget.path, "min"), "conflict", message)


def _check_units(budget: Entry, unit: str, owner: str, refusals: Refusals) -> None:
    """Refuse limits in another dimension than `unit`, the unit of `owner`; an empty one is not known."""
    for key in _LIMITS:
        limit: Quantity | None = getattr(budget.value, key)
        if limit and unit and not same_dimension(limit.unit, _unit_of_limits(unit)):
            found = format_quantity(limit.value, limit.unit)
            message = f"`{key}` in {budget.title}: expected {_wanted(unit, owner)}, found {found}"
            refusals.add((*budget.path, key), "conflict", message)


def _wanted(unit: str, owner: str) -> str:
    expressible = _unit_of_limits(unit)
    if expressible == "1":
        counted = "" if unit == "1" else f" of {quoted(unit)}"
        return f"a number without unit such as 0.5, as {owner} is a number{counted}"
    example = _EXAMPLES.get(expressible, f"100 {expressible}")
    return f"a limit in {quoted(unit)}, the unit of {owner}, such as {quoted(example)}"


def _unit_of_limits(unit: str) -> str:
    """Return the unit in which a limit can be written: a plain number where a quantity cannot have `unit`."""
    if unit == "currency":  # any of them: which one, the prices say
        return unit
    try:
        return parse_quantity(f"1 {unit}").unit
    except DataError:
        return "1"


METRIC_RULES = (
    _exceptions_are_for_known_metrics,
    _budgets_are_for_known_metrics,
    _budgets_limit_something,
)
