"""Results from elsewhere arrive: stored once, whole or not at all, and each result extends its series."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from statistics import median
from typing import Any

from sqlalchemy.orm import Session

from app.domain.errors import ConflictError, PayloadError, Problem
from app.formats.results_payload import PostedResult, ResultsPayload, read_payload
from app.services.access import Principal, Scope
from app.services.announce_results import announced
from app.services.query_runs import upload_name
from app.store.repositories import postings, projects, uploads
from app.store.repositories import series as series_rows
from app.store.repositories.postings import Found, KnownProject, NamedSeries, Names
from app.store.repositories.projects import CommitFacts
from app.store.repositories.series import KnownSeries, NewResult, SeriesKey
from app.store.tables import Project, Upload

ARM = "head"
"""A posted document is about one commit: its results stand where a run's newer commit stands."""

QUICK_B = 4 * 1024
"""What is longer is not read for whoever may not post it [B]; less is read in a millisecond."""

_KEY = re.compile(r"[\x20-\x7e]{1,255}")


def ingest_results(
    session: Session,
    writer: Callable[[], Principal],
    key: str | None,
    body: bytes,
    *,
    now: datetime,
    ends: bool = False,
) -> tuple[int, dict[str, Any]]:
    """Store the posted document and return HTTP's status and the answer.

    Posting the same document again changes nothing: status 200 instead of 201, and the same answer. Of two
    posts at the same time under one key the later one waits for the earlier.

    Args:
        session: the session; flushed, and not committed unless this `ends` it.
        writer: returns who posts, or raises AccessError; asked before a long document is read, and for a short one when
            something is looked up anyway.
        key: the caller's idempotency key; without one the body's digest is the key.
        body: the document, as app.formats.results_payload reads it.
        now: the time of receipt.
        ends: whether the transaction may be committed with the trip that stores the document.

    Raises:
        PayloadError: it is refused, with paths; `unit_mismatch` or `direction_mismatch` where a series exists
            in another unit or direction.
        AccessError: the principal may not post to the project.
        ConflictError: another document was posted under the key (`idempotency_conflict`).
    """
    if len(body) > QUICK_B:
        writer()
    payload = read_payload(body, now=now)
    return _Posting(session, writer, payload, key, body_digest(body), now).store(ends=ends)


class _Posting:
    """A document as it is stored: what it names is looked up in one trip, and what is new of that is made."""

    def __init__(
        self,
        session: Session,
        writer: Callable[[], Principal],
        payload: ResultsPayload,
        key: str | None,
        digest: str,
        now: datetime,
    ) -> None:
        """Look up what the document names; its body's digest is its key where its caller has no other."""
        self._session, self._payload, self._now = session, payload, now
        self._callers_key, self._digest = key, digest
        self._found = postings.find(session, names_of(payload))
        self._principal = writer()

    @property
    def _key(self) -> str:
        return key_of(self._digest) if self._callers_key is None else self._callers_key

    def store(self, *, ends: bool) -> tuple[int, dict[str, Any]]:
        """Store the document, with what is new of what it names, and return HTTP's status and the answer."""
        _check(self._callers_key)
        project = self._project()
        series = self._series(project)
        problems = disagreements(self._payload.results, series)
        if problems:
            return self._answered_before(project, PayloadError(problems, code=problems[0].code))
        answer = answer_of(self._payload, self._found, series)
        branch = self._payload.branch or project.branch
        upload_id = uploads.store(
            self._session,
            project,
            self._key,
            facts_of(self._payload),
            [
                new_result(self._payload, result, row.id, self._now, branch=branch)
                for result, row in zip(self._payload.results, series, strict=True)
            ],
            is_commit_known=self._found.is_commit_known,
            body_digest=self._digest,
            environment_id=self._environment(),
            answer=answer,
            posted_by=self._principal.name,
            then=announced(project.id),
            # Under a key of its caller's another document may stand, and then nothing of this one is to stay.
            ends=ends and self._callers_key is None,
        )
        if upload_id is None:
            return self._answered_before(project)
        return 201, {"run": upload_name(upload_id)} | answer

    def _answered_before(
        self, project: KnownProject, otherwise: PayloadError | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Return what was answered under the key; raises `otherwise` where nothing was, as it is new."""
        upload = uploads.of_key(self._session, project.id, self._key)
        if upload is None and otherwise is not None:
            raise otherwise
        assert upload is not None
        return 200, _answer_before(upload, self._digest)

    def _project(self) -> KnownProject:
        found = self._found.project
        if found is None:
            made = project_of(self._session, self._principal, self._payload.project)
            return KnownProject(made.id, made.name, made.branch)
        self._principal.require_for(Scope.RESULTS_WRITE, found.id, self._payload.project)
        return found

    def _environment(self) -> int:
        known = self._found.environment_id
        if known is not None:
            return known
        return projects.environment(self._session, *environment_facts(self._payload.environment)).id

    def _series(self, project: KnownProject) -> list[KnownSeries]:
        """Return the series of each result, in their order; they are made where they are new."""
        found = self._found.series
        known = [row for row in found if row is not None]
        if len(known) == len(found):
            return known
        return series_of(self._session, project.id, [(self._payload, r) for r in self._payload.results])


def answer_of(payload: ResultsPayload, found: Found, series: Sequence[KnownSeries]) -> dict[str, Any]:
    """Return what is answered of the series of a document that is stored; `found` is what was known of it before."""
    return {
        "series": [
            {
                "id": row.id,
                "benchmark": result.benchmark,
                "metric": result.metric,
                "n": length + 1,
                "new": known is None,
            }
            for result, row, known, length in zip(
                payload.results, series, found.series, found.lengths, strict=True
            )
        ]
    }


def names_of(payload: ResultsPayload) -> Names:
    """Return what the document names."""
    series = [NamedSeries(r.benchmark, r.params_key, r.metric, r.version) for r in payload.results]
    digest = projects.environment_digest(*environment_facts(payload.environment))
    return Names(payload.project, facts_of(payload), payload.device_class, digest, series)


def body_digest(body: bytes) -> str:
    """Return what tells a document from all others."""
    return hashlib.sha256(body).hexdigest()


def key_of(digest: str) -> str:
    """Return the key of a document whose sender gives it none."""
    return f"sha256:{digest}"


def is_key(key: str | None) -> bool:
    """Say whether a caller may call a document so; None is for the document itself."""
    return key is None or _KEY.fullmatch(key) is not None


def _check(key: str | None) -> None:
    if key is not None and not is_key(key):
        what = f"expected 1 to 255 printable ASCII characters, found {len(key)} characters"
        raise PayloadError([Problem("header.idempotency-key", "bad_key", what)])


def project_of(session: Session, principal: Principal, name: str) -> Project:
    """Return the project to post to, made if it is new and the principal may post to any. Raises AccessError."""
    if principal.where(Scope.RESULTS_WRITE) is None:
        return projects.project(session, name)
    project = projects.find_project(session, name)
    principal.require_for(Scope.RESULTS_WRITE, project.id if project else 0, name)
    assert project is not None
    return project


def environment_facts(environment: dict[str, Any]) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Return what a document's environment is stored as: the digest by which equal ones are one, machine, software."""
    return hashlib.sha256(_sorted(environment).encode()).hexdigest(), environment, {}


_sorted = json.JSONEncoder(sort_keys=True).encode


def facts_of(payload: ResultsPayload) -> CommitFacts:
    """Return what the document knows of its commit."""
    return CommitFacts(
        payload.commit,
        payload.parent,
        payload.branch,
        payload.time,
        payload.author,
        payload.subject,
        payload.position,
    )


def series_of(
    session: Session, project_id: int, results: Sequence[tuple[ResultsPayload, PostedResult]]
) -> list[KnownSeries]:
    """Return the series of these results of documents, in their order; they are made where they are new."""
    named = [(result.benchmark, result.params_key) for _, result in results]
    cases = projects.case_ids(session, project_id, named)
    keys = [
        SeriesKey(case_id, result.metric, payload.device_class, result.version)
        for case_id, (payload, result) in zip(cases, results, strict=True)
    ]
    # The first to name a new series says its unit; whoever disagrees with that is refused.
    wanted = {key: (r.unit, r.better) for key, (_, r) in reversed(list(zip(keys, results, strict=True)))}
    found = series_rows.ensure(session, project_id, wanted)
    return [found[key] for key in keys]


def disagreements(results: Iterable[PostedResult], series: Iterable[KnownSeries]) -> list[Problem]:
    """Return why results of a document cannot extend these series, one for each in their order."""
    return [
        problem
        for index, (result, row) in enumerate(zip(results, series, strict=True))
        for problem in _disagreements(f"results[{index}]", result, row)
    ]


def _disagreements(path: str, result: PostedResult, row: KnownSeries) -> Iterable[Problem]:
    name = f"series {row.id} ({result.benchmark}, {result.metric})"
    if result.unit != row.unit:
        what = f"{name} is in {row.unit}, and {result.unit} cannot be converted to that"
        yield Problem(f"{path}.unit", "unit_mismatch", what)
    if result.better != row.better:
        what = f"of {name} {row.better} is better, not {result.better}"
        yield Problem(f"{path}.better", "direction_mismatch", what)


def new_result(
    payload: ResultsPayload,
    result: PostedResult,
    series_id: int | None,
    now: datetime,
    *,
    branch: str | None,
) -> NewResult:
    """Return a result of the document as it is stored; it was measured when the document says, else `now`.

    Its commit is that of its upload.
    """
    return NewResult(
        series_id=series_id,
        commit_id=None,
        run_id=None,
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


def _answer_before(upload: Upload, digest: str) -> dict[str, Any]:
    """Return what was answered when the document came first, in the order that the database does not keep."""
    if upload.body_digest != digest:
        raise ConflictError(
            f"another document was posted under the Idempotency-Key {upload.key!r}; use a new key for new results",
            code="idempotency_conflict",
        )
    keys = ("id", "benchmark", "metric", "n", "new")
    series = [{key: entry[key] for key in keys} for entry in upload.answer["series"]]
    return {"run": upload_name(upload.id), "series": series}
