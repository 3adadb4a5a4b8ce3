"""A message as JSON for programs (docs/notifications.md): `{type, timestamp, data}`, as Standard Webhooks has it."""

from __future__ import annotations

import json
from typing import Any

from app.domain.notifications import AlertItem, MachineItem, Message, MessageKind


def webhook_body(message: Message, *, thread: str = "") -> bytes:
    """Return the body. `thread` is the id of the message that this one goes on from, empty for a first one.

    `type` is `alert.new`, `alert.again`, `alert.worse` or `alert.settled` for one alert, `alerts` for several,
    `machine.new` or `machine.settled` for one incident, `machines` for several, `digest`, `report`, or `test`.
    """
    body = {"type": _type(message), "timestamp": message.at, "data": _data(message, thread)}
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def _type(message: Message) -> str:
    if message.kind is MessageKind.ALERTS and len(message.items) == 1 and not message.left_out:
        return f"alert.{message.items[0].what}"
    if message.kind is MessageKind.MACHINES and len(message.machines) == 1 and not message.machines_left_out:
        return f"machine.{message.machines[0].what}"
    return str(message.kind)


def _data(message: Message, thread: str) -> dict[str, Any]:
    data: dict[str, Any] = {
        "project": message.project,
        "title": message.title,
        "url": message.url,
    }
    if message.kind is MessageKind.REPORT:
        return data | {"report": message.report, "text": message.text}
    if message.kind is MessageKind.TEST:
        return data | {"text": message.text}
    if message.since:
        data["since"] = message.since
    if message.kind is not MessageKind.MACHINES:
        data |= {
            "counts": message.counts,
            "alerts": [_item(item) for item in message.items],
            "more": max(message.left_out, 0),
        }
    if message.kind is not MessageKind.ALERTS:
        data |= {
            "machine_counts": message.machine_counts,
            "machines": [_machine(item) for item in message.machines],
            "more_machines": max(message.machines_left_out, 0),
        }
    return data | {"update_of": thread or None}


def _item(item: AlertItem) -> dict[str, Any]:
    return {
        "id": item.alert,
        "what": item.what,
        "state": item.state,
        "sentence": item.sentence,
        "change": item.change,
        "n_changes": item.n_changes,
        "n_checks": item.n_checks,
        "branch": item.branch,
        "commit": {"sha": item.commit, "subject": item.subject, "author": item.author},
        "pull_request": item.pull,
        "pull_request_url": item.pull_url or None,
        "owners": list(item.owners),
        "opened_at": item.opened_at,
        "moved_by": item.by or None,
        "comment": item.comment or None,
        "url": item.url,
    }


def _machine(item: MachineItem) -> dict[str, Any]:
    return {
        "id": item.incident,
        "what": item.what,
        "kind": item.kind,
        "name": item.name,
        "device_classes": list(item.classes),
        "sentence": item.sentence,
        "meaning": item.meaning or None,
        "advice": item.advice or None,
        "opened_at": item.opened_at,
        "closed_at": item.closed_at or None,
        "ended_by": item.ended_by or None,
        "url": item.url,
    }
