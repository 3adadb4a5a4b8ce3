"""How lines are logged, by the service and by agents: one JSON object each, or text for a terminal.

What a line is about (a request, a job, a run, a task) is bound where the work comes in and cleared when it leaves;
every line that is logged meanwhile says it. Secrets are struck out of each line as it is written, whoever logged it.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from datetime import UTC, datetime
from typing import TextIO

VARIABLE = "RATCHET_LOG_FORMAT"
FORMS = ("json", "text")

Bound = dict[str, object]

_bound: ContextVar[Bound | None] = ContextVar("bound", default=None)

STRUCK = "[redacted]"

SECRETS = (
    (re.compile(r"(?i)\b(bearer\s+)[A-Za-z0-9._~+/=-]{8,}"), rf"\1{STRUCK}"),
    (re.compile(r"(?i)\b(authorization\W{1,5}(?:basic|token)\s+)[A-Za-z0-9._~+/=-]+"), rf"\1{STRUCK}"),
    # A token of ours, or of anybody who makes them so: what it begins with tells which one it is.
    (re.compile(r"\b([A-Za-z]\w{1,15}_[A-Za-z0-9]{4,32})_[A-Za-z0-9]{24,}"), rf"\1_{STRUCK}"),
    (re.compile(r"\b(gh[a-z])_[A-Za-z0-9]{20,}"), rf"\1_{STRUCK}"),
    (re.compile(r"(\w://[^/\s:@]*):[^/\s@]+@"), rf"\1:{STRUCK}@"),
)
"""What is a secret by its form, and what stands in its place."""


def begin(**ids: object) -> Token[Bound | None]:
    """Bind what the lines from here on are about; `end` takes what is returned.

    The work may go on in threads that it waits for: `bind` in one of them is seen by all.
    """
    return _bound.set(dict(ids))


def end(token: Token[Bound | None]) -> None:
    """Have lines be about what they were before."""
    _bound.reset(token)


def bind(**ids: object) -> None:
    """Add to what the lines are about, until the end of what was begun; nothing happens where nothing was."""
    bound = _bound.get()
    if bound is not None:
        bound.update(ids)


@contextmanager
def about(**ids: object) -> Iterator[None]:
    """Have the lines of a block be about this, too."""
    token = begin(**(_bound.get() or {}), **ids)
    try:
        yield
    finally:
        end(token)


def redacted(line: str) -> str:
    """Return the line without what looks like a secret."""
    for form, place in SECRETS:
        line = form.sub(place, line)
    return line


class _Bound(logging.Filter):
    """Notes with each record what it is about, as it is made: another thread may write it."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.bound = dict(_bound.get() or {})
        return True


class JsonForm(logging.Formatter):
    """A record as one JSON object: `time`, `level`, `logger`, `message`, what it is about, and `exception`."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        told: dict[str, object] = {
            "time": at.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": redacted(record.getMessage()),
        }
        told |= {name: _plain(value) for name, value in getattr(record, "bound", {}).items()}
        if record.exc_info and record.exc_info[0] is not None:
            told["exception"] = redacted("".join(traceback.format_exception(*record.exc_info)).rstrip())
        return json.dumps(told)  # in ASCII, so that nothing in it ends a line


def _plain(value: object) -> object:
    return value if isinstance(value, int | float) else redacted(str(value))


class TextForm(logging.Formatter):
    """A record as a line for people; a message that has several is one, and only a traceback has more."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  # logging's own name
        """Return the line without a traceback."""
        record.message = record.message.replace("\r", "\\r").replace("\n", "\\n")
        about = " ".join(f"{name}={value}" for name, value in getattr(record, "bound", {}).items())
        return super().formatMessage(record) + (f" [{about}]" if about else "")

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        return redacted(super().format(record))


def set_up(level: int, form: str = "", stream: TextIO | None = None) -> None:
    """Have everything that this process logs written to a stream, standard error by default.

    Args:
        level: from which on.
        form: `json` or `text`; empty for text on a terminal, JSON elsewhere.
        stream: where to.

    Raises ValueError for another form.
    """
    if form and form not in FORMS:
        raise ValueError(f"{VARIABLE} is {form!r}; right is one of {', '.join(FORMS)}, or nothing")
    root, its = logging.getLogger(), stream or sys.stderr
    if root.handlers:  # whoever runs us within a process of their own has their own way of logging
        return
    handler = logging.StreamHandler(its)
    handler.addFilter(_Bound())
    is_text = form == "text" or (not form and its.isatty())
    handler.setFormatter(TextForm() if is_text else JsonForm())
    root.addHandler(handler)
    root.setLevel(level)
    logging.captureWarnings(capture=True)


def form_of_environment() -> str:
    """Return the form that the environment names; empty where it names none."""
    return os.environ.get(VARIABLE, "")
