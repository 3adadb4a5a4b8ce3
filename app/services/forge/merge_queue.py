"""Messages of a merge queue: a group of it waits for its check, or is no more. They are kept, and looked at later."""

from __future__ import annotations

from datetime import timedelta
from typing import Unpack

from sqlalchemy.orm import Session

from app.domain.forge import MergeGroupEvent
from app.store.repositories import merge_groups, outbox

TOPIC = "group.follow"


def keep_group(session: Session, repository_id: int, event: MergeGroupEvent) -> str:
    """Store what a message says of a group and have it looked at; return that in a sentence."""
    want_group(session, merge_groups.keep(session, repository_id, event))
    return f"the merge group {event.head_sha[:10]} is {'let go' if event.is_destroyed else 'looked at'}"


def want_group(session: Session, group_id: int, **when: Unpack[outbox.When]) -> None:
    """Have a group looked at; several wishes for the same are one."""
    outbox.put_again(session, TOPIC, f"{TOPIC}/{group_id}", {"group_id": group_id}, **when)


def find_lost_groups(session: Session, *, older_than: timedelta) -> int:
    """Have looked at again what nobody looked at for so long; return how many groups."""
    lost = merge_groups.unlooked(session)
    for group_id in lost:
        want_group(session, group_id, sent_before=older_than)
    return len(lost)


def measure_group_again(session: Session, repository_id: int, sha: str) -> bool:
    """Have the group with this head measured again; False where none that is open has it."""
    group = merge_groups.of_head(session, repository_id, sha)
    if group is None or group.state != "open":
        return False
    group.rerun = True
    want_group(session, group.id)
    return True
