"""Uploads: documents of results from elsewhere, each stored once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.store.pipeline import as_json, in_one_trip
from app.store.repositories import series as series_rows
from app.store.repositories.postings import KnownProject
from app.store.repositories.projects import CommitFacts, completed
from app.store.repositories.series import NewResult
from app.store.tables import Commit, Environment, Project, Result, Upload
from app.store.wire import Statement


@dataclass(frozen=True)
class UploadContext:
    """An upload with what it is about."""

    upload: Upload
    project: Project
    commit: Commit
    environment: Environment | None


def store(
    session: Session,
    project: KnownProject,
    key: str,
    facts: CommitFacts,
    results: Sequence[NewResult],
    *,
    is_commit_known: bool,
    body_digest: str,
    environment_id: int,
    answer: dict[str, Any],
    posted_by: str,
    then: Statement,
    ends: bool,
) -> int | None:
    """Store the project's new upload of this key with its results, and return its id; None where there was one.

    Its commit is completed by these facts, and the audit log told; all in one trip, as what posts after every test
    waits for it. While another transaction is storing the same key this waits for its end.

    Args:
        session: the session.
        project: whose it is.
        key: what makes it one.
        facts: what is known of its commit.
        results: its results.
        is_commit_known: whether these facts add nothing to what is known of the commit.
        body_digest: the document's SHA-256.
        environment_id: what it was measured in.
        answer: what is answered when it comes again.
        posted_by: whose name stands at it.
        then: what else is done, also where there was one.
        ends: whether the transaction ends with it.
    """
    upload = {
        "project_id": project.id,
        "key": key,
        "sha": facts.sha,
        "body_digest": body_digest,
        "environment_id": environment_id,
        "answer": as_json(answer),
        "posted_by": posted_by,
        "rows": series_rows.as_rows(results),
        "audited": as_json({"project": project.name, "results": len(results)}),
    }
    before = [] if is_commit_known else [completed(project.id, [facts])]
    *_, made, _ = in_one_trip(session, *before, (_STORE, upload), then, ends=ends)
    return made[0][0] if made else None


_STORE = f"""
    with claimed as (
      insert into upload (project_id, key, body_digest, commit_id, environment_id, answer, posted_by)
      select project_id, %(key)s, %(body_digest)s, id, %(environment_id)s, %(answer)s::jsonb, %(posted_by)s
      from commit where project_id = %(project_id)s and sha = %(sha)s
      on conflict do nothing
      returning id, commit_id
    ), {series_rows.storing(upload="claimed.id", commit="claimed.commit_id", beside="cross join claimed")}
    , audited as (
      insert into audit_log (actor, action, object, detail)
      select %(posted_by)s, 'results.posted', 'upload/' || id, %(audited)s::jsonb from claimed
    )
    select id from claimed
"""  # noqa: S608  # nothing of it is anybody's but ours


def of_key(session: Session, project_id: int, key: str) -> Upload | None:
    """Return the project's upload of this key, or None."""
    query = select(Upload).where(Upload.project_id == project_id, Upload.key == key)
    return session.scalars(query).one_or_none()


def with_context(session: Session, upload_id: int) -> UploadContext | None:
    """Return the upload with what it is about, or None."""
    row = session.execute(
        select(Upload, Project, Commit, Environment)
        .join(Project, Project.id == Upload.project_id)
        .join(Commit, Commit.id == Upload.commit_id)
        .outerjoin(Environment, Environment.id == Upload.environment_id)
        .where(Upload.id == upload_id)
    ).one_or_none()
    return UploadContext(row[0], row[1], row[2], row[3]) if row else None


def first_result(session: Session, upload_id: int) -> tuple[datetime, str | None] | None:
    """Return when the upload's first result was measured, and on which branch; None where it has none."""
    query = select(Result.measured_at, Result.branch).where(Result.upload_id == upload_id)
    row = session.execute(query.order_by(Result.id).limit(1)).one_or_none()
    return (row[0], row[1]) if row else None


def n_results(session: Session, upload_id: int) -> int:
    """Return how many results the upload brought."""
    return session.scalar(select(func.count()).select_from(Result).where(Result.upload_id == upload_id)) or 0
