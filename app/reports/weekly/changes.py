"""What has moved, as a reader sees it: losses that stand, gains, and drifts, each with what it costs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import expm1

from markupsafe import Markup

from app.domain.alerts import AlertState
from app.domain.results import CommitRef
from app.domain.weekly import Cause, Changes, Drift, Monthly, MovedSeries
from app.reports import quantities
from app.reports.text import Name, name, plain
from app.reports.weekly import amounts
from app.reports.weekly.naming import (
    alert_link,
    case_link,
    commit_link,
    metric_title,
)
from app.reports.weekly.parts import Link, address
from app.reports.weekly.pictures import weeks_picture
from app.reports.words import count

STATES = {
    AlertState.NEW: "nobody has looked",
    AlertState.ACKNOWLEDGED: "acknowledged",
    AlertState.INVESTIGATING: "being investigated",
    AlertState.FIXED: "mended since",
}


@dataclass(frozen=True)
class MovedView:
    """What moved, its picture, from where to where."""

    case: Link
    about: str
    project: Name | None
    picture: Markup
    before: str
    after: str
    change: str
    interval: str
    is_worse: bool


@dataclass(frozen=True)
class MovedRow:
    """One row: what moved, since when, what it takes a month, with which commit it came, and who has it."""

    moved: MovedView
    since: str
    amounts: tuple[str, ...]
    is_new: bool = False
    others: str = ""
    commit: Link | None = None
    subject: Name | None = None
    author: Name | None = None
    pull: Link | None = None
    alert: Link | None = None
    state: str = ""
    owner: Name | None = None
    note: str = ""


@dataclass(frozen=True)
class ChangesView:
    """The three tables, and what is beyond them."""

    waste: tuple[MovedRow, ...]
    waste_more: str
    gains: tuple[MovedRow, ...]
    gains_more: str
    drifts: tuple[MovedRow, ...]
    drifts_more: str
    suspected: str
    all_href: str
    waste_total: tuple[str, ...]
    gains_total: tuple[str, ...]
    basis: tuple[str, ...]


def changes_view(changes: Changes, base: str, project: str) -> ChangesView:
    """Return the view of what has moved; `project` is empty where the report is of several."""
    return ChangesView(
        waste=tuple(_cause_row(cause, base, project) for cause in changes.waste),
        waste_more=_more(changes.n_waste - len(changes.waste), "smaller one"),
        gains=tuple(_cause_row(cause, base, project) for cause in changes.gains),
        gains_more=_more(changes.n_gains - len(changes.gains), "smaller one"),
        drifts=tuple(_drift_row(drift, base, project) for drift in changes.drifts),
        drifts_more=_more(changes.n_drifts - len(changes.drifts), "smaller one"),
        suspected=_suspected(changes.n_suspected),
        all_href=address(base, "/alerts", project=project),
        waste_total=amounts.amounts(changes.waste_total),
        gains_total=amounts.saved(changes.gains_total),
        basis=tuple(plain(line) for line in _basis(changes)),
    )


def _more(n: int, what: str) -> str:
    return f"and {count(n, what)}" if n > 0 else ""


def _suspected(n: int) -> str:
    if not n:
        return ""
    are = "is" if n == 1 else "are"
    return f"{count(n, 'change')} of the week {are} suspected and not confirmed yet: not counted here."


def _basis(changes: Changes) -> Iterable[str]:
    parts: list[Monthly | None] = [changes.waste_total, changes.gains_total]
    parts += [drift.monthly for drift in changes.drifts]
    return dict.fromkeys(line for part in parts if part for line in part.basis)


def _cause_row(cause: Cause, base: str, project: str) -> MovedRow:
    moved, others = _moved(cause.worst, base, project), cause.n_series - 1
    return MovedRow(
        moved=moved,
        since=f"{cause.since:%-d %b %Y}",
        amounts=amounts.amounts(cause.monthly) if moved.is_worse else amounts.saved(cause.monthly),
        is_new=cause.is_new and moved.is_worse,
        others=f"and {count(others, 'more series', 'more series')}" if others else "",
        commit=commit_link(base, cause.project, cause.commit),
        subject=name(cause.commit.subject) if cause.commit.subject else None,
        author=_author(cause.commit),
        pull=_pull(cause),
        alert=alert_link(base, cause.alert_id) if cause.alert_id else None,
        state=STATES.get(cause.state, "") if cause.state else "",
        owner=name(cause.owner, 40) if cause.owner else None,
    )


def _drift_row(drift: Drift, base: str, project: str) -> MovedRow:
    return MovedRow(
        moved=_moved(drift.moved, base, project),
        since=f"week of {drift.since.monday:%-d %b %Y}",
        amounts=amounts.amounts(drift.monthly),
        note=_explained(drift),
    )


def _explained(drift: Drift) -> str:
    if not drift.explained:
        return "no confirmed change between"
    sign = 1 if drift.moved.series.better == "lower" else -1
    explained, rest = (quantities.change(expm1(sign * part)) for part in (drift.explained, drift.rest))
    return f"confirmed changes explain {explained}, nothing the rest of {rest}"


def _moved(moved: MovedSeries, base: str, project: str) -> MovedView:
    series = moved.series
    before, after = quantities.before_after(moved.before, moved.after, series.unit)
    has_interval = moved.ci_low is not None and moved.ci_high is not None
    return MovedView(
        case=case_link(base, series.id, series.benchmark, series.params),
        about=f"{metric_title(series.metric)} · {plain(series.device_class)}",
        project=None if project else name(series.project, 60),
        picture=weeks_picture(moved.weeks),
        before=before,
        after=after,
        change=quantities.change(moved.change),
        interval=quantities.interval(moved.ci_low, moved.ci_high) if has_interval else "",
        is_worse=moved.effect > 0,
    )


def _author(commit: CommitRef) -> Name | None:
    return name(commit.author, 40) if commit.author else None


def _pull(cause: Cause) -> Link | None:
    if cause.pull is None:
        return None
    return Link(Name(f"#{cause.pull}"), cause.pull_url or "")
