"""Notifiers as the JSON API shows them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from app.services.notify.read_notifiers import NotifierFacts


def notifier_document(its: NotifierFacts) -> dict[str, Any]:
    """Return a notifier with its newest messages; nothing of it is secret."""
    return {
        "name": its.name,
        "kind": its.kind,
        "shown": its.shown,
        "wishes": asdict(its.wishes),
        "paused": its.is_paused,
        "paused_because": its.paused_because,
        "due_at": its.due_at,
        "waiting": its.waiting,
        "created_by": its.created_by,
        "created_at": its.created_at,
        "deliveries": [asdict(delivery) for delivery in its.deliveries],
    }
