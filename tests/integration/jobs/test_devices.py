"""Jobs that hold several devices of one worker: who gets which, and who waits."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from app.services.conclude_check import conclude_check
from app.services.lease_jobs import sweep_leases
from app.wiring import Service
from tests.factories.agent import FakeAgent, latency_listing
from tests.factories.checks import SETTINGS
from workers import protocol

pytestmark = pytest.mark.postgres

SIM = "sim-test"
LISTING = latency_listing("resize")


class ManyDevices(FakeAgent):
    """An agent with three like devices, which could measure several jobs at a time."""

    ids = ("sim-0", "sim-1", "sim-2")

    def register(self) -> Any:
        devices = [
            protocol.DeviceReport(hardware_id=name, kind="simulated", device_class=SIM) for name in self.ids
        ]
        message = protocol.Register(name=self.name, host=self.host, instance=self.instance, devices=devices)
        response = self.post("register", message)
        self.worker_id = response.json()["worker_id"]
        return response

    def claim(self) -> protocol.Lease | None:
        message = protocol.Claim(
            worker_id=self.worker_id, instance=self.instance, hardware_ids=list(self.ids)
        )
        response = self.post("claim", message)
        self.lease = None if response.status_code == 204 else protocol.Lease.model_validate(response.json())
        return self.lease


@pytest.fixture
def many(client: TestClient, worker_token: str) -> ManyDevices:
    agent = ManyDevices(client, worker_token)
    assert agent.register().status_code == 200
    return agent


def needing(devices: int, name: str = "inference") -> str:
    """Settings with one suite that needs so many devices."""
    settings = SETTINGS.format(devices="sim-*").replace('name = "inference"', f'name = "{name}"')
    return settings.replace("benchmarks =", f"devices_needed = {devices}\nbenchmarks =")


def test_a_lease_holds_as_many_devices_as_its_job_needs(
    service: Service, many: ManyDevices, ask: Any
) -> None:
    ask(settings=needing(2))
    lease = many.claim()
    assert lease is not None
    assert lease.job.hardware_ids == ["sim-0", "sim-1"]
    with service.database.session() as session:
        query = text("select count(*) from lease_device where lease_id = :lease and active")
        assert session.scalar(query, {"lease": lease.lease_id}) == 2


def test_a_second_job_waits_until_enough_devices_are_free(many: ManyDevices, ask: Any) -> None:
    ask(settings=needing(2))
    ask(settings=needing(2, "training"))
    first = many.claim()
    assert first is not None
    many.beat()
    assert many.claim() is None, "one device is free, and the job needs two"

    many.lease = first
    assert many.finish("cancelled").status_code == 200
    second = many.claim()
    assert second is not None
    assert (second.job.suite.name, second.job.hardware_ids) == ("training", ["sim-0", "sim-1"])


def test_a_job_on_one_device_takes_the_one_that_is_left(many: ManyDevices, ask: Any) -> None:
    ask(settings=needing(2))
    ask(settings=needing(1, "small"))
    assert many.claim() is not None
    many.beat()
    left = many.claim()
    assert left is not None
    assert (left.job.suite.name, left.job.hardware_ids) == ("small", ["sim-2"])


def test_a_lost_lease_on_several_devices_lets_all_of_them_rest(
    service: Service, many: ManyDevices, ask: Any
) -> None:
    ask(settings=needing(2))
    assert many.claim() is not None
    with service.database.session() as session:
        session.execute(text("update job set lease_until = clock_timestamp() - interval '1 second'"))
        assert sweep_leases(session, service.settings) == 1
    with service.database.session() as session:
        resting = session.scalars(
            text("select hardware_id from device where available_at > clock_timestamp()")
        )
        assert sorted(resting) == ["sim-0", "sim-1"]


def test_a_job_that_needs_more_devices_than_any_worker_has_is_refused_at_once_with_the_numbers(
    service: Service, many: ManyDevices, ask: Any
) -> None:
    progress = ask(settings=needing(4))
    (job,) = progress["jobs"]
    assert job["state"] == "no_capacity"
    assert many.claim() is None
    with service.database.session() as session:
        assert str(conclude_check(session, progress["check"])) == "not_measured"
        message = session.scalar(text("select message from job"))
    assert message == (
        "the suite needs 4 devices of class sim-test on one worker; the most that one has is 3"
    )


def test_devices_of_two_workers_are_not_counted_together(
    client: TestClient, worker_token: str, many: ManyDevices, ask: Any
) -> None:
    other = ManyDevices(client, worker_token, name="other", host="elsewhere")
    other.ids = ("sim-3", "sim-4", "sim-5")
    assert other.register().status_code == 200
    assert ask(settings=needing(4))["jobs"][0]["state"] == "no_capacity"
