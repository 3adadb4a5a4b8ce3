"""Somebody asks for a check: it becomes a request, a check, and one paired job for each suite and device class."""

from __future__ import annotations

import shlex
import uuid
from collections.abc import Mapping

from sqlalchemy.orm import Session

from app.analysis.sequential import ALPHA
from app.config import ServiceSettings
from app.domain.errors import ConflictError, UsageError
from app.domain.jobs import JobState
from app.domain.results import CommitRef
from app.services.access import Principal, Scope
from app.services.capacity import live_classes, say_if_quarantined, why_no_capacity
from app.services.check_request import CheckRequest
from app.services.job_of_suite import JobContext, job_of_suite
from app.services.lease_jobs import end_job, hint
from app.services.plan_check import Plan, Planned, plan_again, plan_whole
from app.settings import SuiteSettings, settings_digest
from app.store.repositories import access, checks, outbox, projects
from app.store.repositories.upsert import get_or_create
from app.store.tables import Check, Commit, Project, Request, RequestJob


def request_check(
    session: Session, service: ServiceSettings, principal: Principal, wanted: CheckRequest
) -> Check:
    """Store the check with its jobs and wake the agents; return the check, an existing one for a known key.

    Raises UsageError for a suite that the settings do not have, AccessError for a project whose checks are not the
    principal's to ask for.
    """
    suites = {suite.name: suite for suite in wanted.settings.suites}
    _refuse_unknown(wanted, suites)
    project = projects.project(session, wanted.settings.project.name)
    principal.require_for(Scope.JOBS_CREATE, project.id, project.name)
    if not wanted.untrusted and wanted.base_branch != "":  # what was picked by hand says nothing of it
        project.branch = wanted.settings.project.branch
    request, new = _request(session, project, principal, wanted)
    base, head = (_commit(session, project, info) for info in (wanted.base, wanted.head))
    if not new:
        return _check_of(session, request, wanted, base, head)
    check = _check(session, project, request, base, head, wanted)
    plan = _plan(session, service, wanted, suites)
    for job in plan.kept:
        session.add(RequestJob(request_id=request.id, job_id=job.id))
    context = JobContext(project, request, base, head, wanted, plan.n_jobs)
    for planned in plan.new:
        _add_job(session, service, context, planned)
    if not plan.new:  # else the last of its jobs has it concluded
        outbox.put(session, "check.conclude", f"check.conclude/{check.id}", {"check_id": check.id})
    access.audit(session, principal.name, "check.requested", f"check/{check.id}", project=project.name)
    return check


def _refuse_unknown(wanted: CheckRequest, known: Mapping[str, SuiteSettings]) -> None:
    named = (*wanted.suites, *(wish.suite for wish in wanted.wishes))
    unknown = next((name for name in named if name not in known), None)
    if unknown is not None:
        raise UsageError(
            f"no suite named {unknown!r} in ratchet.toml; it has: {', '.join(sorted(known))}", code="no_suite"
        )


def _plan(
    session: Session, service: ServiceSettings, wanted: CheckRequest, suites: Mapping[str, SuiteSettings]
) -> Plan:
    live = live_classes(session, service, untrusted=wanted.untrusted)
    wished = [(suites[wish.suite], wish.device) for wish in wanted.wishes]
    if wanted.beside is not None:
        return plan_again(session, wanted.beside, wished, live)
    takes_all = not wanted.suites and not wanted.wishes
    anyway = [suite for name, suite in suites.items() if takes_all or name in wanted.suites]
    return plan_whole(anyway, wanted.devices, wished, live)


def _request(
    session: Session, project: Project, principal: Principal, wanted: CheckRequest
) -> tuple[Request, bool]:
    key = wanted.key or f"{wanted.trigger}/{uuid.uuid4()}/{wanted.base.sha}/{wanted.head.sha}"
    full = f"{project.id}/{key}"
    rest = {"project_id": project.id, "trigger": wanted.trigger, "asked_by": principal.name}
    return get_or_create(session, Request, {"key": full}, **rest)


def _check_of(session: Session, request: Request, wanted: CheckRequest, base: Commit, head: Commit) -> Check:
    """Return the check that this key made. Raises ConflictError if it was asked for something else."""
    check = checks.of_request(session, request.id)
    assert check is not None
    its = check.settings
    known = (check.base_commit_id, check.head_commit_id, its["digest"], its.get("untrusted", False))
    if known != (base.id, head.id, settings_digest(wanted.settings), wanted.untrusted):
        raise ConflictError(
            f"the key {wanted.key!r} was used for another check, {check.id}", code="idempotency_conflict"
        )
    return check


def _commit(session: Session, project: Project, info: CommitRef) -> Commit:
    return projects.commit(
        session,
        project.id,
        info.sha,
        subject=info.subject,
        author=info.author,
        authored_at=info.date,
    )


def _check(
    session: Session, project: Project, request: Request, base: Commit, head: Commit, wanted: CheckRequest
) -> Check:
    gate = wanted.settings.gate
    check = Check(
        project_id=project.id,
        request_id=request.id,
        base_commit_id=base.id,
        head_commit_id=head.id,
        alpha=ALPHA,
        settings={
            "minimum_effect": gate.minimum_effect,
            "tolerance": gate.tolerance,
            "strict": gate.strict,
            "comment": wanted.settings.project.comment,
            "suites": [suite.name for suite in wanted.settings.suites],
            "digest": settings_digest(wanted.settings),
            "untrusted": wanted.untrusted,
        },
        reproduce=_reproduce(wanted),
    )
    session.add(check)
    session.flush()
    return check


def _reproduce(wanted: CheckRequest) -> str:
    words = ["ratchet check --repo .", f"--base {wanted.base.sha[:12]}", f"--head {wanted.head.sha[:12]}"]
    named = dict.fromkeys((*wanted.suites, *(wish.suite for wish in wanted.wishes)))
    words += [f"--suite {shlex.quote(name)}" for name in named]
    words += [f"--device {shlex.quote(glob)}" for glob in wanted.devices]
    return " ".join(words)


def _add_job(session: Session, service: ServiceSettings, context: JobContext, planned: Planned) -> None:
    job = job_of_suite(session, service, context, planned.suite, planned.device_class)
    reason = why_no_capacity(session, service, planned, untrusted=context.wanted.untrusted)
    if reason is None:
        say_if_quarantined(session, service, job)
        hint(session, job)
    elif job.state == JobState.QUEUED:
        end_job(session, job, JobState.NO_CAPACITY, reason="no_capacity", message=reason)
