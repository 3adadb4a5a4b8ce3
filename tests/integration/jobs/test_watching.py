"""What nobody reports of the fleet: agents that fall silent, and classes that nobody serves though jobs wait."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select, text

from app.domain.incidents import IncidentEnd
from app.services.list_workers import list_workers
from app.services.quarantine import release
from app.services.watch_fleet import watch_fleet
from app.store.tables import Device, Incident
from app.wiring import Service
from tests.factories import stored
from tests.factories.agent import CPU, FakeAgent
from tests.integration.jobs.conftest import Ask
from workers import protocol

pytestmark = pytest.mark.postgres

LONG = timedelta(minutes=4)
"""Longer than an agent may be silent."""


def sql(service: Service, statement: str, **values: object) -> None:
    with service.database.session() as session:
        session.execute(text(statement), values)


def watch(service: Service, *, gap: bool = False) -> list[tuple[str, str, str | None]]:
    """Look at the fleet as the sweep does, ever since long ago or after a gap; return all incidents."""
    if not gap:
        with service.database.session() as session:
            watch_fleet(session, service.settings)
        sql(service, "update watermark set at = at - interval '1 hour' where name = 'fleet.watched_from'")
    with service.database.session() as session:
        watch_fleet(session, service.settings)
    with service.database.session() as session:
        rows = session.scalars(select(Incident).order_by(Incident.id)).all()
        return [(row.kind, row.name, row.ended_by) for row in rows]


def be_silent(service: Service, for_: timedelta = LONG) -> None:
    sql(service, "update worker set last_seen_at = clock_timestamp() - :age", age=for_)


def sign_off(agent: FakeAgent) -> int:
    message = protocol.SignOff(worker_id=agent.worker_id, instance=agent.instance)
    return agent.post("sign-off", message).status_code


def test_agent_that_falls_silent_is_missed_until_it_is_back(service: Service, agent: FakeAgent) -> None:
    assert watch(service) == []
    be_silent(service)
    assert watch(service) == [("lost", "agent", None)]
    assert watch(service) == [("lost", "agent", None)], "once"
    with service.database.session() as session:
        (row,) = session.scalars(select(Incident))
        assert (row.classes, row.detail["devices"], row.detail["host"]) == ([CPU], ["cpu-0001"], "host")
        seen = datetime.fromisoformat(row.detail["last_seen_at"])
        assert timedelta(minutes=3) < datetime.now(UTC) - seen < timedelta(minutes=5)
    assert agent.claim() is None
    assert watch(service) == [("lost", "agent", "heard")]


def test_agent_that_signed_off_is_not_missed(service: Service, agent: FakeAgent) -> None:
    assert sign_off(agent) == 200
    with service.database.session() as session:
        (shown,) = list_workers(session, live_for=LONG)
    assert (shown.is_live, shown.has_left) == (False, True)
    be_silent(service)
    assert watch(service) == []
    assert agent.register().status_code == 200
    be_silent(service)
    assert watch(service) == [("lost", "agent", None)], "its next start is"


def test_agent_that_signed_off_gets_no_job_by_a_claim_that_was_on_its_way(
    service: Service, agent: FakeAgent, ask: Ask
) -> None:
    ask()
    assert sign_off(agent) == 200
    assert agent.claim() is None
    assert agent.register().status_code == 200
    assert agent.claim() is not None


def test_an_earlier_start_signs_nobody_off(service: Service, agent: FakeAgent) -> None:
    message = protocol.SignOff(worker_id=agent.worker_id, instance="before")
    refused = agent.post("sign-off", message)
    assert (refused.status_code, refused.json()["code"]) == (409, "superseded_agent")
    be_silent(service)
    assert watch(service) == [("lost", "agent", None)]


def test_agent_without_a_device_is_not_missed_and_no_more_once_another_has_it(
    service: Service, agent: FakeAgent
) -> None:
    be_silent(service)
    watch(service)
    heir = FakeAgent(agent.client, agent.token, name="heir")
    assert heir.register().status_code == 200
    assert watch(service) == [("lost", "agent", "taken_over")]


def test_agent_that_was_silent_for_a_month_is_missed_no_more(service: Service, agent: FakeAgent) -> None:
    be_silent(service)
    watch(service)
    be_silent(service, timedelta(days=31))
    assert watch(service) == [("lost", "agent", "forgotten")]
    assert watch(service) == [("lost", "agent", "forgotten")]


def test_after_a_time_in_which_nobody_watched_agents_have_time_to_come_back(
    service: Service, agent: FakeAgent, ask: Ask
) -> None:
    watch(service)
    ask()
    be_silent(service)
    sql(service, "update job set created_at = created_at - interval '1 hour'")
    sql(service, "update watermark set at = at - interval '2 minutes' where name = 'fleet.watched'")
    assert watch(service, gap=True) == [], "the service was away, not they"
    assert watch(service) == [("lost", "agent", None), ("unserved", CPU, None)]


def test_restored_service_that_observes_misses_nobody(service: Service, agent: FakeAgent) -> None:
    sql(
        service,
        "insert into restoration (backup, backup_at, version, revision) values ('b', clock_timestamp(), '1', '1')",
    )
    be_silent(service)
    with service.database.session() as session:
        watch_fleet(session, service.settings)
        assert session.scalars(select(Incident)).all() == []


def put_away(service: Service, *, days_ago: int) -> None:
    """Have the agent's device be in quarantine, and nothing noted of it but in the audit log."""
    with service.database.session() as session:
        device = session.scalars(select(Device)).one()
        stored.put_away(session, device, {"ecc_uncorrected": 2}, ago=timedelta(days=days_ago))


def test_device_that_was_in_quarantine_before_incidents_were_noted_gets_one_as_of_then(
    service: Service, agent: FakeAgent
) -> None:
    put_away(service, days_ago=40)
    assert watch(service) == [("quarantined", "cpu-0001", None)]
    assert watch(service) == [("quarantined", "cpu-0001", None)], "once"
    with service.database.session() as session:
        (row,) = session.scalars(select(Incident))
        assert (row.classes, row.detail) == ([CPU], {"ecc_uncorrected": 2})
        assert timedelta(days=39) < datetime.now(UTC) - row.opened_at < timedelta(days=41)
        release(session, session.scalars(select(Device)).one(), IncidentEnd.ADMINISTRATOR)
    assert watch(service) == [("quarantined", "cpu-0001", "administrator")]


def test_device_in_quarantine_of_which_nothing_is_known_has_no_incident(
    service: Service, agent: FakeAgent
) -> None:
    sql(service, "update device set health = 'quarantined'")
    assert watch(service) == []


def test_device_that_is_being_released_just_now_gets_no_incident(service: Service, agent: FakeAgent) -> None:
    put_away(service, days_ago=1)
    with service.database.session() as session:
        release(session, session.scalars(select(Device)).one(), IncidentEnd.CALIBRATION)
        session.flush()
        assert watch(service) == []
    assert watch(service) == []


def test_class_that_nobody_serves_is_told_once_jobs_have_waited_for_long(
    service: Service, agent: FakeAgent, ask: Ask
) -> None:
    ask()
    sql(service, "update device set health = 'quarantined'")
    assert watch(service) == [], "they have not waited for long"
    sql(service, "update job set created_at = created_at - interval '20 minutes'")
    assert watch(service) == [("unserved", CPU, None)]
    sql(service, "update device set health = 'good'")
    assert watch(service) == [("unserved", CPU, "served")]


def test_class_is_waited_for_no_more_once_its_jobs_are_given_up(
    service: Service, agent: FakeAgent, ask: Ask
) -> None:
    ask()
    sql(service, "update device set health = 'maintenance'")
    sql(service, "update job set created_at = created_at - interval '20 minutes'")
    watch(service)
    sql(service, "update job set state = 'cancelled'")
    assert watch(service) == [("unserved", CPU, "nothing_waits")]


def test_jobs_that_wait_for_a_class_that_is_served_are_no_incident(
    service: Service, agent: FakeAgent, ask: Ask
) -> None:
    ask()
    sql(service, "update job set created_at = created_at - interval '20 minutes'")
    assert watch(service) == []
