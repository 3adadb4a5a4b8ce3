"""What holds between the keys of a settings file: each rule looks at all of it, and refuses what contradicts.

A rule passes over values that have been refused already, so that one mistake is reported once. The rules about
metrics and budgets are in `metric_rules.py`.
"""

from __future__ import annotations

from collections.abc import Iterable

from app.settings.entries import Draft, Entry
from app.settings.metric_rules import METRIC_RULES
from app.settings.refusals import Refusals
from app.settings.schema import METRIC, SCHEDULE, SUITE
from app.settings.values import BUILT_IN_CRONS, EVENTS, GateSettings, Thresholds, override_thresholds
from app.settings.wording import nearest, quoted

_MEANS = ("benchmarks", "command")
_COMMAND_KEYS = ("output", "format")


def check_rules(draft: Draft, refusals: Refusals) -> None:
    """Hold a whole file against every rule; what is wrong goes to `refusals`."""
    for rule in _RULES:
        rule(draft, refusals)


def _suites_measure_one_thing(draft: Draft, refusals: Refusals) -> None:
    for suite in draft["suite"]:
        if suite.sets_none_of(*_MEANS):
            message = (
                f"{suite.title} has neither `benchmarks` (files that the harness measures) "
                "nor `command` (a program that measures by itself); write one of them"
            )
            refusals.add(suite.path, "missing", message)
        if suite.given.issuperset(_MEANS):
            lines = (f"`{key}` (line {refusals.line((*suite.path, key))})" for key in _MEANS)
            message = f"{suite.title} has {' and '.join(lines)}; keep one of them"
            refusals.add((*suite.path, "command"), "conflict", message)


def _commands_alone_have_output(draft: Draft, refusals: Refusals) -> None:
    for suite in draft["suite"]:
        if "benchmarks" not in suite.given or not suite.sets_none_of("command"):
            continue
        for key in _COMMAND_KEYS:
            if key in suite.given:
                message = f"`{key}` in {suite.title} is for a `command`, but the suite has `benchmarks`"
                refusals.add((*suite.path, key), "conflict", message)


def _environment_holds_no_keys(draft: Draft, refusals: Refusals) -> None:
    """Refuse keys of the suite below `[suite.env]`, where TOML makes them environment variables."""
    suite_keys = {key.name for key in SUITE.keys}
    for suite in draft["suite"]:
        if not suite.tells("env"):
            continue
        for name in suite_keys.intersection(suite.value.env):
            message = (
                f"`{name}` below [suite.env] of {suite.title} is an environment variable; "
                f"move it above [suite.env] to set the suite's `{name}`"
            )
            refusals.add((*suite.path, "env", name), "conflict", message)


def _names_are_unique(draft: Draft, refusals: Refusals) -> None:
    for section in (SUITE, METRIC, SCHEDULE):
        first: dict[str, Entry] = {}
        for entry in (e for e in draft[section.name] if e.tells("name")):
            name = entry.value.name
            earlier = first.setdefault(name, entry)
            if earlier is not entry:
                lines = [refusals.line((*e.path, "name")) for e in (earlier, entry)]
                message = (
                    f"two {section.header} are named {quoted(name)}, in lines {lines[0]} and {lines[1]}; "
                    "give each its own name"
                )
                refusals.add((*entry.path, "name"), "duplicate", message)


def _triggers_exist(draft: Draft, refusals: Refusals) -> None:
    if not all(schedule.tells("name") for schedule in draft["schedule"]):
        return
    known = dict.fromkeys(
        (*EVENTS, *BUILT_IN_CRONS, *(schedule.value.name for schedule in draft["schedule"]))
    )
    for suite in (s for s in draft["suite"] if s.tells("on")):
        for index, trigger in enumerate(suite.value.on):
            if trigger not in known:
                message = f"`on[{index}]` in {suite.title}: {_unknown_trigger(trigger, known)}"
                refusals.add((*suite.path, "on", index), "bad_value", message)


def _unknown_trigger(trigger: str, known: Iterable[str]) -> str:
    near = nearest(trigger, known)
    if near:
        return f"there is no trigger {quoted(trigger)} — did you mean {quoted(near)}?"
    names = ", ".join(quoted(name) for name in known)
    return (
        f"there is no trigger {quoted(trigger)}; known: {names}; any other needs a [[schedule]] of its name"
    )


def _schedules_take_no_event_name(draft: Draft, refusals: Refusals) -> None:
    for schedule in draft["schedule"]:
        if schedule.tells("name") and schedule.value.name in EVENTS:
            message = f"{schedule.title} has the name of an event that starts suites; give it another"
            refusals.add((*schedule.path, "name"), "conflict", message)


def _tolerance_is_above_minimum_effect(draft: Draft, refusals: Refusals) -> None:
    keys = ("minimum_effect", "tolerance")
    gates = draft["gate"]
    if any(not gate.tells(*keys) for gate in gates):
        return
    gate = gates[0].value if gates else GateSettings()
    for entry in gates:
        _check_thresholds(entry, gate.thresholds, refusals)
    for metric in draft["metric"]:
        if metric.tells(*keys) and metric.given.intersection(keys):
            _check_thresholds(metric, override_thresholds(gate, metric.value), refusals)


def _check_thresholds(entry: Entry, thresholds: Thresholds, refusals: Refusals) -> None:
    if thresholds.tolerance > thresholds.minimum_effect:
        return
    written = "tolerance" if "tolerance" in entry.given else "minimum_effect"
    tolerance = _stated(entry, "tolerance", thresholds.tolerance)
    minimum = _stated(entry, "minimum_effect", thresholds.minimum_effect)
    message = f"{entry.title}: `tolerance` ({tolerance}) must be larger than `minimum_effect` ({minimum})"
    refusals.add((*entry.path, written), "conflict", message)


def _stated(entry: Entry, key: str, fraction: float) -> str:
    inherited = "the default" if entry.path == ("gate",) else "the gate's"
    return f"{fraction * 100:g}%" + ("" if key in entry.given else f", {inherited}")


_RULES = (
    _suites_measure_one_thing,
    _commands_alone_have_output,
    _environment_holds_no_keys,
    _names_are_unique,
    _triggers_exist,
    _schedules_take_no_event_name,
    _tolerance_is_above_minimum_effect,
    *METRIC_RULES,
)
