"""A merge queue's groups: which wait for their check, and which are no more."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import or_, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.domain.forge import MergeGroupEvent
from app.store.tables import MergeGroup


def keep(session: Session, repository_id: int, event: MergeGroupEvent) -> int:
    """Store a group and return its id. One that is no more never comes back, in whatever order that is told."""
    told = {"head_ref": event.head_ref, "base_sha": event.base_sha, "base_ref": event.base_ref}
    state = "destroyed" if event.is_destroyed else "open"
    statement = insert(MergeGroup).values(
        repository_id=repository_id, head_sha=event.head_sha, state=state, **told
    )
    changed = {"state": "destroyed"} if event.is_destroyed else {"head_ref": event.head_ref}
    statement = statement.on_conflict_do_update(index_elements=["repository_id", "head_sha"], set_=changed)
    return session.scalars(statement.returning(MergeGroup.id)).one()


def locked(session: Session, group_id: int) -> MergeGroup:
    """Lock and return a group."""
    return session.get_one(MergeGroup, group_id, populate_existing=True, with_for_update=True)


def of_head(session: Session, repository_id: int, sha: str) -> MergeGroup | None:
    """Return the group with this head, None where none is known."""
    query = select(MergeGroup).where(MergeGroup.repository_id == repository_id, MergeGroup.head_sha == sha)
    return session.scalars(query.execution_options(populate_existing=True)).one_or_none()


def unlooked(session: Session) -> Sequence[int]:
    """Return the groups that nobody looked at yet, that are to be measured again, or whose check is to be let go."""
    is_new = MergeGroup.check_id.is_(None) & MergeGroup.trouble.is_(None)
    is_due = (MergeGroup.state == "open") & or_(is_new, MergeGroup.rerun)
    is_gone = (MergeGroup.state == "destroyed") & MergeGroup.check_id.is_not(None)
    return session.scalars(select(MergeGroup.id).where(is_due | is_gone).order_by(MergeGroup.id)).all()
