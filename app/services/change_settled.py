"""A change is confirmed, or what was confirmed is taken back: whoever made it is told, if a forge knows who that is.

The message is in the transaction that settles the change. That of an examination is not waited for on disk
(ARCHITECTURE.md), but what follows from the message stores what is to be said before anything is said, and that is.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Unpack

from sqlalchemy.orm import Session

from app.store.repositories import origins, outbox
from app.store.tables import ChangePoint

TOPIC = "change.follow"

SETTLING_S = 60.0
"""The other series of a commit are examined meanwhile: what its pull request reads first is the whole [s]."""

WITHIN = timedelta(days=90)
"""What was confirmed, or merged, longer ago is told on no pull request: nobody is there any more to read it."""

BATCH = 100


def change_settled(session: Session, change: ChangePoint) -> None:
    """Have looked at where a change came from; many of one commit at once are one message."""
    its = origins.repositories_of(session, change.project_id)
    if any(repository.branch == change.branch for repository in its):
        want_following(session, change.commit_id, delay_s=SETTLING_S)


def want_following(session: Session, commit_id: int, **when: Unpack[outbox.When]) -> None:
    """Have the changes of a commit looked at; several wishes are one."""
    outbox.put_again(session, TOPIC, f"{TOPIC}/{commit_id}", {"commit_id": commit_id}, **when)


def find_unfollowed(session: Session, *, older_than: timedelta) -> int:
    """Have looked at what a task that died should have; return of how many commits."""
    waiting = origins.commits_to_follow(session, WITHIN, BATCH)
    for commit_id in waiting:
        want_following(session, commit_id, sent_before=older_than)
    return len(waiting)
