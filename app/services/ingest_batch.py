"""Many documents of results at once, as an import of years brings them: stored together, judged each by itself.

A document that is refused keeps no other from being stored, and what is there already is not stored again: a document
that came before, and of one that says when it was measured every result that its series has at that commit and time
with the same numbers. So an import that was interrupted is simply begun anew.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from statistics import median
from typing import Any

from sqlalchemy.orm import Session

from app.domain.errors import PayloadError, Problem
from app.formats.results_payload import PostedResult, ResultsPayload, read_payload
from app.services.access import Principal
from app.services.announce_results import announce_results
from app.services.ingest_results import (
    disagreements,
    environment_facts,
    facts_of,
    new_result,
    project_of,
    series_of,
)
from app.services.query_runs import upload_name
from app.store.repositories import access, projects, uploads
from app.store.repositories import series as series_rows
from app.store.repositories.projects import CommitFacts
from app.store.repositories.series import KnownSeries, Point
from app.store.repositories.uploads import NewUpload
from app.store.tables import Project

MAX_DOCUMENTS = 1_000
"""Lines of one batch; the size of its body is limited as that of any other."""


@dataclass
class _Document:
    """One line of a batch and what becomes of it."""

    payload: ResultsPayload
    key: str
    digest: str
    answer: dict[str, Any] = field(default_factory=dict)


def ingest_batch(session: Session, principal: Principal, body: bytes, *, now: datetime) -> dict[str, Any]:
    """Store the documents, one a line, and return what became of each, in their order.

    Args:
        session: the session; flushed, not committed.
        principal: who posts.
        body: JSON Lines: each line a document as `POST /api/v1/results` takes it, all of one project.
        now: the time of receipt.

    Raises:
        PayloadError: there is no line, or there are too many.
        AccessError: the principal may not post to the project.
    """
    found = [_read(line, now) for line in _lines(body)]
    documents = [one for one in found if isinstance(one, _Document)]
    if documents:
        project = project_of(session, principal, documents[0].payload.project)
        _refuse_others(documents, project)
        _Storing(session, project, principal, now).store(documents)
    answers = [one.answer if isinstance(one, _Document) else one for one in found]
    return {"documents": answers} | {
        name: sum(answer.get(name, 0) for answer in answers) for name in ("stored", "known")
    }


def _lines(body: bytes) -> list[bytes]:
    lines = [line for line in body.splitlines() if line.strip()]
    if not 0 < len(lines) <= MAX_DOCUMENTS:
        what = f"{len(lines)} documents; a batch has 1 to {MAX_DOCUMENTS}, one a line"
        raise PayloadError([Problem("body", "too_many" if lines else "missing", what)])
    return lines


def _read(line: bytes, now: datetime) -> _Document | dict[str, Any]:
    """Return the document of a line, or the answer that refuses it."""
    try:
        payload = read_payload(line, now=now)
    except PayloadError as error:
        return _refusal(error.problems)
    digest = hashlib.sha256(line).hexdigest()
    return _Document(payload, f"batch:sha256:{digest}", digest)


def _refusal(problems: Sequence[Problem]) -> dict[str, Any]:
    errors = [{"path": p.path, "code": p.code, "message": p.message} for p in problems]
    return {"status": "refused", "errors": errors}


def _refuse_others(documents: list[_Document], project: Project) -> None:
    for document in documents:
        if document.payload.project != project.name:
            what = f"the batch is of project {project.name!r}; post other projects in batches of their own"
            document.answer = _refusal([Problem("project", "other_project", what)])


class _Storing:
    """Stores the documents of one project that are not refused."""

    def __init__(self, session: Session, project: Project, principal: Principal, now: datetime) -> None:
        self._session, self._project, self._principal, self._now = session, project, principal, now

    def store(self, documents: Sequence[_Document]) -> None:
        """Store them all; one that disagrees with its series is refused, and leaves no trace."""
        left = [document for document in documents if not document.answer]
        while left:
            with self._session.begin_nested() as savepoint:
                series = self._series(left)
                refused = [one for one in left if _refused(one, series[one.key])]
                if not refused:
                    self._add(left, series)
                    return
                savepoint.rollback()
            left = [one for one in left if not one.answer]

    def _series(self, documents: Sequence[_Document]) -> dict[str, list[KnownSeries]]:
        """Return by their keys the series of each document's results, in their order; made where they are new."""
        results = [(one.payload, result) for one in documents for result in one.payload.results]
        found = iter(series_of(self._session, self._project.id, results))
        return {one.key: list(islice(found, len(one.payload.results))) for one in documents}

    def _add(self, documents: Sequence[_Document], series: dict[str, list[KnownSeries]]) -> None:
        # First the environments and then the commits, each in one order everywhere, so that none deadlock.
        environments = self._environments(documents)
        commits = projects.commit_ids(self._session, self._project.id, _commits(documents))
        rows = [
            (one, result, row, commits[one.payload.commit])
            for one in _distinct(documents)
            for result, row in zip(one.payload.results, series[one.key], strict=True)
        ]
        backdated = {(row.id, commit) for one, _, row, commit in rows if one.payload.measured_at}
        there = series_rows.posted_points(self._session, backdated) if backdated else set()
        fresh = []
        for one, result, row, commit in rows:
            if one.payload.measured_at:
                point = self._point(one.payload, result, row, commit, one.payload.measured_at)
                if point in there:
                    continue
                there.add(point)
            fresh.append((one, result, row, commit))
        made = self._claim([one for one, *_ in fresh], commits, environments)
        new = [
            new_result(
                one.payload,
                result,
                row.id,
                self._now,
                branch=self._branch(one.payload),
                upload_id=made[one.key],
                commit_id=commit,
            )
            for one, result, row, commit in fresh
            if one.key in made
        ]
        series_rows.add_results(self._session, new)
        self._answer(documents, made, Counter(one.key for one, *_ in fresh))
        if new:
            self._announce(len(made), len(new))

    def _branch(self, payload: ResultsPayload) -> str:
        return payload.branch or self._project.branch

    def _point(
        self,
        payload: ResultsPayload,
        result: PostedResult,
        row: KnownSeries,
        commit: int,
        measured_at: datetime,
    ) -> Point:
        return Point(
            row.id,
            commit,
            self._branch(payload),
            measured_at,
            median(result.values),
            result.low,
            result.high,
        )

    def _environments(self, documents: Sequence[_Document]) -> dict[str, int]:
        """Return by its document's key the id of each environment, made where it is new."""
        digests, distinct = {}, {}
        for one in _distinct(documents):
            facts = environment_facts(one.payload.environment)
            digests[one.key] = facts[0]
            distinct[facts[0]] = facts
        ids = {
            digest: projects.environment(self._session, *distinct[digest]).id for digest in sorted(distinct)
        }
        return {key: ids[digest] for key, digest in digests.items()}

    def _claim(
        self, documents: Sequence[_Document], commits: dict[str, int], environments: dict[str, int]
    ) -> dict[str, int]:
        """Return by its key the new upload of each document; one that came before has none."""
        wanted = [
            NewUpload(one.key, one.digest, commits[one.payload.commit], environments[one.key])
            for one in _distinct(documents)
        ]
        if not wanted:
            return {}
        return uploads.claim_all(self._session, self._project.id, wanted, posted_by=self._principal.name)

    def _answer(self, documents: Sequence[_Document], made: dict[str, int], fresh: Counter[str]) -> None:
        """Say of each document what was stored; of several with one key, the first was."""
        left = dict(made)
        for one in documents:
            upload_id = left.pop(one.key, None)
            stored = 0 if upload_id is None else fresh[one.key]
            one.answer = {
                "status": "known" if upload_id is None else "stored",
                "run": None if upload_id is None else upload_name(upload_id),
                "stored": stored,
                "known": len(one.payload.results) - stored,
            }

    def _announce(self, n_documents: int, n_results: int) -> None:
        access.audit(
            self._session,
            self._principal.name,
            "results.batch",
            f"project/{self._project.id}",
            project=self._project.name,
            documents=n_documents,
            results=n_results,
        )
        announce_results(self._session, self._project.id)


def _distinct(documents: Iterable[_Document]) -> Iterable[_Document]:
    return {one.key: one for one in documents}.values()


def _refused(document: _Document, series: Sequence[KnownSeries]) -> bool:
    """Tell whether the document disagrees with a series, and refuse it if so."""
    problems = disagreements(document.payload.results, series)
    if problems:
        document.answer = _refusal(problems)
    return bool(problems)


def _commits(documents: Sequence[_Document]) -> list[CommitFacts]:
    """Return what the documents know of their commits, each commit once: by the first that knows something."""
    facts: dict[str, CommitFacts] = {}
    for one in documents:
        new = facts_of(one.payload)
        old = facts.get(new.sha)
        if old != new:
            facts[new.sha] = new if old is None else CommitFacts(*map(_first, old, new))
    return list(facts.values())


def _first(known: Any, other: Any) -> Any:
    return other if known is None or known == "" else known
