"""Many documents of results at once, as an import of years brings them: stored together, judged each by itself.

A document that is refused keeps no other from being stored, and what is there already is not stored again: a document
that came before, and of one that says when it was measured every result that its series has at that commit and time
with the same numbers. So an import that was interrupted is simply begun anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, islice
from typing import Any

from sqlalchemy.orm import Session

from app.domain.errors import PayloadError, Problem
from app.formats.results_payload import ResultsPayload, read_payload
from app.services.access import Principal
from app.services.announce_results import TOGETHER_S, TOPIC
from app.services.ingest_results import (
    disagreements,
    environment_facts,
    facts_of,
    new_result,
    project_of,
    series_of,
)
from app.services.query_runs import upload_name
from app.store.pipeline import as_json
from app.store.repositories import batches, projects
from app.store.repositories import series as series_rows
from app.store.repositories.batches import NewDocument, SeriesName
from app.store.repositories.projects import CommitFacts
from app.store.repositories.series import KnownSeries, NewResult, Point
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
        _Storing(session, project, principal, documents, now).store()
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

    def __init__(
        self,
        session: Session,
        project: Project,
        principal: Principal,
        documents: Sequence[_Document],
        now: datetime,
    ) -> None:
        """Look up what the documents name."""
        self._session, self._project, self._principal, self._now = session, project, principal, now
        self._branch = project.branch  # which is not asked for while the connection is busy with commits
        self._documents = [one for one in documents if not one.answer]
        self._environments = _Environments(self._documents)
        self._names = {one.key: list(_names(one.payload)) for one in self._documents}
        series = set(chain.from_iterable(self._names.values()))
        self._found = batches.find(session, project.id, series, self._environments.digests)

    def store(self) -> None:
        """Store them all; one that disagrees with its series is refused, and leaves no trace."""
        found = self._found.series
        if all(name in found for names in self._names.values() for name in names):
            series = {key: [found[name] for name in names] for key, names in self._names.items()}
            self._add(_agreeing(self._documents, series), series)
        else:
            self._store_with_new_series()

    def _store_with_new_series(self) -> None:
        left = self._documents
        while left:
            with self._session.begin_nested() as savepoint:
                series = self._series(left)
                agreeing = _agreeing(left, series)
                if len(agreeing) == len(left):
                    self._add(left, series)
                    return
                savepoint.rollback()
            left = agreeing

    def _series(self, documents: Sequence[_Document]) -> dict[str, list[KnownSeries]]:
        """Return by their keys the series of each document's results, in their order; made where they are new."""
        results = [(one.payload, result) for one in documents for result in one.payload.results]
        found = iter(series_of(self._session, self._project.id, results))
        return {one.key: list(islice(found, len(one.payload.results))) for one in documents}

    def _add(self, documents: Sequence[_Document], series: _SeriesOf) -> None:
        # First the environments and then the commits, each in one order everywhere, so that none deadlock.
        environments = self._environments.ids(self._session, documents, self._found.environments)
        distinct = _distinct(documents)
        with projects.making_commits(self._session, self._project.id, _commits(documents)) as made:
            results = {one.key: self._results(one.payload, series[one.key]) for one in distinct}
            commits = made()
        fresh = self._fresh(distinct, results, commits)
        new = [
            NewDocument(one.key, one.digest, commits[one.payload.commit], environments[one.key], its)
            for one, its in fresh
        ]
        _answer(documents, self._made(new) if new else {}, {one.key: len(one.results) for one in new})

    def _made(self, documents: Sequence[NewDocument]) -> dict[str, int]:
        """Return by its key the new upload of each document; one that came before has none."""
        return batches.store(
            self._session,
            self._project.id,
            documents,
            project=self._project.name,
            posted_by=self._principal.name,
            topic=TOPIC,
            delay_s=TOGETHER_S,
        )

    def _results(self, payload: ResultsPayload, series: Sequence[KnownSeries]) -> list[NewResult]:
        """Return the document's results as they are stored; their commit is that of their upload."""
        branch = payload.branch or self._branch
        return [
            new_result(payload, result, row.id, self._now, branch=branch)
            for result, row in zip(payload.results, series, strict=True)
        ]

    def _fresh(
        self,
        documents: Collection[_Document],
        results: Mapping[str, list[NewResult]],
        commits: Mapping[str, int],
    ) -> Iterable[tuple[_Document, list[NewResult]]]:
        """Yield each document with those of its results that are not there yet, if it has any."""
        points = {
            one.key: [_point(result, commits[one.payload.commit]) for result in results[one.key]]
            for one in documents
            if one.payload.measured_at
        }
        there = self._there(chain.from_iterable(points.values()))
        for one in documents:
            its = results[one.key]
            if one.key in points:
                found = zip(its, points[one.key], strict=True)
                its = [result for result, point in found if point not in there]
                there.update(points[one.key])
            if its:
                yield one, its

    def _there(self, points: Iterable[Point]) -> set[Point]:
        """Return the points that are there of the series and commits of these."""
        wanted = {(point.series_id, point.commit_id) for point in points}
        return series_rows.posted_points(self._session, wanted) if wanted else set()


_SeriesOf = Mapping[str, Sequence[KnownSeries]]
"""By their keys the series of each document's results, in their order."""


class _Environments:
    """What the documents of a batch were measured in: few environments, of many documents."""

    def __init__(self, documents: Sequence[_Document]) -> None:
        # As they came, most are written alike: to see that takes less than to bring each into its order.
        written = {one.key: as_json(one.payload.environment) for one in documents}
        distinct = {written[one.key]: one.payload.environment for one in documents}
        facts = {its: environment_facts(environment) for its, environment in distinct.items()}
        self._of_document = {key: facts[its] for key, its in written.items()}
        self._digest = {its[0]: projects.environment_digest(*its) for its in facts.values()}

    @property
    def digests(self) -> Collection[str]:
        """What they are found by."""
        return self._digest.values()

    def ids(
        self, session: Session, documents: Sequence[_Document], known: Mapping[str, int]
    ) -> dict[str, int]:
        """Return by its document's key the id of each document's environment, made where its digest is not known."""
        its = {one.key: self._of_document[one.key] for one in documents}
        distinct = {facts[0]: facts for facts in its.values()}
        ids = {
            name: known.get(self._digest[name]) or projects.environment(session, *distinct[name]).id
            for name in sorted(distinct)
        }
        return {key: ids[facts[0]] for key, facts in its.items()}


def _names(payload: ResultsPayload) -> Iterable[SeriesName]:
    """Yield how the document names the series of each of its results."""
    for its in payload.results:
        yield SeriesName(its.benchmark, its.params_key, its.metric, payload.device_class, its.version)


def _agreeing(documents: Sequence[_Document], series: _SeriesOf) -> list[_Document]:
    """Return the documents that agree with their series; the others are refused."""
    return [one for one in documents if not _refused(one, series[one.key])]


def _refused(document: _Document, series: Sequence[KnownSeries]) -> bool:
    problems = disagreements(document.payload.results, series)
    if problems:
        document.answer = _refusal(problems)
    return bool(problems)


def _point(result: NewResult, commit_id: int) -> Point:
    assert result.series_id is not None
    return Point(
        result.series_id,
        commit_id,
        result.branch,
        result.measured_at,
        result.value,
        result.low,
        result.high,
    )


def _answer(documents: Sequence[_Document], made: dict[str, int], fresh: Mapping[str, int]) -> None:
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


def _distinct(documents: Iterable[_Document]) -> Collection[_Document]:
    return {one.key: one for one in documents}.values()


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
