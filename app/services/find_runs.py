"""The list of runs, the newest first: those that workers measured, and those that were posted from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import islice
from typing import Any

from sqlalchemy.orm import Session

from app.domain.errors import UsageError
from app.services.access import Principal
from app.services.query_runs import upload_name
from app.services.visibility import chosen_projects
from app.store.repositories import run_list
from app.store.repositories.run_list import Brought, MeasuredRun, PostedRun, SoughtRuns

_PLACE = re.compile(r"([1-9][0-9]{0,17})?\.([1-9][0-9]{0,17})?")
_COMMIT = re.compile(r"[0-9a-f]{7,64}")


_Line = MeasuredRun | PostedRun


@dataclass(frozen=True)
class _Place:
    """Where a page of the list begins: below these ids of measured and of posted runs; None is the newest."""

    run: int | None = None
    upload: int | None = None

    @classmethod
    def read(cls, text: str) -> _Place:
        """Return the place that `text` says. Raises UsageError for what is none."""
        match = _PLACE.fullmatch(text)
        if match is None:
            raise UsageError(
                f"before={text[:40]!r} is no place in the list: pass on `next` as it is", code="bad_place"
            )
        return cls(*(int(number) if number else None for number in match.groups()))

    def after(self, shown: Sequence[_Line]) -> _Place:
        """Return where the list goes on behind what was shown."""
        runs = [one.id for one in shown if isinstance(one, MeasuredRun)]
        uploads = [one.id for one in shown if isinstance(one, PostedRun)]
        return _Place(runs[-1] if runs else self.run, uploads[-1] if uploads else self.upload)

    def __str__(self) -> str:
        return f"{self.run or ''}.{self.upload or ''}"


def find_runs(
    session: Session,
    principal: Principal | None,
    *,
    project: str | None,
    before: str | None,
    limit: int,
    **sought: Any,
) -> dict[str, Any]:
    """Return `{runs, next}`: the newest runs that are looked for, and what `before` has to be for older ones, or None.

    Args:
        session: the session.
        principal: who reads.
        project: its name; None for all that the principal may see.
        before: `next` of the page before.
        limit: the most runs.
        sought: `benchmark`, `commit` (its first digits), `device_class` and `since`, as `SoughtRuns` has them.

    Raises:
        NotFoundError: there is no such project.
        UsageError: `commit` are no digits of one, or `before` is no place.
    """
    among = chosen_projects(session, principal, project)
    commit = sought.pop("commit")
    wanted = SoughtRuns(among, commit=_commit(commit), **sought)
    place = _Place.read(before) if before is not None else _Place()
    lists: list[Sequence[_Line]] = [
        run_list.measured(session, wanted, before=place.run, limit=limit + 1),
        run_list.posted(session, wanted, before=place.upload, limit=limit + 1),
    ]
    first = list(islice(merge(*lists, key=lambda one: one.at, reverse=True), limit + 1))
    shown = first[:limit]
    goes_on = len(first) > limit
    return {"runs": _documents(session, shown), "next": str(place.after(shown)) if goes_on else None}


def _commit(text: str | None) -> str | None:
    if text is not None and not _COMMIT.fullmatch(text.lower()):
        raise UsageError(
            f"commit={text[:80]!r} is no commit: give at least 7 hexadecimal digits", code="bad_commit"
        )
    return text.lower() if text is not None else None


def _documents(session: Session, shown: Sequence[_Line]) -> list[dict[str, Any]]:
    runs = run_list.brought_by_runs(session, [one.id for one in shown if isinstance(one, MeasuredRun)])
    uploads = run_list.brought_by_uploads(session, [one.id for one in shown if isinstance(one, PostedRun)])
    return [
        _measured(one, runs.get(one.id))
        if isinstance(one, MeasuredRun)
        else _posted(one, uploads.get(one.id))
        for one in shown
    ]


def _measured(one: MeasuredRun, brought: Brought | None) -> dict[str, Any]:
    return {
        "run": str(one.id),
        "kind": "measured",
        "project": one.project,
        "base": one.base,
        "head": one.head,
        "subject": one.subject,
        "author": one.author,
        "device_class": one.device_class,
        "suite": one.suite,
        "by": one.worker,
        "outcome": one.outcome,
        "reason": one.reason,
        "results": brought.n if brought else 0,
        "created_at": one.at,
        "ended_at": one.ended_at,
    }


def _posted(one: PostedRun, brought: Brought | None) -> dict[str, Any]:
    return {
        "run": upload_name(one.id),
        "kind": "posted",
        "project": one.project,
        "base": None,
        "head": one.head,
        "subject": one.subject,
        "author": one.author,
        "device_class": brought.device_class if brought else None,
        "suite": None,
        "by": one.posted_by,
        "outcome": "ok",
        "reason": None,
        "results": brought.n if brought else 0,
        "created_at": one.at,
        "ended_at": one.at,
    }
