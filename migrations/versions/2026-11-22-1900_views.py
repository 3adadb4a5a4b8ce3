"""Views with stable names for whoever asks in SQL, and a role that may read them and nothing else.

They are in a schema of their own, which bears no user's name: PostgreSQL looks into the schema that is called like the
user first, and would find a view in the place of our tables there. Every view and column has a comment, which
docs/sql.md repeats. A migration that changes a column that a view is made of drops that view and makes it anew.

The role belongs to the whole cluster, so that it may be there already, and stays when the views go. A database user that
may make no roles is told how somebody else does.

Revision: 0012
Follows: 0011
"""

from __future__ import annotations

import logging

from alembic import op
from sqlalchemy import text

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

SCHEMA = "ratchet_views"
READER = "ratchet_reader"

Columns = dict[str, tuple[str, str]]
"""Name -> what it is made of, and what it means."""

log = logging.getLogger("alembic.ratchet")


def upgrade() -> None:
    op.execute(f"create schema {SCHEMA}")
    op.execute(f"comment on schema {SCHEMA} is 'Numbers of Ratchet for whoever asks in SQL: docs/sql.md'")
    for make in (_projects, _series, _results, _samples, _runs, _devices, _changes, _checks, _verdicts):
        make()
    op.execute(_MAKE_ROLE)
    if op.get_bind().scalar(text("select 1 from pg_roles where rolname = :name"), {"name": READER}):
        op.execute(f"grant usage on schema {SCHEMA} to {READER}")
        op.execute(f"grant select on all tables in schema {SCHEMA} to {READER}")
    else:
        log.warning(
            "the role %s was not made, as this database user may make no roles; an administrator makes it by: "
            "create role %s nologin; grant usage on schema %s to %s; grant select on all tables in schema %s to %s;",
            *(READER, READER, SCHEMA, READER, SCHEMA, READER),
        )


def downgrade() -> None:
    op.execute(f"drop schema {SCHEMA} cascade")


# Each statement is tried by itself: the role may be another's, which we may grant to, but not alter.
_MAKE_ROLE = f"""
    do $$
    begin
      begin
        create role {READER} nologin;
      exception when duplicate_object or unique_violation or insufficient_privilege then null;
      end;
      begin
        alter role {READER} set statement_timeout = '30s';
        alter role {READER} set default_transaction_read_only = on;
      exception when undefined_object or insufficient_privilege then null;
      end;
    end $$
    """


def _view(name: str, about: str, columns: Columns, tables: str) -> None:
    chosen = ", ".join(f"{made_of} as {column}" for column, (made_of, _) in columns.items())
    op.execute(f"create view {SCHEMA}.{name} as select {chosen} from {tables}")
    comments = {f"view {SCHEMA}.{name}": about}
    comments |= {f"column {SCHEMA}.{name}.{column}": meaning for column, (_, meaning) in columns.items()}
    for what, meaning in comments.items():
        quoted = meaning.replace("'", "''")
        op.execute(text(f"comment on {what} is '{quoted}'".replace(":", "\\:")))


def _projects() -> None:
    _view(
        "projects",
        "Repositories under watch.",
        {
            "id": ("id", "Number of the project"),
            "name": ("name", "Its name"),
            "branch": ("branch", "The branch whose history is the project's"),
            "created_at": ("created_at", "When it was seen first"),
        },
        "project",
    )


def _series() -> None:
    _view(
        "series",
        "One metric of one case on one device class over commits.",
        {
            "id": ("series.id", "Number of the series, as in the address of its page"),
            "project_id": ("series.project_id", "The project"),
            "project": ("project.name", "Its name"),
            "benchmark": ("benchmark_case.benchmark", "The benchmark"),
            "params": ("benchmark_case.params", "What tells the case from others of the benchmark"),
            "metric": ("series.metric", "What is measured"),
            "unit": ("series.unit", "The base unit that values are in; 1 for a plain number"),
            "better": ("series.better", "Which way is better: lower or higher"),
            "device_class": ("series.device_class", "What it is measured on"),
            "version": ("series.version", "Changes with the benchmark file; empty for what was posted"),
            "created_at": ("series.created_at", "When it began"),
        },
        "series join project on project.id = series.project_id"
        " join benchmark_case on benchmark_case.id = series.case_id",
    )


def _results() -> None:
    _view(
        "results",
        "The points of series, each with its commit.",
        {
            "id": ("result.id", "Number of the result, in the order of arrival"),
            "series_id": ("result.series_id", "The series"),
            "branch": ("result.branch", "The branch whose history it is a point of; null for none"),
            "place": (
                "result.place",
                "Orders the history of series and branch, and then id; null until it is examined",
            ),
            "commit": ("its_commit.sha", "The commit's id"),
            "subject": ("its_commit.subject", "First line of its message"),
            "author": ("its_commit.author", "Its author"),
            "committed_at": ("its_commit.authored_at", "Its time, where somebody said it"),
            "value": ("result.value", "The median, in the series' unit"),
            "low": ("result.low", "The smallest value, or the lower end of a spread that was posted"),
            "high": ("result.high", "The largest value, or the upper end of a spread that was posted"),
            "n": ("result.n", "How many values it is the median of"),
            "arm": ("result.arm", "Which commit of its run: base or head"),
            "run_id": ("result.run_id", "The run that measured it; null for what was posted"),
            "upload_id": ("result.upload_id", "The post that brought it; null for what was measured"),
            "flags": ("result.flags", "What is doubtful about it"),
            "measured_at": ("result.measured_at", "When it was measured, or else received"),
        },
        "result join commit as its_commit on its_commit.id = result.commit_id",
    )


def _samples() -> None:
    _view(
        "samples",
        "The kept values of results, in the order in which they were measured.",
        {
            "result_id": ("result_id", "The result"),
            "all_values": ('"values"', "Every value, in the series' unit"),
            "void": ("void", "Indices, from 0, of those that do not count"),
        },
        "sample",
    )


def _runs() -> None:
    _view(
        "runs",
        "Jobs as agents executed them, the newest attempt and the earlier ones.",
        {
            "id": ("run.id", "Number of the run"),
            "project_id": ("run.project_id", "The project"),
            "job_id": ("run.job_id", "The job that it is an attempt of"),
            "suite": ("job.suite", "The suite"),
            "device_class": ("job.device_class", "What it was measured on"),
            "is_untrusted": ("job.is_untrusted", "Whether head is a stranger's commit, which joins no history"),
            "base": ("base.sha", "Base's commit; null where only head was measured"),
            "head": ("head.sha", "Head's commit"),
            "worker": ("worker.name", "The agent"),
            "attempt": ("attempt.number", "Which attempt of its job"),
            "outcome": ("attempt.outcome", "How it ended; null while it goes on"),
            "reason": ("attempt.reason", "Why, where it did not end well"),
            "device_s": ("greatest(run.device_s, attempt.device_s)", "Device time that it took, in seconds"),
            "machine": ("environment.machine", "Facts of the machine"),
            "software": ("environment.software", "What the commits' own set-up resolved"),
            "started_at": ("attempt.started_at", "When it began"),
            "ended_at": ("attempt.ended_at", "When it ended"),
        },
        "run join job on job.id = run.job_id join attempt on attempt.id = run.attempt_id"
        " join worker on worker.id = attempt.worker_id"
        " join commit as head on head.id = job.head_commit_id"
        " left join commit as base on base.id = job.base_commit_id"
        " left join environment on environment.id = run.environment_id",
    )


def _devices() -> None:
    _view(
        "devices",
        "What is measured on, with the newest A/A measurement of each.",
        {
            "id": ("device.id", "Number of the device"),
            "hardware_id": ("device.hardware_id", "What its driver calls it"),
            "device_class": ("device.device_class", "What it is"),
            "kind": ("device.kind", "How it is spoken to"),
            "model": ("device.model", "Its maker's name for it"),
            "worker": ("worker.name", "The agent that measures on it"),
            "health": ("device.health", "good, suspect or quarantined"),
            "machine_hash": ("device.machine_hash", "Equal as long as the machine is"),
            "grade": ("self_check.grade", "How good a place to measure it is, A to C"),
            "sigma_pair": ("self_check.sigma_pair", "Standard deviation of the logarithm of a pair"),
            "mde": ("self_check.mde", "The smallest change that is seen in most cases"),
            "graded_at": ("self_check.measured_at", "When that was found"),
        },
        "device join worker on worker.id = device.worker_id"
        " left join lateral (select * from self_check where device_id = device.id order by id desc limit 1)"
        " as self_check on true",
    )


def _changes() -> None:
    _view(
        "changes",
        "Where series changed.",
        {
            "id": ("change_point.id", "Number of the change"),
            "project_id": ("change_point.project_id", "The project"),
            "series_id": ("change_point.series_id", "The series"),
            "branch": ("change_point.branch", "The branch of the history"),
            "commit": ("its_commit.sha", "The first commit of the new level"),
            "previous_commit": ("previous.sha", "The one before it in the history"),
            "kind": ("change_point.kind", "step, ramp, spike or variance"),
            "state": ("change_point.state", "suspected, confirmed, withdrawn, episode or corrected"),
            "before": ("change_point.before", "Level before, in the series' unit"),
            "after": ("change_point.after", "Level after"),
            "change": ("change_point.change", "after/before - 1"),
            "ci_low": ("change_point.ci_low", "Lower end of its 95 % interval"),
            "ci_high": ("change_point.ci_high", "Upper end"),
            "p_value": ("change_point.p_value", "How probable it is by chance; null for exact metrics"),
            "is_worse": (
                "(change_point.after > change_point.before) = (series.better = 'lower')",
                "Whether it is for the worse; null for what is no change of level",
            ),
            "is_machine": ("change_point.label is not null", "Whether the machine moved, and not the code"),
            "reason": ("change_point.reason", "Why it is in its state"),
            "pull_request": ("origin.number", "The merged pull request that it came with"),
            "accepted_by": ("acceptance.accepted_by", "Who said that it is wanted; null if nobody did"),
            "accepted_at": ("acceptance.accepted_at", "When"),
            "alert_id": ("alert.id", "The alert that tells of it; null without one"),
            "alert_state": ("alert.state", "Where people moved that: new, acknowledged, and so on"),
            "first_seen_at": ("change_point.first_seen_at", "When it was seen first"),
            "confirmed_at": ("change_point.confirmed_at", "When it was confirmed"),
            "closed_at": ("change_point.closed_at", "When it was withdrawn, became an episode, or was corrected"),
        },
        "change_point join series on series.id = change_point.series_id"
        " join commit as its_commit on its_commit.id = change_point.commit_id"
        " join commit as previous on previous.id = change_point.previous_commit_id"
        " left join origin on origin.change_point_id = change_point.id"
        " left join acceptance on acceptance.change_point_id = change_point.id"
        " left join alert_change on alert_change.change_point_id = change_point.id and not alert_change.has_left"
        " left join alert on alert.id = alert_change.alert_id",
    )


def _checks() -> None:
    _view(
        "checks",
        "Base against head of one change, over all its suites and device classes.",
        {
            "id": ('"check".id', "Number of the check, as in the address of its page"),
            "project_id": ('"check".project_id', "The project"),
            "base": ("base.sha", "Base's commit"),
            "head": ("head.sha", "Head's commit"),
            "state": ('"check".state', "queued, running or complete"),
            "conclusion": (
                '"check".conclusion',
                "passed, regressed, inconclusive or not_measured; null until it is complete",
            ),
            "title": ('"check".title', "The same as a sentence"),
            "created_at": ('"check".created_at', "When it was asked for"),
            "concluded_at": ('"check".concluded_at', "When it was complete"),
        },
        '"check" join commit as base on base.id = "check".base_commit_id'
        ' join commit as head on head.id = "check".head_commit_id',
    )


def _verdicts() -> None:
    _view(
        "verdicts",
        "What checks found of each metric of each case, in the newest run of each of their jobs.",
        {
            "check_id": ('"check".id', "The check"),
            "run_id": ("verdict.run_id", "The run that it was found in"),
            "suite": ("job.suite", "The suite"),
            "device_class": ("job.device_class", "What it was measured on"),
            "benchmark": ("benchmark_case.benchmark", "The benchmark"),
            "params": ("benchmark_case.params", "What tells the case from others of the benchmark"),
            "metric": ("verdict.metric", "What was measured"),
            "unit": ("verdict.unit", "Its base unit"),
            "better": ("verdict.better", "Which way is better: lower or higher"),
            "is_gating": ("verdict.gating", "Whether it can fail the check"),
            "verdict": (
                "verdict.verdict",
                "regressed, improved, no_regression, inconclusive and others; null while it is open",
            ),
            "reason": ("verdict.reason", "Why it was not measured"),
            "change": ("verdict.change", "head/base - 1"),
            "is_worse": ("verdict.worse", "Whether that is for the worse"),
            "ci_low": ("verdict.ci_low", "Lower end of its interval"),
            "ci_high": ("verdict.ci_high", "Upper end"),
            "ci_level": ("verdict.ci_level", "The level of the interval"),
            "n_pairs": ("verdict.n_pairs", "Pairs that count"),
            "n_void": ("verdict.n_void", "Pairs that do not"),
            "could_hide": ("verdict.could_hide", "The largest change that might still be"),
            "sigma_pair": ("verdict.sigma_pair", "Standard deviation of the logarithm of a pair"),
            "grade": ("verdict.grade", "How good a place the machine was"),
            "flags": ("verdict.flags", "What else is to be known"),
            "settled_at": ("verdict.settled_at", "When it was settled"),
        },
        '"check" join request_job on request_job.request_id = "check".request_id'
        " join job on job.id = request_job.job_id"
        " join lateral (select id from run where job_id = job.id order by id desc limit 1) as newest on true"
        " join verdict on verdict.run_id = newest.id"
        " join benchmark_case on benchmark_case.id = verdict.case_id",
    )
