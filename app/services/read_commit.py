"""Everything that is known of one commit: who made it, what its numbers are, what changed with it, who measured it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from app.domain.changes import STANDING
from app.domain.errors import NotFoundError, UsageError
from app.domain.results import CommitRef, case_label
from app.services.access import Principal
from app.services.commits_named import commits_named, looks_like_commit
from app.services.compare_stored import Pair, worst_first
from app.services.list_checks import CheckLine, commit_ref, list_checks
from app.services.list_runs import RunLine, list_runs
from app.services.query_changes import is_worse
from app.services.query_runs import upload_name
from app.services.visibility import visible_project, visible_projects
from app.store.repositories import changes, projects, sides
from app.store.repositories.changes import ChangeContext
from app.store.tables import Commit, Project

MOST = 20
"""Checks, runs, uploads and commits after it that are listed; the newest."""

MOST_CHANGES = 200

HISTORIES = 40
"""Series of a commit that are asked which commit comes next."""


@dataclass(frozen=True)
class SeriesChange:
    """A change that stands and begins with the commit, and the series that it is of."""

    id: int
    series_id: int
    label: str
    metric: str
    device_class: str
    unit: str
    branch: str
    state: str
    is_worse: bool | None
    is_machine: bool
    """Whether the machine moved, and not the code."""
    change: float | None
    low: float | None
    high: float | None
    before: float | None
    after: float | None


@dataclass(frozen=True)
class CommitDetail:
    """One commit with everything that its page shows.

    `parent` and `children` are by what was said of them, `before` and `after` what its histories have on either side.
    """

    project: str
    commit: CommitRef
    branch: str | None
    parent: CommitRef | None
    is_parent_known: bool
    children: tuple[CommitRef, ...]
    before: CommitRef | None
    after: CommitRef | None
    pairs: tuple[Pair, ...]
    """Every result of it beside the one before, by device class, the worst first."""
    alone: tuple[Pair, ...]
    """Those that nothing is before."""
    changes: tuple[SeriesChange, ...]
    checks: tuple[CheckLine, ...]
    runs: tuple[RunLine, ...]
    uploads: tuple[str, ...]

    @property
    def base(self) -> CommitRef | None:
        """What to compare it with: its parent where that was measured, else the commit before it in its histories."""
        if (
            self.parent
            and self.is_parent_known
            and any(p.base and p.base.sha == self.parent.sha for p in self.pairs)
        ):
            return self.parent
        return self.before or (self.parent if self.is_parent_known else None)


def read_commit(session: Session, principal: Principal | None, project: str, digits: str) -> CommitDetail:
    """Return the commit of these first digits, in a fixed number of statements.

    Args:
        session: the session.
        principal: who reads.
        project: whose commit it is; "" for the only one there is.
        digits: at least seven of its id.

    Raises:
        NotFoundError: there is no such project or commit that may be seen.
        UsageError: the digits are the beginning of several commits, or no project is named and there are several.
    """
    its_project = visible_project(session, principal, project or _only_project(session, principal))
    commit = _commit(session, its_project, digits)
    found = sides.with_point_before(session, its_project.id, commit.id)
    pairs = [Pair(before, here) for before, here in found]
    before = Counter(pair.base.sha for pair in pairs if pair.base and pair.base.sha != commit.sha)
    before_sha = before.most_common(1)[0][0] if before else None
    family = {row.sha: row for row in projects.family(session, commit, also=before_sha, limit=MOST + 2)}
    children = [row for row in family.values() if row.parent_sha == commit.sha]
    after = sides.next_commit(session, commit.id, [here.series_id for _, here in found[:HISTORIES]])
    standing = changes.find(
        session, project_id=its_project.id, commit_id=commit.id, states=STANDING, limit=MOST_CHANGES
    )
    its_own = frozenset({its_project.id})
    return CommitDetail(
        project=its_project.name,
        commit=commit_ref(commit),
        branch=commit.branch,
        parent=_parent(commit, family),
        is_parent_known=commit.parent_sha in family,
        children=tuple(map(commit_ref, children)),
        before=commit_ref(family[before_sha]) if before_sha in family else None,
        after=commit_ref(after) if after else None,
        pairs=tuple(_by_device(pair for pair in pairs if pair.base)),
        alone=tuple(pair for pair in pairs if not pair.base),
        changes=tuple(sorted(map(_change, standing), key=_most_worse)),
        checks=list_checks(session, project_ids=its_own, commit_id=commit.id, limit=MOST).lines,
        runs=list_runs(session, project_ids=its_own, commit_id=commit.id, limit=MOST),
        uploads=_uploads(pairs),
    )


def _only_project(session: Session, principal: Principal | None) -> str:
    names = projects.names(session, project_ids=visible_projects(principal))
    if len(names) != 1:
        raise UsageError(
            "there are several projects; say of which the commit is: ?project=NAME", code="no_project"
        )
    return names[0]


def _commit(session: Session, project: Project, digits: str) -> Commit:
    found = commits_named(session, project.id, digits)
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(
            f"{digits} is the beginning of several commits; give more digits", code="ambiguous_commit"
        )
    if not looks_like_commit(digits):
        raise UsageError(
            f"{digits[:80]!r} is no commit: give at least 7 hexadecimal digits", code="bad_commit"
        )
    raise NotFoundError(f"{project.name!r} has no commit {digits.lower()}")


def _parent(commit: Commit, family: dict[str, Commit]) -> CommitRef | None:
    if commit.parent_sha is None:
        return None
    known = family.get(commit.parent_sha)
    return commit_ref(known) if known else CommitRef(commit.parent_sha)


def _by_device(pairs: Iterable[Pair]) -> list[Pair]:
    return sorted(worst_first(pairs), key=lambda pair: pair.either.device_class)


def _change(context: ChangeContext) -> SeriesChange:
    change, series = context.change, context.series
    return SeriesChange(
        id=change.id,
        series_id=series.id,
        label=case_label(context.case.benchmark, context.case.params),
        metric=series.metric,
        device_class=series.device_class,
        unit=series.unit,
        branch=change.branch,
        state=change.state,
        is_worse=is_worse(change, series.better),
        is_machine=change.label is not None,
        change=change.change,
        low=change.ci_low,
        high=change.ci_high,
        before=change.before,
        after=change.after,
    )


def _most_worse(change: SeriesChange) -> tuple[bool, float]:
    """Sort key: what got worse first, and of either kind the largest."""
    return not change.is_worse, -abs(change.change or 0.0)


def _uploads(pairs: Sequence[Pair]) -> tuple[str, ...]:
    ids = {pair.head.upload_id for pair in pairs if pair.head and pair.head.upload_id is not None}
    return tuple(upload_name(upload_id) for upload_id in sorted(ids, reverse=True)[:MOST])
