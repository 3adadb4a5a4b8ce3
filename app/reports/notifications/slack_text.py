"""A message for Slack: one text in its mrkdwn, in which other people's words have no effect.

Slack has three characters of its own, `&`, `<` and `>`: with them escaped there is no link and no mention. Programs
like it read `@channel` in plain words, so what follows an `@` is kept apart from it.
"""

from __future__ import annotations

import json
import re

from app.domain.notifications import AlertItem, MachineItem, Message, MessageKind, What
from app.reports.machine_words import status_words as machine_status
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
from app.reports.text import plain, plain_lines, shorten

LONGEST = 3_500
"""Characters of a text; Slack cuts one at 4 000."""

_BREAK = "\u200b"
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_MARKUP = {"*": "∗", "~": "∼", "`": "ˋ"}  # look-alikes: mrkdwn has no escape
_AT_AN_END = re.compile(r"(?<![^\W_])_|_(?![^\W_])")
"""An underscore that can begin or end italics: those within `latency_p50` stay, so that names can be copied."""


def slack_body(message: Message, *, told_first: str = "") -> bytes:
    """Return the JSON that an incoming webhook takes.

    Args:
        message: what is told.
        told_first: when the alert or incident was told of first (`14:02 UTC`); a message that is sent cannot be edited.
    """
    text = shorten_lines(_text(message, told_first))
    return json.dumps({"text": text, "unfurl_links": False}, ensure_ascii=False).encode()


def shorten_lines(text: str) -> str:
    """Return the lines that fit: half a link would be none."""
    kept: list[str] = []
    room = LONGEST
    for line in text.split("\n"):
        room -= len(line) + 1
        if room < 0:
            return "\n".join([*kept, "…"])
        kept.append(line)
    return "\n".join(kept)


def words(text: str) -> str:
    """Return somebody's words as they read, on one line, without any effect."""
    line = "".join(_MARKUP.get(char, char) for char in _AT_AN_END.sub("ˍ", plain(text)))
    escaped = "".join(_ENTITIES.get(char, char) for char in line)
    return escaped.replace("@", f"@{_BREAK}").replace("://", f":{_BREAK}//")


def _link(url: str, text: str) -> str:
    return f"<{url.replace('|', '%7C').replace('>', '%3E').replace('<', '%3C')}|{words(text)}>"


def _text(message: Message, told_first: str) -> str:
    if message.kind in (MessageKind.REPORT, MessageKind.TEST):
        lines = [words(line) for line in plain_lines(message.text)]
        return "\n".join([f"*{_link(message.url, message.title)}*", *lines])
    if told_first and len(message.items) == 1:
        return _update(message.items[0], message, told_first)
    if told_first and len(message.machines) == 1:
        return _machine_update(message.machines[0], message, told_first)
    head = [f"*{_link(message.url, message.title)}*"]
    head += [period_words(message)] if message.since else []
    body = [line for section in sections(message) for line in _section(section)]
    body += [line for section in machine_sections(message) for line in _machines(section)]
    left = left_out_words(message)
    return "\n".join([*head, *body, *([_link(message.url, left)] if left else [])])


def _update(item: AlertItem, message: Message, told_first: str) -> str:
    """Return a short second message that names the first."""
    name = _link(item.url, f"alert {item.alert}")
    because = f" {words(settled_words(item))}" if item.what is What.SETTLED else ""
    return (
        f"*{words(status_words(item))}*: {name} of {words(shorten(message.project, 60))}, told at {told_first}"
        f"{because}\n{words(shorten(item.sentence, 300))}"
    )


def _section(section: Section) -> list[str]:
    ages = section.ages()
    head = [f"*{section.title}*"] if section.title else []
    return head + [line for item in section.items for line in _item(item, section, ages[item.alert])]


def _item(item: AlertItem, section: Section, age: str) -> list[str]:
    if not section.title:
        told = [words(" · ".join(facts_of(item, age)))]
        told += [words(settled_words(item))] if item.what is What.SETTLED else []
        return told + ([_link(item.pull_url, f"Pull request {item.pull}")] if item.pull_url else [])
    because = f" · {settled_words(item)}" if item.what is What.SETTLED else ""
    about = shorten(" · ".join(facts_of(item, age)) + because, 300)
    return [f"• {_link(item.url, shorten(item.sentence, 160))} {words(about)}"]


def _machine_update(item: MachineItem, message: Message, told_first: str) -> str:
    status = words(machine_status(item.what, item.kind, item.ended_by))
    name = _link(item.url, item.name)
    told = words(shorten(item.sentence, 300))
    return f"*{status}*: {name}, of {words(shorten(message.project, 60))}, told at {told_first}\n{told}"


def _machines(section: MachineSection) -> list[str]:
    head = [f"*{section.title}*"] if section.title else []
    return head + [line for item in section.items for line in _machine(item, section)]


def _machine(item: MachineItem, section: MachineSection) -> list[str]:
    if not section.title:
        return [words(text) for text in (section.facts(item), *section.follows(item))]
    return [f"• {_link(item.url, shorten(item.sentence, 200))} {words(section.facts(item))}"]
