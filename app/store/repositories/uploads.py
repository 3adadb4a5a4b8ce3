"""Uploads: documents of results from elsewhere, each stored once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from app.store.repositories.upsert import get_or_create
from app.store.tables import Commit, Environment, Project, Result, Upload


@dataclass(frozen=True)
class UploadContext:
    """An upload with what it is about."""

    upload: Upload
    project: Project
    commit: Commit
    environment: Environment | None


def claim(
    session: Session,
    project_id: int,
    key: str,
    *,
    body_digest: str,
    commit_id: int,
    environment_id: int,
    posted_by: str,
) -> tuple[Upload, bool]:
    """Return the project's upload of this key and whether this call made it.

    While another transaction is storing the same key this waits for its end. A new upload has an empty
    `answer`, for the caller to fill in.
    """
    return get_or_create(
        session,
        Upload,
        {"project_id": project_id, "key": key},
        body_digest=body_digest,
        commit_id=commit_id,
        environment_id=environment_id,
        answer={},
        posted_by=posted_by,
    )


class NewUpload(NamedTuple):
    """A document of a batch that is to be stored."""

    key: str
    body_digest: str
    commit_id: int
    environment_id: int


def claim_all(
    session: Session, project_id: int, wanted: Sequence[NewUpload], *, posted_by: str
) -> dict[str, int]:
    """Return by its key the id of each upload that this call made; one that was there is left out.

    While another transaction is storing one of the keys this waits for its end.
    """
    rows = json.dumps([upload._asdict() for upload in wanted])
    made = session.execute(_CLAIM, {"project_id": project_id, "posted_by": posted_by, "rows": rows})
    return {row[0]: row[1] for row in made}


_CLAIM = text(
    """
    insert into upload (project_id, key, body_digest, commit_id, environment_id, answer, posted_by)
    select :project_id, key, body_digest, commit_id, environment_id, '{}', :posted_by
    from json_to_recordset(cast(:rows as json)) as given(
      key text, body_digest text, commit_id bigint, environment_id bigint)
    order by key  -- one order everywhere, so that none deadlock
    on conflict do nothing
    returning key, id
    """
)


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


def n_results(session: Session, upload_id: int) -> int:
    """Return how many results the upload brought."""
    return session.scalar(select(func.count()).select_from(Result).where(Result.upload_id == upload_id)) or 0
