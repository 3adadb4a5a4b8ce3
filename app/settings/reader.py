"""From the text of a `ratchet.toml` to settings, or to everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.settings.entries import Entry, read_section
from app.settings.parsing import parse_document
from app.settings.refusals import Refusals
from app.settings.rules import check_rules
from app.settings.schema import COSTS, GATE, PROJECT, SECTIONS, SUITE, Section, homes_of
from app.settings.values import (
    BUILT_IN_CRONS,
    CostSettings,
    GateSettings,
    ScheduleSettings,
    Settings,
    SuiteSettings,
)
from app.settings.wording import backticked, nearest


def read_settings(text: str, *, name: str = "ratchet.toml") -> Settings:
    """Return what a settings file says, with the defaults of what it leaves out.

    Args:
        text: the file's content; `decode_settings` makes it from bytes.
        name: what messages call the file.

    Raises:
        SettingsError: with every problem of the file, up to fifty, in its order; each with its line, its key,
            what was found and what would be right.
    """
    document = parse_document(text, name)
    refusals = Refusals(name, document.lines)
    draft = _read_sections(document.tree, refusals, SECTIONS)
    check_rules(draft, refusals)
    refusals.raise_if_any()
    return _settings(draft)


def read_costs(text: str, *, name: str) -> CostSettings:
    """Return what a file of costs says: the sections about money of a `ratchet.toml`, and nothing else.

    Args:
        text: the file's content.
        name: what messages call the file.

    Raises:
        SettingsError: as of `read_settings`.
    """
    document = parse_document(text, name)
    refusals = Refusals(name, document.lines)
    draft = _read_sections(document.tree, refusals, COSTS)
    refusals.raise_if_any()
    values = _values(draft)
    return CostSettings(values["prices"], values["traffic"], next(iter(values["power"]), None))


def _read_sections(
    tree: dict[str, Any], refusals: Refusals, sections: Sequence[Section]
) -> dict[str, list[Entry]]:
    misspelt = {meant for name in tree if (meant := _refuse_unknown(name, tree[name], refusals, sections))}
    draft: dict[str, list[Entry]] = {section.name: [] for section in sections}
    for section in sections:
        if section.name in tree:
            draft[section.name] = read_section(section, tree[section.name], refusals)
        if section.example and tree.get(section.name, []) == [] and section.name not in misspelt:
            _refuse_missing(section, is_empty=not tree, refusals=refusals)
    return draft


def _refuse_unknown(name: str, found: object, refusals: Refusals, sections: Sequence[Section]) -> str | None:
    """Refuse a name at the top of a file that is no section's; return the section that was probably meant."""
    by_name = {section.name: section for section in sections}
    if name in by_name:
        return None
    kind = "section" if _is_section(found) else "key"
    meant = nearest(name, by_name)
    homes = homes_of(name)
    if homes and kind == "key":
        hint = f"; it belongs in {homes}"
    elif meant:
        hint = f" — did you mean {by_name[meant].header}?"
    else:
        hint = f"; known sections: {', '.join(section.header for section in sections)}"
    refusals.add((name,), "unknown_key", f"unknown {kind} {backticked(name)}{hint}")
    return meant


def _is_section(found: object) -> bool:
    first = found[0] if isinstance(found, list) and found else found
    return isinstance(first, dict)


def _refuse_missing(section: Section, *, is_empty: bool, refusals: Refusals) -> None:
    if is_empty and section is PROJECT:
        message = f"the file is empty; write {PROJECT.example}, and {SUITE.example}"
        refusals.add((), "missing", message)
    elif not is_empty:
        refusals.add((), "missing", f"there is no {section.header}; write {section.example}")


def _settings(draft: dict[str, list[Entry]]) -> Settings:
    values = _values(draft)
    return Settings(
        project=values["project"][0],
        suites=values["suite"],
        gate=next(iter(values[GATE.name]), GateSettings()),
        metrics=values["metric"],
        budgets=values["budget"],
        schedules=_with_built_in(values["schedule"], values["suite"]),
        owners=values["owners"],
        prices=values["prices"],
        traffic=values["traffic"],
        power=next(iter(values["power"]), None),
    )


def _values(draft: dict[str, list[Entry]]) -> dict[str, tuple[Any, ...]]:
    return {section: tuple(entry.value for entry in entries) for section, entries in draft.items()}


def _with_built_in(
    schedules: tuple[ScheduleSettings, ...], suites: tuple[SuiteSettings, ...]
) -> tuple[ScheduleSettings, ...]:
    """Add the schedules that suites may name without declaring them, where some do."""
    declared = {schedule.name for schedule in schedules}
    named = {name for suite in suites for name in suite.on} - declared
    added = (ScheduleSettings(name, cron) for name, cron in BUILT_IN_CRONS.items() if name in named)
    return (*schedules, *added)
