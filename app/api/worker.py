"""What agents call: register, claim, heartbeat, prepared, invocations, finish, sign off."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import Query, Request, Response
from fastapi.concurrency import run_in_threadpool

from app.api.deps import (
    Body,
    Relayed,
    ServiceDep,
    SessionDep,
    WorkerPrincipal,
    get_agent,
    parse,
)
from app.api.hub import Hub
from app.api.routing import Router, asking
from app.services.keep_late import keeping_late
from app.services.lease_jobs import beat, claim_job, finish_lease, sign_off
from app.services.plan_run import plan_run
from app.services.record_invocation import record_invocation
from app.services.register_worker import register_worker
from workers import protocol

router = Router(prefix="/api/v1/worker", tags=["worker"], include_in_schema=False)

MAX_WAIT_S = 30.0


@router.post("/register")
def register(
    body: Body, service: ServiceDep, session: SessionDep, principal: WorkerPrincipal
) -> protocol.Registered:
    """Introduce an agent and its devices."""
    return register_worker(session, service.settings, principal, parse(protocol.Register, body))


@router.post("/claim", response_model=None)
async def claim(
    request: Request,
    body: Body,
    wait: Annotated[float, Query(ge=0, le=MAX_WAIT_S)] = 0,
) -> protocol.Lease | Response:
    """Return a lease, or 204 when there was nothing to do for `wait` seconds.

    While it waits the call holds neither a thread nor a session.
    """
    message = parse(protocol.Claim, body)
    hub: Hub = request.app.state.hub
    deadline = asyncio.get_running_loop().time() + wait
    with hub.listen("job:") as news:
        while True:
            if await request.is_disconnected():
                return Response(status_code=204)
            lease = await run_in_threadpool(_claim, request, message)
            left = deadline - asyncio.get_running_loop().time()
            if lease is not None:
                return lease
            if left <= 0 or not await news.wait(left):
                return Response(status_code=204)


def _claim(request: Request, message: protocol.Claim) -> protocol.Lease | None:
    with asking(request) as asked:
        return claim_job(asked.session, asked.service.settings, asked.of(get_agent), message)


@router.post("/sign-off")
def take_sign_off(body: Body, session: SessionDep, _: WorkerPrincipal) -> dict[str, str]:
    """Hear that an agent was stopped and ends."""
    sign_off(session, parse(protocol.SignOff, body))
    return {}


@router.post("/leases/{lease_id}/heartbeat")
def heartbeat(
    lease_id: str, body: Body, service: ServiceDep, session: SessionDep, _: WorkerPrincipal
) -> protocol.HeartbeatAnswer:
    """Extend the lease, or hear that it has ended."""
    return beat(session, service.settings, lease_id, parse(protocol.Heartbeat, body))


@router.post("/leases/{lease_id}/prepared")
def prepared(
    lease_id: str, body: Body, service: ServiceDep, session: SessionDep, principal: WorkerPrincipal
) -> protocol.OpenCases:
    """Say how the arms were prepared; the answer fixes what is measured."""
    message = parse(protocol.Prepared, body)
    with keeping_late(service.database, session, principal, lease_id, "prepared", body):
        return plan_run(session, lease_id, message)


@router.post("/leases/{lease_id}/invocations")
def invocations(
    lease_id: str, body: Body, service: ServiceDep, session: SessionDep, principal: WorkerPrincipal
) -> protocol.OpenCases:
    """Post one invocation; the answer names the cases that are still open."""
    message = parse(protocol.Invocation, body)
    with keeping_late(service.database, session, principal, lease_id, "invocation", body):
        return record_invocation(session, lease_id, message, body)


@router.post("/leases/{lease_id}/finish")
def finish(
    lease_id: str,
    body: Body,
    service: ServiceDep,
    session: SessionDep,
    _then: Relayed,
    principal: WorkerPrincipal,
) -> dict[str, str]:
    """End the lease; what it measured is published."""
    message = parse(protocol.Finish, body)
    with keeping_late(service.database, session, principal, lease_id, "finish", body):
        finish_lease(session, lease_id, message)
    return {}
