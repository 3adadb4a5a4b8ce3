"""What the forge should say, one row each: whoever writes to the forge says the newest of it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from typing import Unpack

from sqlalchemy.orm import Session

from app.domain.forge import CheckText, CommentText, Text
from app.reports.pull_request import NAME
from app.services.check_moved import want_showing
from app.store.repositories import awaiting, outbox, targets
from app.store.tables import Repository

TOPIC = "forge.tell"


def want_text(
    session: Session, repository: Repository, key: str, text: Text, *, asked_at: datetime | None = None
) -> None:
    """Have the forge say this under the key, in place of what it said there before."""
    kind, wanted = _kind(text), asdict(text)
    digest = hashlib.sha256(json.dumps(wanted, sort_keys=True).encode()).hexdigest()
    target = targets.want(session, key, repository.id, kind, wanted, digest, asked_at=asked_at)
    if target.told_digest != digest:
        want_telling(session, repository.id)


def _kind(text: Text) -> str:
    if isinstance(text, CheckText):
        return "check"
    return "comment" if isinstance(text, CommentText) else "issue"


def want_run(
    session: Session,
    repository: Repository,
    text: CheckText,
    which: str,
    *,
    asked_at: datetime | None = None,
) -> None:
    """Have a check run told. Each is of one check of ours: what has ended on GitHub is never taken up again there."""
    named = replace(text, key=f"{NAME}/{repository.external_id}/{text.sha}/{which}")
    key = run_key(repository.id, text.sha, which)
    want_text(session, repository, key, named, asked_at=asked_at)


def run_key(repository_id: int, sha: str, which: str) -> str:
    """Return the key of what a check run of a commit should say; `which` tells those of one commit apart."""
    return targets.RUN_KEY % (repository_id, sha, which)


def want_telling(session: Session, repository_id: int, **when: Unpack[outbox.When]) -> None:
    """Have told what a repository's forge should say; several wishes are one."""
    payload = {"repository_id": repository_id}
    outbox.put_again(session, TOPIC, f"{TOPIC}/{repository_id}", payload, **when)


def find_untold(session: Session, *, older_than: timedelta) -> int:
    """Have told what waits although nobody is about to tell it; return of how many repositories.

    Whatever a task that died should have wished is found in what it was about.
    """
    for check_id in awaiting.unshown(session):
        want_showing(session, check_id, sent_before=older_than)
    waiting = {repository for _, repository in targets.waiting(session)}
    for repository_id in sorted(waiting):
        want_telling(session, repository_id, sent_before=older_than)
    return len(waiting)
