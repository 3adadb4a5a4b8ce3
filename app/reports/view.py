"""A check as the HTML report shows it: plain values, in the order in which they are read.

Everything that needs a decision is decided here or below; the templates only place and escape. Nothing in a view is
markup except the pictures.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import starmap

from markupsafe import Markup

from app.domain.results import CheckResult, CommitRef, SuiteResult
from app.domain.verdicts import Verdict
from app.reports import quantities, sentences
from app.reports.bars import scale_axis, scale_marks
from app.reports.case_table import CaseTable, case_table, common_scale
from app.reports.device_states import ControlView, DeviceStateView, control_views, state_views
from app.reports.efficiency_view import EfficiencySuite, efficiency_views
from app.reports.fingerprints import readable
from app.reports.ranking import exploratory, gating, tally
from app.reports.scale import check_limits
from app.reports.text import Name, name, plain
from app.reports.titles import check_title
from app.reports.troubles import Trouble, troubles
from app.reports.words import CONCLUSIONS, VERDICTS, Word, counted, explain, listing

TABLE_ROOM = 720_000
"""Bytes for the gating table with its pictures, and for efficiency; the whole file stays under a megabyte."""

EXPLORATORY_ROOM = 90_000
"""Bytes for the exploratory table."""

FILTER_FROM = 20
"""With more rows than this the report offers a filter."""

ENVIRONMENT_LIMIT = 80
"""Entries of an environment, and differences between the arms, that are shown; the rest is counted."""

VOID_LIMIT = 40
"""Void pairs that are named for one reason; the rest is counted."""


PARTLY_VOID = frozenset({"host_cpu"})
"""Reasons that leave values which they cannot have moved."""


@dataclass(frozen=True)
class CommitView:
    """One of the two commits."""

    role: str
    short: str
    sha: str
    subject: Name
    author: Name
    date: str


@dataclass(frozen=True)
class Chip:
    """How many results have a verdict: `2`, `fail on head`."""

    number: int
    name: str
    tone: str


@dataclass(frozen=True)
class SoftwareChange:
    """A package or tool that base and head resolved differently; `–` where an arm does not have it."""

    name: Name
    base: Name
    head: Name


@dataclass(frozen=True)
class VoidGroup:
    """Pairs that do not count for one reason; its figures are those of the first of them."""

    reason: str
    pairs: str
    """`pair 4 (during base)`, `pairs 6 and 10`."""


@dataclass(frozen=True)
class SuiteView:
    """One job: where it ran, in what, and what was void."""

    name: Name
    device_class: Name
    facts: tuple[tuple[str, str], ...]
    changes: tuple[SoftwareChange, ...]
    n_more_changes: int
    environment: tuple[tuple[Name, Name], ...]
    n_more_environment: int
    voids: tuple[VoidGroup, ...]
    devices: tuple[DeviceStateView, ...]
    control: tuple[ControlView, ...]


@dataclass(frozen=True)
class ReportView:
    """The whole report."""

    title: str
    project: Name
    check: int
    word: Word
    headline: str
    meaning: str
    commits: tuple[CommitView, ...]
    facts: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    chips: tuple[Chip, ...]
    troubles: tuple[Trouble, ...]
    axis: Markup
    marks: Markup
    cases: CaseTable
    listed: tuple[Trouble, ...]
    exploratory: CaseTable
    efficiency: tuple[EfficiencySuite, ...]
    suites: tuple[SuiteView, ...]
    reproduce: str
    method: str
    words: tuple[Word, ...]
    has_filter: bool


def report_view(result: CheckResult) -> ReportView:
    """Return the view of a check, complete or not."""
    gated, shown = gating(result), exploratory(result)
    scale = common_scale(result, gated or shown)
    efficiency = efficiency_views(result.suites)
    room = TABLE_ROOM - sum(suite.size for suite in efficiency)
    cases = case_table(result, gated, scale, room, with_pictures=True)
    told = troubles(result)
    return ReportView(
        title=check_title(result),
        project=name(result.project, 80),
        check=result.id,
        word=CONCLUSIONS[result.conclusion],
        headline=sentences.headline(result),
        meaning=sentences.meaning(result),
        commits=(_commit("Base", result.base), _commit("Head", result.head)),
        facts=tuple(_facts(result)),
        notes=tuple(plain(f"{note.flag}: {note.message}") for note in result.notes),
        chips=tuple(_chips(result)),
        troubles=tuple(trouble for trouble in told if trouble.is_urgent),
        axis=scale_axis(scale),
        marks=scale_marks(scale, check_limits(result)),
        cases=cases,
        listed=tuple(trouble for trouble in told if not trouble.is_urgent),
        exploratory=case_table(result, shown, scale, EXPLORATORY_ROOM, with_pictures=False),
        efficiency=efficiency,
        suites=tuple(_suite(suite) for suite in result.suites if suite.environment or suite.started_at),
        reproduce=plain(result.reproduce),
        method=sentences.method(result),
        words=tuple(VERDICTS.values()),
        has_filter=cases.n_rows > FILTER_FROM,
    )


def _commit(role: str, commit: CommitRef) -> CommitView:
    date = quantities.moment(commit.date) if commit.date else ""
    return CommitView(role, commit.sha[:10], commit.sha, name(commit.subject), name(commit.author, 60), date)


def _chips(result: CheckResult) -> Iterable[Chip]:
    counts = tally(result)
    for verdict, word in VERDICTS.items():
        number = counts.verdicts[verdict] + counts.unmeasured_jobs * (verdict is Verdict.NOT_MEASURED)
        if number:
            yield Chip(number, counted(number, word), word.tone)


def _facts(result: CheckResult) -> Iterable[tuple[str, str]]:
    classes = dict.fromkeys(suite.device_class for suite in result.suites)
    if classes:
        yield "Device" if len(classes) == 1 else "Devices", plain(", ".join(classes))
    yield "Device time", _time_spent(result.suites)
    pairs = sum(suite.pairs_done for suite in result.suites)
    if pairs:
        yield "Pairs", str(pairs)
    if result.concluded_at:
        yield "Concluded", quantities.moment(result.concluded_at)
    elif result.created_at:
        yield "Requested", quantities.moment(result.created_at)


def _time_spent(suites: Iterable[SuiteResult]) -> str:
    spent = sum(quantities.finite(suite.device_s) or 0.0 for suite in suites)
    granted = sum(quantities.finite(suite.budget_s) or 0.0 for suite in suites)
    text = quantities.duration(spent)
    return f"{text} of {quantities.duration(granted)}" if granted else text


# --- jobs -----------------------------------------------------------------------------------------------------


def _suite(suite: SuiteResult) -> SuiteView:
    changes, environment = suite.software_changes, list(suite.environment.items())
    return SuiteView(
        name=name(suite.name),
        device_class=name(suite.device_class),
        facts=tuple(_suite_facts(suite)),
        changes=tuple(SoftwareChange(*map(_version, change)) for change in changes[:ENVIRONMENT_LIMIT]),
        n_more_changes=max(0, len(changes) - ENVIRONMENT_LIMIT),
        environment=tuple(
            (name(key, 60), name(value)) for key, value in starmap(readable, environment[:ENVIRONMENT_LIMIT])
        ),
        n_more_environment=max(0, len(environment) - ENVIRONMENT_LIMIT),
        voids=tuple(_voids(suite)),
        devices=state_views(suite.device_states),
        control=control_views(suite.control),
    )


def _suite_facts(suite: SuiteResult) -> Iterable[tuple[str, str]]:
    yield "State", suite.state.replace("_", " ")
    if suite.reason:
        yield "Reason", plain(explain(suite.reason))
    if suite.worker:
        yield "Worker", plain(suite.worker)
    yield "Device time", _time_spent([suite])
    yield "Pairs", str(suite.pairs_done)
    if suite.started_at:
        yield "Started", quantities.moment(suite.started_at)
    if suite.finished_at:
        yield "Finished", quantities.moment(suite.finished_at)


def _version(text: str | None) -> Name:
    return Name(quantities.ABSENT) if text is None else name(text)


def _voids(suite: SuiteResult) -> Iterable[VoidGroup]:
    groups: dict[str, list[str]] = {}
    first: dict[str, str] = {}
    for void in suite.void_pairs:
        during = f" (during {plain(void.arm)})" if void.arm else ""
        gate = void.reason.partition(":")[0]
        reason = first.setdefault(gate, void.reason)
        groups.setdefault(reason, []).append(f"{void.pair + 1}{during}")
    for reason, pairs in groups.items():
        more = [f"{len(pairs) - VOID_LIMIT} more"] if len(pairs) > VOID_LIMIT else []
        word = "pair" if len(pairs) == 1 else "pairs"
        part = ", in part" if reason.partition(":")[0] in PARTLY_VOID else ""
        yield VoidGroup(plain(explain(reason)), f"{word} {listing(pairs[:VOID_LIMIT] + more)}{part}")
