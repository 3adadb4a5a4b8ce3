"""Results from elsewhere arrive: stored once, whole or not at all, and each result extends its series."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from statistics import median
from typing import Any

from sqlalchemy.orm import Session

from app.domain.errors import AccessError, ConflictError, PayloadError, Problem
from app.formats.results_payload import PostedResult, ResultsPayload, read_payload
from app.services.access import Principal
from app.services.announce_results import announce_results
from app.services.query_runs import upload_name
from app.store.repositories import access, projects, uploads
from app.store.repositories import series as series_rows
from app.store.repositories.series import KnownSeries, NewResult, SeriesKey
from app.store.tables import Project, Upload
from workers.protocol import params_key

ARM = "head"
"""A posted document is about one commit: its results stand where a run's newer commit stands."""

_KEY = re.compile(r"[\x20-\x7e]{1,255}")


def ingest_results(
    session: Session, principal: Principal, key: str | None, body: bytes, *, now: datetime
) -> tuple[int, dict[str, Any]]:
    """Store the posted document and return HTTP's status and the answer.

    Posting the same document again changes nothing: status 200 instead of 201, and the same answer. Of two
    posts at the same time under one key the later one waits for the earlier.

    Args:
        session: the session; flushed, not committed.
        principal: who posts.
        key: the caller's idempotency key; without one the body's digest is the key.
        body: the document, as app.formats.results_payload reads it.
        now: the time of receipt.

    Raises:
        PayloadError: it is refused, with paths; `unit_mismatch` or `direction_mismatch` where a series exists
            in another unit or direction.
        AccessError: the principal is bound to another project.
        ConflictError: another document was posted under the key (`idempotency_conflict`).
    """
    payload = read_payload(body, now=now)
    project = project_of(session, principal, payload.project)
    upload, new = _claim(
        session, principal, project, payload, _checked(key), hashlib.sha256(body).hexdigest()
    )
    if new:
        series = _series(session, project, payload)
        _add_results(session, payload, upload, series, now, branch=payload.branch or project.branch)
        upload.answer = _new_answer(session, upload, payload, series)
        object_, n = f"upload/{upload.id}", len(payload.results)
        access.audit(session, principal.name, "results.posted", object_, project=project.name, results=n)
        announce_results(session, project.id)
    return 201 if new else 200, _in_order(upload.answer)


def _checked(key: str | None) -> str | None:
    if key is not None and not _KEY.fullmatch(key):
        what = f"expected 1 to 255 printable ASCII characters, found {len(key)} characters"
        raise PayloadError([Problem("header.idempotency-key", "bad_key", what)])
    return key


def project_of(session: Session, principal: Principal, name: str) -> Project:
    """Return the project to post to. Raises AccessError where the principal is bound to another."""
    if principal.project_id is None:
        return projects.project(session, name)
    project = projects.find_project(session, name)
    if project is None or project.id != principal.project_id:
        raise AccessError(f"the token {principal.name!r} is bound to another project than {name!r}")
    return project


def _claim(
    session: Session,
    principal: Principal,
    project: Project,
    payload: ResultsPayload,
    key: str | None,
    digest: str,
) -> tuple[Upload, bool]:
    commit = projects.commit(
        session,
        project.id,
        payload.commit,
        parent_sha=payload.parent,
        branch=payload.branch,
        authored_at=payload.time,
        author=payload.author,
        subject=payload.subject,
        position=payload.position,
    )
    environment = projects.environment(
        session, environment_hash(payload.environment), payload.environment, {}
    )
    upload, new = uploads.claim(
        session,
        project.id,
        f"sha256:{digest}" if key is None else key,
        body_digest=digest,
        commit_id=commit.id,
        environment_id=environment.id,
        posted_by=principal.name,
    )
    if upload.body_digest != digest:
        raise ConflictError(
            f"another document was posted under the Idempotency-Key {key!r}; use a new key for new results",
            code="idempotency_conflict",
        )
    return upload, new


def environment_hash(environment: dict[str, Any]) -> str:
    """Return the digest by which equal environments are one."""
    return hashlib.sha256(json.dumps(environment, sort_keys=True).encode()).hexdigest()


def _series(session: Session, project: Project, payload: ResultsPayload) -> list[tuple[KnownSeries, bool]]:
    """Return the series of each result, in their order, and whether it is new."""
    cases = projects.case_ids(session, project.id, [(r.benchmark, r.params) for r in payload.results])
    keys = [
        SeriesKey(cases[f"{r.benchmark} {params_key(r.params)}"], r.metric, payload.device_class, r.version)
        for r in payload.results
    ]
    wanted = {key: (r.unit, r.better) for key, r in zip(keys, payload.results, strict=True)}
    found = series_rows.ensure(session, project.id, wanted)
    series = [found[key] for key in keys]
    _require_agreement(payload.results, [row for row, _ in series])
    return series


def _require_agreement(results: Iterable[PostedResult], series: Iterable[KnownSeries]) -> None:
    problems = [
        problem
        for index, (result, row) in enumerate(zip(results, series, strict=True))
        for problem in disagreements(f"results[{index}]", result, row)
    ]
    if problems:
        raise PayloadError(problems, code=problems[0].code)


def disagreements(path: str, result: PostedResult, row: KnownSeries) -> Iterable[Problem]:
    """Yield why the result at `path` of its document cannot extend the series."""
    name = f"series {row.id} ({result.benchmark}, {result.metric})"
    if result.unit != row.unit:
        what = f"{name} is in {row.unit}, and {result.unit} cannot be converted to that"
        yield Problem(f"{path}.unit", "unit_mismatch", what)
    if result.better != row.better:
        what = f"of {name} {row.better} is better, not {result.better}"
        yield Problem(f"{path}.better", "direction_mismatch", what)


def _add_results(
    session: Session,
    payload: ResultsPayload,
    upload: Upload,
    series: list[tuple[KnownSeries, bool]],
    now: datetime,
    *,
    branch: str,
) -> None:
    series_rows.add_results(
        session,
        [
            new_result(payload, result, row, upload.id, upload.commit_id, now, branch=branch)
            for result, (row, _) in zip(payload.results, series, strict=True)
        ],
    )


def new_result(
    payload: ResultsPayload,
    result: PostedResult,
    series: KnownSeries,
    upload_id: int,
    commit_id: int,
    now: datetime,
    *,
    branch: str,
) -> NewResult:
    """Return a result of the document as it is stored; it was measured when the document says, else `now`."""
    return NewResult(
        series_id=series.id,
        commit_id=commit_id,
        run_id=None,
        upload_id=upload_id,
        arm=ARM,
        value=median(result.values),
        low=result.low,
        high=result.high,
        values=list(result.values),
        void=[],
        flags=[*result.flags, *payload.flags],
        measured_at=payload.measured_at or now,
        branch=branch,
    )


def _new_answer(
    session: Session, upload: Upload, payload: ResultsPayload, series: list[tuple[KnownSeries, bool]]
) -> dict[str, Any]:
    counts = series_rows.counts(session, [row.id for row, _ in series])
    return {
        "run": upload_name(upload.id),
        "series": [
            {
                "id": row.id,
                "benchmark": result.benchmark,
                "metric": result.metric,
                "n": counts[row.id],
                "new": new,
            }
            for result, (row, new) in zip(payload.results, series, strict=True)
        ],
    }


def _in_order(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer with its keys in one order, which the database does not keep."""
    keys = ("id", "benchmark", "metric", "n", "new")
    return {"run": answer["run"], "series": [{key: entry[key] for key in keys} for entry in answer["series"]]}
