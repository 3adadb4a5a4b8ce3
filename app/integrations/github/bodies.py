"""What GitHub is told, in its words and within its limits."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from app.domain.forge import (
    Annotation,
    CheckOutcome,
    CheckState,
    CheckText,
)

STATUS_B = 140
"""Longest description of a commit status; GitHub counts characters, and this many bytes are never more."""

MOST_B = 65_000
"""Of a summary or a comment; GitHub takes 65 535 characters."""

_STATUSES = {
    CheckOutcome.SUCCESS: "success",
    CheckOutcome.NEUTRAL: "success",
    CheckOutcome.FAILURE: "failure",
    CheckOutcome.CANCELLED: "error",
    CheckOutcome.ACTION_REQUIRED: "pending",
}
"""What a commit status has in place of an outcome: nothing but a failure may keep a change from being merged."""


def check_run_body(text: CheckText) -> dict[str, Any]:
    """Return a check run."""
    data: dict[str, Any] = {
        "name": text.name,
        "external_id": text.key,
        "status": str(text.state),
        "output": {"title": text.title, "summary": clip_bytes(text.summary, MOST_B)},
    }
    if text.annotations:
        level = "failure" if text.outcome is CheckOutcome.FAILURE else "warning"
        data["output"]["annotations"] = [_annotation(note, level) for note in text.annotations]
    if text.url:
        data["details_url"] = text.url
    if text.state is CheckState.COMPLETED:
        data["conclusion"] = str(text.outcome)
    if text.buttons:
        data["actions"] = [asdict(button) for button in text.buttons]
    return data


def _annotation(note: Annotation, level: str) -> dict[str, Any]:
    return {
        "path": note.file,
        "start_line": note.line,
        "end_line": note.line,
        "annotation_level": level,
        "title": note.title,
        "message": clip_bytes(note.message, MOST_B),
    }


def status_body(text: CheckText) -> dict[str, Any]:
    """Return a commit status, which has one line of words."""
    data: dict[str, Any] = {
        "state": _STATUSES[text.outcome] if text.outcome else "pending",
        "context": text.name,
        "description": clip_bytes(text.title, STATUS_B),
    }
    if text.url:
        data["target_url"] = text.url
    return data


def clip_bytes(text: str, most: int) -> str:
    """Return the text in at most so many bytes of UTF-8, no character cut, with an ellipsis where something lacks."""
    raw = text.encode()
    if len(raw) <= most:
        return text
    return raw[: most - len("…".encode())].decode("utf-8", "ignore") + "…"
