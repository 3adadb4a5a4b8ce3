"""What the database refuses, whoever writes: the transition table, settled verdicts, the audit log."""

from __future__ import annotations

import itertools

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.domain.jobs import TRANSITIONS, JobState
from app.store.repositories import access, projects
from app.store.tables import Job

pytestmark = pytest.mark.postgres

PATHS = (
    {
        JobState.QUEUED: [],
        JobState.LEASED: [JobState.LEASED],
        JobState.RUNNING: [JobState.LEASED, JobState.RUNNING],
    }
    | {
        state: [JobState.LEASED, JobState.RUNNING, state]
        for state in (JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED, JobState.SUPERSEDED)
    }
    | {state: [state] for state in (JobState.EXPIRED, JobState.NO_CAPACITY)}
)
"""How a job gets into each state."""


def job_in(session: Session, state: JobState) -> Job:
    project = projects.project(session, "guards")
    commit = projects.commit(session, project.id, "a" * 40)
    job = Job(
        project_id=project.id, key="k", suite="s", device_class="c", head_commit_id=commit.id,
        spec={}, policy={}, budget_s=1.0, max_pairs=96,
    )  # fmt: skip
    session.add(job)
    session.flush()
    for step in PATHS[state]:
        job.state = step
        session.flush()
    return job


@pytest.mark.parametrize(("before", "after"), list(itertools.permutations(JobState, 2)))
def test_job_moves_exactly_along_the_transition_table(
    session: Session, before: JobState, after: JobState
) -> None:
    job = job_in(session, before)
    job.state = after
    if after in TRANSITIONS[before]:
        session.flush()
    else:
        with pytest.raises(IntegrityError, match="cannot go from"):
            session.flush()


def test_job_begins_as_queued(session: Session) -> None:
    job = job_in(session, JobState.QUEUED)
    columns = "project_id, key, suite, device_class, head_commit_id, spec, policy, budget_s, max_pairs, state"
    statement = f"insert into job ({columns})"
    values = " values (:p, 'other', 's', 'c', :c, '{}', '{}', 1, 96, 'running')"
    with pytest.raises(IntegrityError, match="begins as queued"):
        session.execute(text(statement + values), {"p": job.project_id, "c": job.head_commit_id})


@pytest.mark.parametrize("statement", ["update audit_log set actor = 'x'", "delete from audit_log"])
def test_audit_log_is_append_only(session: Session, statement: str) -> None:
    access.audit(session, "me", "did", "it")
    session.flush()
    with pytest.raises(IntegrityError, match="append-only"):
        session.execute(text(statement))
