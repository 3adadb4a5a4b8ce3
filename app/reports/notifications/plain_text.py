"""A message as plain text: the body of a mail, and what a terminal shows."""

from __future__ import annotations

from app.domain.notifications import AlertItem, MachineItem, Message, MessageKind, What
from app.reports.notifications.sections import (
    MachineSection,
    Section,
    facts_of,
    left_out_words,
    machine_sections,
    period_words,
    sections,
)
from app.reports.notifications.titles import settled_words, status_words
from app.reports.text import plain, plain_lines

NOTHING = "Nothing happened, and nothing is open."


def message_text(message: Message) -> str:
    """Return the message in lines."""
    if message.kind in (MessageKind.REPORT, MessageKind.TEST):
        return "\n".join([plain(message.title), "", *plain_lines(message.text), "", message.url, ""])
    parts = [plain(message.title), *([period_words(message)] if message.since else []), ""]
    for section in sections(message):
        parts += _section(section)
    for machines in machine_sections(message):
        parts += _machines(machines)
    if not message.items and not message.machines:
        parts += [NOTHING, ""]
    if left := left_out_words(message):
        parts += [left, ""]
    return "\n".join([*parts, _where(message), ""])


def _where(message: Message) -> str:
    """Return where all of it is; a single one has its own address."""
    if len(message.items) + len(message.machines) == 1 and message.kind is not MessageKind.DIGEST:
        return message.url
    return f"{'All workers' if message.kind is MessageKind.MACHINES else 'All alerts'}: {message.url}"


def _section(section: Section) -> list[str]:
    ages = section.ages()
    head = [f"{section.title}:", ""] if section.title else []
    return [*head, *(line for item in section.items for line in (*_item(item, ages[item.alert]), ""))]


def _item(item: AlertItem, age: str) -> list[str]:
    lines = [f"{status_words(item)}: {plain(item.sentence)}", f"  {' · '.join(facts_of(item, age))}"]
    if item.what is What.SETTLED:
        lines.append(f"  {settled_words(item)}")
    return [*lines, f"  {item.url}"]


def _machines(section: MachineSection) -> list[str]:
    head = [f"{section.title}:", ""] if section.title else []
    return [*head, *(line for item in section.items for line in (*_machine(item, section), ""))]


def _machine(item: MachineItem, section: MachineSection) -> list[str]:
    told = [section.said(item), f"  {section.facts(item)}"]
    return [*told, *(f"  {text}" for text in section.follows(item)), f"  {item.url}"]
