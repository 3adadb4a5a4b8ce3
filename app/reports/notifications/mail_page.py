"""A message as the HTML of a mail: tables and styles on each element, which is what mail programs read."""

from __future__ import annotations

from app.domain.notifications import Message, MessageKind
from app.reports.html import report_environment
from app.reports.notifications.plain_text import NOTHING
from app.reports.notifications.sections import (
    facts_of,
    left_out_words,
    machine_sections,
    period_words,
    sections,
)
from app.reports.notifications.titles import settled_words, status_words
from app.reports.text import plain, plain_lines


def mail_page(message: Message) -> str:
    """Return the page."""
    parts = sections(message) if message.kind in (MessageKind.ALERTS, MessageKind.DIGEST) else []
    template = report_environment().get_template("mail.html")
    return template.render(
        message=message,
        title=plain(message.title),
        period=period_words(message) if message.since else "",
        lines=plain_lines(message.text),
        parts=[(part, part.ages()) for part in parts],
        machine_parts=machine_sections(message),
        is_empty=message.kind is MessageKind.DIGEST and not message.items and not message.machines,
        nothing=NOTHING,
        left_out=left_out_words(message),
        facts_of=facts_of,
        status_words=status_words,
        settled_words=settled_words,
        plain=plain,
    )
