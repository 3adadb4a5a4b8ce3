"""What the service does about machines: their epochs, their health, and the jobs that look after them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select, text
from sqlalchemy.orm import Session

from app.services import device_jobs
from app.services.access import Scope, issue_token
from app.services.device_jobs import BANDS, LONGEST_SPACING, SPACING, tend_devices
from app.services.device_purpose import Purpose
from app.services.lease_jobs import sweep_leases
from app.services.list_workers import list_workers
from app.store.repositories import clock
from app.store.tables import AuditLog, Control, Device, Epoch, Incident, Job, Run, SelfCheck, Verdict
from app.wiring import Service
from tests.factories.agent import FakeAgent, hash_of, latency_listing
from tests.factories.checks import SETTINGS
from tests.integration.jobs.conftest import Ask
from workers import protocol

pytestmark = pytest.mark.postgres

MACHINE = {"driver": "550.54", "kernel": "6.1", "clock_policy": None}
USUAL = {"gemm_bf16": 0.010, "triad": 0.002}
SLOW = {"gemm_bf16": 0.013, "triad": 0.002}
CASE = protocol.CaseId(benchmark="resize")
LISTING = latency_listing("resize")
BASE, HEAD = "a" * 40, "b" * 40
NEVER, ALWAYS = (0, 0), (0, 24)
"""Hours of nights."""


@pytest.fixture(autouse=True)
def nothing_failed(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Whatever failed while devices were looked after was only logged."""
    yield
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == []


@pytest.fixture
def hosted(agent: FakeAgent) -> FakeAgent:
    """An agent with an accelerator that tells of its machine, and whose control is as usual."""
    agent.machine, agent.start, agent.kind = dict(MACHINE), dict(USUAL), "simulated"
    assert agent.register().status_code == 200
    return agent


TO_ITS_END = 40
"""More blocks than it takes until nothing is open; a machine is seen with the first."""


def measure(agent: FakeAgent, latency: float = 0.01, *, blocks: int = 1, **told: Any) -> None:
    """Measure so many blocks of the lease that the agent holds, both arms alike but for some noise, and finish it."""
    assert agent.lease is not None
    is_alone = agent.lease.job.base_sha is None
    answer = agent.prepare(None if is_alone else [LISTING], [LISTING])
    for _ in range(blocks):
        if not answer.open:
            break
        answer = agent.block(
            CASE,
            lambda arm, pair: latency * (1 + 0.004 * ((pair * 7 + (arm == "head") * 3) % 5 - 2)),
            told=lambda arm, pair: told,
            arms=("head",) if is_alone else ("base", "head"),
        )
    assert agent.finish().status_code == 200


def run(agent: FakeAgent, ask: Ask, base: str = BASE, head: str = HEAD, **told: Any) -> None:
    """Have a check measured."""
    ask(base={"sha": base}, head={"sha": head})
    assert agent.claim() is not None
    measure(agent, **told)


def land(agent: FakeAgent, ask: Ask) -> None:
    """Have a head measured that becomes the base of the next check: it has landed."""
    run(agent, ask, "a" * 40, "b" * 40)
    run(agent, ask, "b" * 40, "c" * 40)


def remember(service: Service, times: dict[str, float], n: int = 12, hardware_id: str = "cpu-0001") -> None:
    """Have a device's control seen so many times, within a thousandth of these times, yesterday and before.

    Its epoch is older.
    """
    with service.database.session() as session:
        device = device_of(session, hardware_id)
        run_id = session.scalars(select(Run.id).order_by(Run.id.desc()).limit(1)).one()
        session.execute(text("update epoch set began_at = began_at - interval '60 days'"))
        now = datetime.now(UTC)
        for i in range(n):
            probes = {
                name: {"seconds": seconds * (1 + 0.001 * (i % 3 - 1))} for name, seconds in times.items()
            }
            session.add(
                Control(
                    run_id=run_id,
                    device_id=device.id,
                    moment="start",
                    version="kit-1",
                    backend="test",
                    probes=probes,
                    unavailable={},
                    duration_s=1.0,
                    measured_at=now - timedelta(days=1 + i),
                )
            )


def device_of(session: Session, hardware_id: str = "cpu-0001") -> Device:
    return session.scalars(select(Device).where(Device.hardware_id == hardware_id)).one()


def health(service: Service, hardware_id: str = "cpu-0001") -> str:
    with service.database.session() as session:
        return device_of(session, hardware_id).health


def rows(service: Service, table: Any, *where: Any) -> list[Any]:
    with service.database.session() as session:
        return list(session.scalars(select(table).where(*where).order_by(table.id)).all())


@dataclass
class LateClock:
    """The database's clock, so much later."""

    later: timedelta

    def now(self, session: Session, *, plus_s: float = 0.0) -> datetime:
        return clock.now(session, plus_s=plus_s) + self.later


def tend(service: Service, night: tuple[int, int] = NEVER, *, later: timedelta = timedelta()) -> int:
    """Look after the devices as the sweep does, in nights of these hours, when so much time has passed."""
    hours = {"self_check_from": night[0], "self_check_until": night[1]}
    with service.database.session() as session, pytest.MonkeyPatch.context() as patch:
        patch.setattr(device_jobs, "clock", LateClock(later))
        return tend_devices(session, service.settings.model_copy(update=hours))


def own_jobs(service: Service, purpose: Purpose) -> list[Job]:
    return rows(service, Job, Job.policy["purpose"].astext == str(purpose))


def sql(service: Service, statement: str, **values: Any) -> None:
    with service.database.session() as session:
        session.execute(text(statement), values)


def devices(client: TestClient, token: str) -> dict[str, dict[str, Any]]:
    response = client.get("/api/v1/devices", headers={"Authorization": f"Bearer {token}"})
    assert response.status_code == 200, response.text
    return {device["hardware_id"]: device for device in response.json()["devices"]}


# --- epochs ---------------------------------------------------------------------------------------------------


def test_the_first_run_on_a_device_begins_its_first_epoch(
    service: Service, hosted: FakeAgent, ask: Ask
) -> None:
    run(hosted, ask)
    run(hosted, ask)
    (epoch,) = rows(service, Epoch)
    assert (epoch.machine, epoch.changes, epoch.machine_hash) == (MACHINE, {}, hash_of(MACHINE))
    assert rows(service, AuditLog, AuditLog.action == "device.epoch") == []


def test_another_machine_begins_an_epoch_told_with_what_changed(
    service: Service, client: TestClient, admin_token: str, hosted: FakeAgent, ask: Ask
) -> None:
    run(hosted, ask)
    hosted.machine |= {"driver": "560.28"}
    run(hosted, ask)
    first, second = rows(service, Epoch)
    changes = {"driver": ["550.54", "560.28"]}
    assert (first.changes, second.changes) == ({}, changes)
    assert second.began_at > first.began_at
    assert devices(client, admin_token)["cpu-0001"]["epoch"]["changes"] == changes
    (told,) = rows(service, AuditLog, AuditLog.action == "device.epoch")
    assert told.detail["changes"] == changes


def test_a_machine_that_goes_to_and_fro_begins_an_epoch_each_time(
    service: Service, hosted: FakeAgent, ask: Ask
) -> None:
    for driver in ("550", "560", "550"):
        hosted.machine["driver"] = driver
        run(hosted, ask)
    assert [epoch.changes for epoch in rows(service, Epoch)] == [
        {},
        {"driver": ["550", "560"]},
        {"driver": ["560", "550"]},
    ]


def test_another_hash_of_a_machine_that_tells_nothing_is_a_change(
    service: Service, agent: FakeAgent, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(agent, ask)
    monkeypatch.setattr(agent, "fingerprint", lambda: {"machine_hash": "m2"})
    run(agent, ask)
    assert rows(service, Epoch)[-1].changes == {"machine_hash": ["m1", "m2"]}


def test_what_a_tool_does_not_tell_for_once_is_no_change(
    service: Service, hosted: FakeAgent, ask: Ask
) -> None:
    for driver in ("550", None, "550"):
        hosted.machine["driver"] = driver
        run(hosted, ask)
    assert len(rows(service, Epoch)) == 1


def test_what_is_told_at_last_belongs_to_the_epoch(service: Service, hosted: FakeAgent, ask: Ask) -> None:
    for policy in (None, "locked", None, "automatic"):
        hosted.machine["clock_policy"] = policy
        run(hosted, ask)
    first, second = rows(service, Epoch)
    assert first.machine == {**MACHINE, "clock_policy": "locked"}
    assert second.changes == {"clock_policy": ["locked", "automatic"]}


def test_without_a_hash_there_are_no_epochs(
    service: Service, agent: FakeAgent, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent, "fingerprint", lambda: {"machine_hash": ""})
    run(agent, ask)
    assert rows(service, Epoch) == []


class TwoDevices(FakeAgent):
    """An agent with two like devices, each of which is told apart."""

    ids = ("sim-0", "sim-1")
    using: tuple[str, ...] = ids

    def register(self) -> Any:
        reports = [
            protocol.DeviceReport(hardware_id=name, kind="simulated", device_class="sim-test")
            for name in self.ids
        ]
        message = protocol.Register(name=self.name, host=self.host, instance=self.instance, devices=reports)
        response = self.post("register", message)
        self.worker_id = response.json()["worker_id"]
        return response

    def claim(self) -> protocol.Lease | None:
        message = protocol.Claim(
            worker_id=self.worker_id, instance=self.instance, hardware_ids=list(self.using)
        )
        response = self.post("claim", message)
        self.pairs = 0
        self.lease = None if response.status_code == 204 else protocol.Lease.model_validate(response.json())
        return self.lease

    def fingerprint(self) -> dict[str, Any]:
        assert self.lease is not None
        machines = [{**MACHINE, "driver": self.machine[name]} for name in self.lease.job.hardware_ids]
        if len(machines) == 1:
            return {"machine_hash": hash_of(machines[0]), "fingerprint": {"machine": machines[0]}}
        merged = {**MACHINE, "driver": [machine["driver"] for machine in machines]}
        return {
            "machine_hash": hash_of(merged),
            "fingerprint": {"machine": merged},
            "machines": machines,
        }


@pytest.fixture
def two(client: TestClient, worker_token: str) -> TwoDevices:
    agent = TwoDevices(client, worker_token, machine={"sim-0": "550", "sim-1": "550"})
    assert agent.register().status_code == 200
    return agent


def settings_for(devices_needed: int) -> str:
    needed = f"devices_needed = {devices_needed}\nbenchmarks ="
    return SETTINGS.format(devices="sim-*").replace("benchmarks =", needed)


def run_on(two: TwoDevices, ask: Ask, *names: str) -> None:
    """Have a check measured on these devices together."""
    two.using = names
    ask(settings=settings_for(len(names)))
    assert two.claim() is not None
    measure(two)


def test_a_device_is_the_same_machine_alone_and_beside_others(
    service: Service, two: TwoDevices, ask: Ask
) -> None:
    for names in (("sim-0",), ("sim-0", "sim-1"), ("sim-1",), ("sim-0",)):
        run_on(two, ask, *names)
    assert [(epoch.changes, epoch.machine["driver"]) for epoch in rows(service, Epoch)] == [({}, "550")] * 2


def test_of_several_devices_only_the_changed_one_begins_an_epoch(
    service: Service, two: TwoDevices, ask: Ask
) -> None:
    run_on(two, ask, "sim-0", "sim-1")
    two.machine["sim-1"] = "560"
    run_on(two, ask, "sim-0", "sim-1")
    (begun,) = [epoch for epoch in rows(service, Epoch) if epoch.changes]
    with service.database.session() as session:
        assert begun.device_id == device_of(session, "sim-1").id
    assert begun.changes == {"driver": ["550", "560"]}


# --- control and health ---------------------------------------------------------------------------------------


@pytest.fixture
def known(service: Service, hosted: FakeAgent, ask: Ask) -> FakeAgent:
    """An agent whose device's control has been seen a dozen times."""
    run(hosted, ask)
    remember(service, USUAL)
    return hosted


def test_a_control_that_is_off_puts_the_device_into_quarantine_and_nothing_is_measured_on_it(
    service: Service, client: TestClient, admin_token: str, known: FakeAgent, ask: Ask
) -> None:
    ask()
    known.start = SLOW
    assert known.claim() is not None
    answer = known.prepare([LISTING], [LISTING])
    assert answer.open == []
    assert known.finish().status_code == 200
    assert devices(client, admin_token)["cpu-0001"]["health"] == "quarantined"
    (told,) = rows(service, AuditLog, AuditLog.action == "device.quarantined")
    assert (told.detail["probe"], told.detail["deviation"]) == ("gemm_bf16", pytest.approx(0.3, abs=0.01))
    job = rows(service, Job)[-1]
    assert (job.state, job.reason, job.attempt) == ("queued", "device_quarantined", 1)
    assert rows(service, Verdict, Verdict.run_id == rows(service, Run)[-1].id) == []


def test_a_quarantine_says_since_when_why_and_who_ends_it(
    client: TestClient, admin_token: str, known: FakeAgent, ask: Ask
) -> None:
    assert devices(client, admin_token)["cpu-0001"]["quarantine"] is None
    suspend(known, ask)
    told = devices(client, admin_token)["cpu-0001"]["quarantine"]
    assert told["why"] == "gemm_bf16 of its control took 13 ms, 10 ms is usual (+30.0 %)"
    assert told["ends_by"] == "calibration"


def test_an_attempt_that_the_machine_refused_is_none_of_the_jobs(
    service: Service, known: FakeAgent, ask: Ask
) -> None:
    suspend(known, ask)
    for _ in range(3):
        sql(service, "update device set health = 'good'")
        sql(service, "update job set not_before = clock_timestamp() where state = 'queued'")
        assert known.claim() is not None
        assert known.prepare([LISTING], [LISTING]).open == []
        assert known.finish().status_code == 200
    job = rows(service, Job)[-1]
    assert (job.state, job.reason, job.attempt) == ("queued", "device_quarantined", 4)


def test_a_check_of_devices_that_are_all_in_quarantine_waits_and_says_so(
    service: Service, suspended: FakeAgent, ask: Ask
) -> None:
    (waiting,) = ask(head={"sha": "d" * 40})["jobs"]
    assert (waiting["state"], waiting["reason"]) == ("queued", "device_quarantined")
    assert waiting["message"] == "it waits until a device of class cpu-test-2t leaves its quarantine"
    sql(
        service, "update job set deadline_at = clock_timestamp() - interval '1 second' where state = 'queued'"
    )
    with service.database.session() as session:
        sweep_leases(session, service.settings)
    job = rows(service, Job)[-1]
    assert (job.state, job.message) == (
        "expired",
        "no device was free in time: those of class cpu-test-2t were in quarantine",
    )


def test_a_device_in_quarantine_takes_no_jobs_and_goes_on_where_it_was_when_it_is_well(
    service: Service, known: FakeAgent, ask: Ask
) -> None:
    suspend(known, ask)
    sql(service, "update job set not_before = clock_timestamp() where state = 'queued'")
    assert known.claim() is None
    assert tend(service) == 1
    calibrate(known, USUAL)
    assert known.claim() is not None
    known.start = USUAL
    measure(known)
    assert [job.state for job in rows(service, Job)][1] == "succeeded"


def test_a_control_that_became_faster_is_another_device_too(
    service: Service, known: FakeAgent, ask: Ask
) -> None:
    suspend(known, ask, {**USUAL, "triad": 0.0018})
    assert health(service) == "quarantined"


def test_a_processor_is_never_put_into_quarantine_by_its_control(
    service: Service, known: FakeAgent, ask: Ask
) -> None:
    known.kind, known.start = "cpu", SLOW
    assert known.register().status_code == 200
    run(known, ask)
    assert health(service) == "good", (
        "its clock follows its power source, its governor, and who else is there"
    )


@pytest.mark.parametrize("factor", [1.019, 0.985])
def test_a_small_deviation_does_no_harm_however_unusual(
    service: Service, known: FakeAgent, ask: Ask, factor: float
) -> None:
    known.start = {**USUAL, "triad": USUAL["triad"] * factor}
    run(known, ask)
    assert health(service) == "good"


def test_with_too_little_history_measuring_goes_on(service: Service, hosted: FakeAgent, ask: Ask) -> None:
    run(hosted, ask)
    remember(service, USUAL, n=8)  # and the run's own
    hosted.start = SLOW
    run(hosted, ask)
    assert health(service) == "good"
    hosted.start = {**SLOW, "gemm_bf16": 0.2}
    suspend(hosted, ask, hosted.start)
    assert health(service) == "quarantined", "now there are ten"


def test_what_is_older_than_thirty_days_is_no_history(service: Service, hosted: FakeAgent, ask: Ask) -> None:
    run(hosted, ask)
    remember(service, USUAL)
    sql(service, "update control set measured_at = measured_at - interval '31 days'")
    hosted.start = SLOW
    run(hosted, ask)
    assert health(service) == "good"


def test_a_control_of_another_kit_is_not_held_against_this_one(
    service: Service, known: FakeAgent, ask: Ask
) -> None:
    sql(service, "update control set version = 'kit-0'")
    known.start = SLOW
    run(known, ask)
    assert health(service) == "good"


def test_a_machine_that_changed_may_be_faster_or_slower_than_before(
    service: Service, known: FakeAgent, ask: Ask
) -> None:
    known.machine["driver"] = "560"
    known.start = SLOW
    run(known, ask)
    assert health(service) == "good"


def test_a_control_beside_which_something_else_ran_says_nothing_of_the_device(
    service: Service, known: FakeAgent, ask: Ask
) -> None:
    known.disturbed = "host_cpu: other programs kept 1.5 processors busy; 0.5 may be"
    known.start, known.end = SLOW, USUAL
    for _ in range(10):
        run(known, ask)
    assert health(service) == "good"
    assert rows(service, Control)[-1].unavailable == {"disturbed": known.disturbed}
    known.disturbed = ""
    known.start = USUAL
    run(known, ask)
    assert health(service) == "good", "what was seen meanwhile is not what the device usually shows"
    suspend(known, ask)
    assert health(service) == "quarantined"


NONSENSE: list[Any] = [0, -1.0, "0.01", None, True, [0.01], 10**400, 1e-300, {}]


@pytest.mark.parametrize("seconds", NONSENSE, ids=lambda value: str(value)[:8])
def test_a_probe_that_holds_no_time_is_one_that_did_not_run(
    service: Service, known: FakeAgent, ask: Ask, seconds: Any
) -> None:
    known.start = known.end = {"gemm_bf16": seconds, "triad": USUAL["triad"]}
    run(known, ask)
    assert health(service) == "good"
    last = rows(service, Control, Control.moment == "start")[-1]
    assert list(last.probes) == ["triad"]
    assert last.unavailable["gemm_bf16"].startswith("no time")
    known.start = dict(USUAL)
    run(known, ask)
    assert rows(service, Job)[-1].state == "succeeded", "what was no time is not held against later ones"


@pytest.mark.parametrize("shown", [{}, {"rate": "fast"}, {"seconds": 0.002, "rate": "fast", "cv": None}])
def test_a_report_can_be_made_of_whatever_a_probe_held(
    service: Service, client: TestClient, admin_token: str, known: FakeAgent, ask: Ask, shown: dict[str, Any]
) -> None:
    check = ask()["check"]
    assert known.claim() is not None
    result = protocol.ControlResult(version="kit-1", backend="test", probes={"triad": shown})
    message = protocol.Prepared(
        arms=[protocol.ArmReport(arm=arm, status="ok", cases=[LISTING]) for arm in ("base", "head")],
        order_seed=1,
        device_s=0.5,
        control=result,
        **known.fingerprint(),
    )
    assert known.lease is not None
    assert known.post(f"leases/{known.lease.lease_id}/prepared", message).status_code == 200
    known.block(CASE, lambda arm, pair: 0.01)
    assert known.finish().status_code == 200
    document = client.get(f"/api/v1/checks/{check}", headers={"Authorization": f"Bearer {admin_token}"})
    assert document.status_code == 200, document.text


def test_of_devices_that_are_measured_on_together_only_the_odd_one_goes_into_quarantine(
    service: Service, two: TwoDevices, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    two.start = dict(USUAL)
    run_on(two, ask, "sim-0", "sim-1")
    for name in two.ids:
        remember(service, USUAL, hardware_id=name)
    shown = {"seconds": 0.013, "rate": 1.0, "of_devices": [0.010, 0.013]}
    result = protocol.ControlResult(version="kit-1", backend="test", probes={"gemm_bf16": shown})
    monkeypatch.setattr("tests.factories.agent.control", lambda *_: result)
    ask(settings=settings_for(2))
    assert two.claim() is not None
    assert two.prepare([LISTING], [LISTING]).open == []
    assert (health(service, "sim-0"), health(service, "sim-1")) == ("good", "quarantined")
    assert [row.probes["gemm_bf16"]["seconds"] for row in rows(service, Control)[-2:]] == [0.010, 0.013]


@pytest.mark.parametrize(
    ("counters", "expected"),
    [
        ({"ecc_uncorrected": 1}, "quarantined"),
        ({"ecc_uncorrected": 0, "ecc_corrected": 500}, "good"),
        ({"ecc_uncorrected": None}, "good"),
    ],
)
def test_an_uncorrected_memory_error_puts_the_device_into_quarantine(
    service: Service, hosted: FakeAgent, ask: Ask, counters: dict[str, Any], expected: str
) -> None:
    run(hosted, ask, telemetry=[{"counters": counters}])
    assert health(service) == expected
    assert rows(service, Job)[-1].state == "succeeded", "its pairs are for the gates to judge"


def test_telemetry_of_another_form_is_no_error(service: Service, hosted: FakeAgent, ask: Ask) -> None:
    run(hosted, ask, telemetry=[{"counters": [1], "gauges": 5}, {}])
    assert health(service) == "good"


# --- quarantine and calibration -------------------------------------------------------------------------------


def suspend(agent: FakeAgent, ask: Ask, times: dict[str, float] = SLOW) -> None:
    """Put the device into quarantine by its control; the job that saw it waits."""
    agent.start = times
    ask()
    assert agent.claim() is not None
    assert agent.prepare([LISTING], [LISTING]).open == []
    assert agent.finish().status_code == 200


def calibrate(agent: FakeAgent, times: dict[str, Any], outcome: protocol.Outcome = "ok") -> None:
    """Run the calibration that the device is due for, with the control as given."""
    lease = agent.claim()
    assert lease is not None
    assert (lease.job.purpose, lease.job.hardware_ids) == ("calibrate", [agent.hardware_id])
    agent.end = times
    assert agent.finish(outcome).status_code == 200
    agent.end = {}


@pytest.fixture
def suspended(known: FakeAgent, ask: Ask) -> FakeAgent:
    """An agent whose device is in quarantine."""
    suspend(known, ask)
    return known


def test_a_quarantine_is_followed_by_a_calibration_at_once(service: Service, suspended: FakeAgent) -> None:
    assert tend(service) == 1
    assert tend(service) == 0, "one that waits is enough"
    (job,) = own_jobs(service, Purpose.CALIBRATE)
    assert (job.band, job.base_commit_id) == (BANDS[Purpose.CALIBRATE], None)
    calibrate(suspended, USUAL)
    assert health(service) == "good"
    (told,) = rows(service, AuditLog, AuditLog.action == "device.released")
    assert told.detail["by"] == "calibration"


def test_a_calibration_that_finds_it_still_off_is_followed_by_others_ever_more_rarely(
    service: Service, suspended: FakeAgent
) -> None:
    tend(service)
    for doublings in range(4):
        calibrate(suspended, SLOW)
        assert health(service) == "quarantined"
        spacing = SPACING * 2**doublings
        assert tend(service, later=spacing - timedelta(seconds=30)) == 0
        assert tend(service, later=spacing) == 1


def test_a_device_that_never_gets_well_is_asked_once_a_day(service: Service, suspended: FakeAgent) -> None:
    tend(service)
    calibrate(suspended, SLOW)
    with service.database.session() as session:
        names = (
            "project_id, suite, device_class, device_id, head_commit_id, spec, policy, budget_s, max_pairs"
        )
        session.execute(text("alter table job disable trigger job_transition"))
        session.execute(
            text(
                f"insert into job (key, {names}, state, finished_at) select 'past ' || n, {names}, 'succeeded',"
                " clock_timestamp() from job, generate_series(1, 60) as n where device_id is not null"
            )
        )
        session.execute(text("alter table job enable trigger job_transition"))
    assert tend(service, later=LONGEST_SPACING - timedelta(minutes=1)) == 0
    assert tend(service, later=LONGEST_SPACING) == 1


@pytest.mark.parametrize("times", [{}, {"gemm_bf16": 0}])
def test_a_calibration_that_shows_nothing_releases_nobody(
    service: Service, suspended: FakeAgent, times: dict[str, Any]
) -> None:
    tend(service)
    calibrate(suspended, times)
    assert health(service) == "quarantined"


def test_a_calibration_that_did_not_come_to_its_end_releases_nobody(
    service: Service, suspended: FakeAgent
) -> None:
    tend(service)
    calibrate(suspended, USUAL, "infra_failed")
    assert health(service) == "quarantined"


def test_a_memory_error_is_ended_by_an_administrator_alone(
    service: Service, client: TestClient, admin_token: str, suspended: FakeAgent, ask: Ask
) -> None:
    tend(service)
    assert release(client, admin_token) == 200
    sql(service, "update job set not_before = clock_timestamp() where state = 'queued'")
    suspended.start = dict(USUAL)
    assert suspended.claim() is not None
    measure(suspended, telemetry=[{"counters": {"ecc_uncorrected": 2}}])
    told = devices(client, admin_token)["cpu-0001"]["quarantine"]
    assert (told["why"], told["ends_by"]) == ("2 uncorrected memory errors", "administrator")
    assert tend(service, later=LONGEST_SPACING) == 0, "no calibration shows that it is over"
    calibrate(suspended, USUAL)
    assert health(service) == "quarantined", "nor does one that was asked for before"
    assert release(client, admin_token) == 200
    assert health(service) == "good"


def test_a_calibration_needs_no_commit(
    service: Service, suspended: FakeAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device_jobs, "source_with", lambda *_: None)
    assert tend(service) == 1


def test_a_restart_does_not_end_a_quarantine(service: Service, suspended: FakeAgent) -> None:
    suspended.instance = "second"
    assert suspended.register().status_code == 200
    assert health(service) == "quarantined"


def release(client: TestClient, token: str, device: int = 1) -> int:
    headers = {"Authorization": f"Bearer {token}"}
    return client.post(f"/api/v1/devices/{device}/release", headers=headers).status_code


def test_an_administrator_may_end_a_quarantine_and_then_the_device_is_what_it_is(
    service: Service, client: TestClient, admin_token: str, suspended: FakeAgent, ask: Ask
) -> None:
    assert release(client, admin_token) == 200
    assert health(service) == "good"
    run(suspended, ask)
    assert health(service) == "good", "the same control is not held against it again"
    (told,) = rows(service, AuditLog, AuditLog.action == "device.released")
    assert (told.actor, told.detail["by"]) == ("admin", "administrator")


def test_nobody_else_may_end_a_quarantine(
    service: Service, client: TestClient, admin_token: str, suspended: FakeAgent
) -> None:
    with service.database.session() as session:
        reader = issue_token(session, "reader", [Scope.RESULTS_READ])
    assert release(client, reader) == 403
    assert health(service) == "quarantined"
    assert release(client, admin_token, 99) == 404


def test_a_calibration_is_no_job_for_a_device_that_is_well(
    service: Service, client: TestClient, admin_token: str, suspended: FakeAgent
) -> None:
    tend(service)
    sql(service, "update job set state = 'cancelled' where device_id is null and state = 'queued'")
    assert release(client, admin_token) == 200
    assert suspended.claim() is None
    sql(service, "update job set deadline_at = clock_timestamp() where device_id is not null")
    with service.database.session() as session:
        assert sweep_leases(session, service.settings) == 1
    (job,) = own_jobs(service, Purpose.CALIBRATE)
    assert (job.state, job.reason) == ("expired", "queue_deadline")


# --- a commit against itself ----------------------------------------------------------------------------------


def self_check(agent: FakeAgent, clocks_hz: tuple[float, float] | None = None, **told: Any) -> None:
    """Carry out the self check that waits to its end, with the clock between these."""
    lease = agent.claim()
    assert lease is not None
    assert lease.job.purpose == "self_check"
    assert lease.job.base_sha == lease.job.head_sha
    if clocks_hz is not None:
        low, high = clocks_hz
        told["telemetry"] = [
            {"gauges": {"sm_clock_hz": [low, high, high]}, "throttle": {}, "unavailable": []}
        ]
    measure(agent, blocks=TO_ITS_END, **told)


def test_a_commit_is_measured_against_itself_only_where_a_head_has_landed(
    service: Service, hosted: FakeAgent, ask: Ask
) -> None:
    run(hosted, ask, "a" * 40, "b" * 40)
    assert tend(service, ALWAYS) == 0, "nobody has agreed to what that head's settings run"
    run(hosted, ask, "b" * 40, "c" * 40)
    assert tend(service, ALWAYS) == 1
    (job,) = own_jobs(service, Purpose.SELF_CHECK)
    assert (job.spec["base_sha"], job.spec["head_sha"]) == ("b" * 40, "b" * 40)
    assert (job.max_pairs, job.policy["most_cases"]) == (32, 2)


def test_a_device_measures_against_itself_once_in_a_night_and_not_by_day(
    service: Service, hosted: FakeAgent, ask: Ask
) -> None:
    land(hosted, ask)
    assert tend(service, NEVER) == 0
    assert tend(service, ALWAYS) == 1
    self_check(hosted)
    assert tend(service, ALWAYS) == 0
    assert tend(service, ALWAYS, later=timedelta(days=1)) == 1


def test_a_self_check_that_waits_is_followed_by_no_other_and_ends_with_the_night(
    service: Service, hosted: FakeAgent, ask: Ask
) -> None:
    land(hosted, ask)
    tend(service, ALWAYS)
    assert tend(service, ALWAYS, later=timedelta(days=1)) == 0
    (job,) = own_jobs(service, Purpose.SELF_CHECK)
    now = datetime.now(UTC)
    assert job.deadline_at <= now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)


def test_a_self_check_grades_its_device_and_is_no_point_of_a_history(
    service: Service, client: TestClient, admin_token: str, hosted: FakeAgent, ask: Ask
) -> None:
    land(hosted, ask)
    with service.database.session() as session:
        before = session.scalar(text("select count(*) from result"))
    tend(service, ALWAYS)
    self_check(hosted, (1.9e9, 1.9e9))
    with service.database.session() as session:
        assert session.scalar(text("select count(*) from result")) == before
    run_of_check = rows(service, Run)[-1]
    assert run_of_check.published_at is None, "nor does it say how noisy the case is by day"
    (check,) = rows(service, SelfCheck)
    assert (check.run_id, check.n_verdicts, check.false_alarms) == (run_of_check.id, 1, 0)
    assert 0 < check.sigma_pair < 0.02
    shown = devices(client, admin_token)["cpu-0001"]
    assert (shown["grade"], shown["self_check"]["mde"]) == (check.grade, check.mde)


def test_a_reader_bound_to_a_project_is_not_told_of_another_projects_run(
    service: Service, client: TestClient, admin_token: str, hosted: FakeAgent, ask: Ask
) -> None:
    land(hosted, ask)
    tend(service, ALWAYS)
    self_check(hosted, (1.9e9, 1.9e9))
    with service.database.session() as session:
        project_id = session.scalar(text("select id from project"))
        bound = issue_token(session, "bound", [Scope.RESULTS_READ], project_id=project_id)
        everybodys = list_workers(session, live_for=timedelta(minutes=1))
        bounds = list_workers(session, live_for=timedelta(minutes=1), project_ids={project_id})
    told = devices(client, admin_token)["cpu-0001"]
    known = devices(client, bound)["cpu-0001"]
    assert told["self_check"].keys() - known["self_check"].keys() == {"run", "verdicts", "false_alarms"}
    assert known["grade"] == told["grade"]
    assert everybodys[0].devices[0].self_check is not None
    assert bounds[0].devices[0].self_check is None


def test_an_administrator_bound_to_a_project_releases_no_device(
    service: Service, client: TestClient, hosted: FakeAgent, ask: Ask
) -> None:
    ask()
    sql(service, "update device set health = 'quarantined'")
    with service.database.session() as session:
        project_id = session.scalar(text("select id from project"))
        token = issue_token(session, "bound", [Scope.ADMIN], project_id=project_id)
    assert release(client, token) == 403
    assert health(service) == "quarantined"


def graded(
    service: Service, agent: FakeAgent, ask: Ask, clocks_hz: tuple[float, float] | None, **told: Any
) -> SelfCheck:
    land(agent, ask)
    tend(service, ALWAYS)
    self_check(agent, clocks_hz, **told)
    (check,) = rows(service, SelfCheck)
    found: SelfCheck = check
    return found


@pytest.mark.parametrize(
    ("clocks_hz", "locked"),
    [((1.900e9, 1.900e9), True), ((1.890e9, 1.905e9), True), ((1.8e9, 1.9e9), False), (None, False)],
)
def test_clocks_count_as_locked_where_they_did_not_move(
    service: Service, hosted: FakeAgent, ask: Ask, clocks_hz: tuple[float, float] | None, locked: bool
) -> None:
    assert graded(service, hosted, ask, clocks_hz).clocks_locked is locked


def test_clocks_count_as_locked_where_the_device_says_so(
    service: Service, client: TestClient, hosted: FakeAgent, ask: Ask
) -> None:
    land(hosted, ask)
    sql(service, """update device set fingerprint = '{"machine": {"clock_policy": "locked"}}'""")
    tend(service, ALWAYS)
    self_check(hosted)
    (check,) = rows(service, SelfCheck)
    assert check.clocks_locked


@pytest.mark.parametrize("gate", ["foreign_process", "host_cpu", "host_steal"])
def test_a_device_that_others_use_is_graded_c_however_quiet(
    service: Service, hosted: FakeAgent, ask: Ask, gate: str
) -> None:
    check = graded(service, hosted, ask, (1.9e9, 1.9e9), gates=[gate])
    assert (check.is_exclusive, check.grade) == (False, "C")


def test_a_device_that_is_held_back_is_still_for_measuring_alone(
    service: Service, hosted: FakeAgent, ask: Ask
) -> None:
    assert graded(service, hosted, ask, None, gates=["power_cap"]).is_exclusive


def test_a_self_check_that_came_to_no_end_grades_nothing(
    service: Service, hosted: FakeAgent, ask: Ask
) -> None:
    land(hosted, ask)
    tend(service, ALWAYS)
    assert hosted.claim() is not None
    assert hosted.finish("infra_failed", retryable=False, reason="disk_full").status_code == 200
    assert rows(service, SelfCheck) == []
    assert own_jobs(service, Purpose.SELF_CHECK)[0].state == "failed"


def test_a_self_check_without_pairs_grades_nothing(service: Service, hosted: FakeAgent, ask: Ask) -> None:
    land(hosted, ask)
    tend(service, ALWAYS)
    assert hosted.claim() is not None
    hosted.prepare([LISTING], [LISTING])
    assert hosted.finish(reason="device_time_left").status_code == 200
    assert rows(service, SelfCheck) == []


def test_the_grade_of_a_verdict_is_the_devices_own_once_it_has_one(
    service: Service, hosted: FakeAgent, ask: Ask
) -> None:
    land(hosted, ask)
    newest = lambda: rows(service, Verdict)[-1].grade  # noqa: E731
    assert newest() == "B", "by its own pairs, before any self check"
    tend(service, ALWAYS)
    self_check(hosted, (1.9e9, 1.9e9), gates=["host_cpu"])
    run(hosted, ask)
    assert newest() == "C"


def test_the_grade_on_several_devices_is_the_worst_of_theirs_and_none_is_passed_over(
    service: Service, two: TwoDevices, ask: Ask
) -> None:
    run_on(two, ask, "sim-0", "sim-1")
    with service.database.session() as session:
        known = {
            "run_id": rows(service, Run)[-1].id,
            "sigma_pair": 0.001,
            "n_verdicts": 1,
            "false_alarms": 0,
            "mde": 0.0025,
            "clocks_locked": True,
            "is_exclusive": True,
        }
        session.add(SelfCheck(device_id=device_of(session, "sim-0").id, grade="A", **known))
    run_on(two, ask, "sim-0")
    assert rows(service, Verdict)[-1].grade == "A"
    run_on(two, ask, "sim-0", "sim-1")
    assert rows(service, Verdict)[-1].grade == "B", "of one of them nobody knows"
    with service.database.session() as session:
        known["run_id"] -= 0
        run_id = rows(service, Run)[-1].id
        session.add(
            SelfCheck(device_id=device_of(session, "sim-1").id, grade="C", **known | {"run_id": run_id})
        )
    run_on(two, ask, "sim-0", "sim-1")
    assert rows(service, Verdict)[-1].grade == "C"


# --- the queue ------------------------------------------------------------------------------------------------


def test_a_pull_request_goes_before_whatever_looks_after_the_device(
    service: Service, hosted: FakeAgent, ask: Ask
) -> None:
    land(hosted, ask)
    hosted.machine["driver"] = "560"
    run(hosted, ask, "c" * 40, "d" * 40)
    assert tend(service, ALWAYS) == 2
    check = ask(base={"sha": "c" * 40}, head={"sha": "e" * 40})
    purposes = []
    while (lease := hosted.claim()) is not None:
        purposes.append(lease.job.purpose)
        measure(hosted)
    assert check["jobs"]
    assert purposes == ["measure", "bridge", "self_check"]


def test_a_device_is_not_taken_from_a_pull_request_that_waits_for_another(
    service: Service, two: TwoDevices, ask: Ask
) -> None:
    two.using = ("sim-0",)
    for base, head in (("a", "b"), ("b", "c")):
        ask(settings=settings_for(1), base={"sha": base * 40}, head={"sha": head * 40})
        assert two.claim() is not None
        measure(two)
    assert tend(service, ALWAYS) == 2
    ask(settings=settings_for(2))
    assert two.claim() is None, "one device is free, and the pull request waits for two"
    two.using = two.ids
    lease = two.claim()
    assert lease is not None
    assert lease.job.purpose == "measure"
    measure(two)
    lease = two.claim()
    assert lease is not None
    assert lease.job.purpose == "self_check"


def test_a_job_for_a_device_that_is_gone_ends_by_its_deadline(
    service: Service, hosted: FakeAgent, client: TestClient, worker_token: str, ask: Ask
) -> None:
    land(hosted, ask)
    tend(service, ALWAYS)
    other = FakeAgent(client, worker_token, name="other", host="elsewhere", hardware_id="cpu-0002")
    assert other.register().status_code == 200
    assert other.claim() is None, "it is for one device alone"
    sql(service, "update job set deadline_at = clock_timestamp() where device_id is not null")
    with service.database.session() as session:
        assert sweep_leases(session, service.settings) == 1
    assert own_jobs(service, Purpose.SELF_CHECK)[0].state == "expired"


def test_nothing_is_made_for_a_device_that_nobody_has_heard_of(
    service: Service, hosted: FakeAgent, ask: Ask
) -> None:
    land(hosted, ask)
    sql(service, "update worker set last_seen_at = clock_timestamp() - interval '1 hour'")
    assert tend(service, ALWAYS) == 0


def test_a_device_that_cannot_be_looked_after_keeps_no_other_from_it(
    service: Service,
    two: TwoDevices,
    ask: Ask,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    two.using = ("sim-0",)
    for base, head in (("a", "b"), ("b", "c")):
        ask(settings=settings_for(1), base={"sha": base * 40}, head={"sha": head * 40})
        assert two.claim() is not None
        measure(two)
    made = device_jobs._Tending._make

    def fail(self: Any, device: Device, wanted: Any) -> int:
        if device.hardware_id == "sim-0":
            raise RuntimeError("no")
        return made(self, device, wanted)

    monkeypatch.setattr(device_jobs._Tending, "_make", fail)
    assert tend(service, ALWAYS) == 1
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == [
        "device 1 could not be looked after; it is tried again later"
    ]
    caplog.clear()
    (job,) = own_jobs(service, Purpose.SELF_CHECK)
    with service.database.session() as session:
        assert job.device_id == device_of(session, "sim-1").id


# --- bridges --------------------------------------------------------------------------------------------------


@pytest.fixture
def changed(hosted: FakeAgent, ask: Ask) -> FakeAgent:
    """An agent whose machine has changed after commits b and c of main; the last run, on d, has seen it."""
    land(hosted, ask)
    run(hosted, ask, "c" * 40, "d" * 40)
    hosted.machine["driver"] = "560"
    run(hosted, ask, "d" * 40, "e" * 40)
    return hosted


def test_a_new_epoch_has_the_last_commit_before_it_measured_once_more(
    service: Service, changed: FakeAgent
) -> None:
    assert tend(service) == 1
    assert tend(service) == 0
    (job,) = own_jobs(service, Purpose.BRIDGE)
    assert (job.spec["head_sha"], job.spec["base_sha"]) == ("c" * 40, None)
    assert (job.policy["history"], job.band) == ("main", BANDS[Purpose.BRIDGE])
    lease = changed.claim()
    assert lease is not None
    assert lease.job.purpose == "bridge"
    measure(changed, 0.011)
    with service.database.session() as session:
        query = "select result.branch, arm, value, sha from result join commit on commit.id = commit_id"
        last = session.execute(text(f"{query} order by result.id desc limit 1")).one()
    assert tuple(last) == ("main", "head", pytest.approx(0.011, rel=0.01), "c" * 40)
    assert tend(service) == 0, "it was measured"


def test_a_devices_first_epoch_needs_no_bridge(service: Service, hosted: FakeAgent, ask: Ask) -> None:
    land(hosted, ask)
    assert tend(service) == 0


def test_a_bridge_that_sees_the_next_change_itself_is_followed_by_none(
    service: Service, changed: FakeAgent
) -> None:
    tend(service)
    assert changed.claim() is not None
    changed.machine["driver"] = "570"
    measure(changed)
    assert [epoch.changes for epoch in rows(service, Epoch)][-1] == {"driver": ["560", "570"]}
    assert tend(service) == 0


def test_a_machine_that_goes_to_and_fro_has_one_bridge_that_waits(
    service: Service, changed: FakeAgent, ask: Ask
) -> None:
    tend(service)
    for driver in ("550", "560", "550"):
        changed.machine["driver"] = driver
        run(changed, ask, "d" * 40, "f" * 40)
        tend(service)
    assert len(own_jobs(service, Purpose.BRIDGE)) == 1


def test_an_epoch_that_began_long_ago_needs_no_bridge_any_more(service: Service, changed: FakeAgent) -> None:
    sql(service, "update epoch set began_at = began_at - interval '7 hours'")
    assert tend(service) == 0


# --- a machine that moved while a run went on -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("end", "flagged"),
    [
        ({"gemm_bf16": 0.01025, "triad": 0.002}, True),
        ({"gemm_bf16": 0.0097, "triad": 0.002}, True),
        ({"gemm_bf16": 0.01015, "triad": 0.00199}, False),
        ({"host_loop": 1.0}, False),
        ({}, False),
    ],
)
def test_a_run_at_whose_end_the_control_is_another_has_a_flag(
    client: TestClient, admin_token: str, hosted: FakeAgent, ask: Ask, end: dict[str, float], flagged: bool
) -> None:
    hosted.end = end
    case = checked(client, admin_token, hosted, ask)
    assert ("run_drift" in case["flags"]) is flagged
    assert case["verdict"] == "no_regression", "a flag, and never a void"
    assert case["n_void"] == 0


def checked(client: TestClient, token: str, agent: FakeAgent, ask: Ask) -> dict[str, Any]:
    """Have a check measured and return what is told of its one case."""
    check = ask()["check"]
    assert agent.claim() is not None
    measure(agent, blocks=TO_ITS_END)
    document = client.get(f"/api/v1/checks/{check}", headers={"Authorization": f"Bearer {token}"}).json()
    (case,) = document["suites"][0]["cases"]
    found: dict[str, Any] = case
    return found


def test_a_control_that_was_disturbed_is_no_drift(
    client: TestClient, admin_token: str, hosted: FakeAgent, ask: Ask
) -> None:
    hosted.end = SLOW
    hosted.disturbed = "host_cpu: other programs kept 1.5 processors busy; 0.5 may be"
    assert "run_drift" not in checked(client, admin_token, hosted, ask)["flags"]


# --- incidents ------------------------------------------------------------------------------------------------


def incidents(service: Service) -> list[tuple[str, str, str | None]]:
    return [(its.kind, its.name, its.ended_by) for its in rows(service, Incident)]


def test_a_quarantine_is_an_incident_until_its_end(
    service: Service, client: TestClient, admin_token: str, hosted: FakeAgent, ask: Ask
) -> None:
    run(hosted, ask)
    remember(service, USUAL)
    hosted.start = dict(SLOW)
    run(hosted, ask)
    assert incidents(service) == [("quarantined", "cpu-0001", None)]
    (its,) = rows(service, Incident)
    (entry,) = rows(service, AuditLog, AuditLog.action == "device.quarantined")
    assert (its.object, its.detail) == (entry.object, entry.detail)
    assert release(client, admin_token) == 200
    assert incidents(service) == [("quarantined", "cpu-0001", "administrator")]
    assert release(client, admin_token) == 200, "it is in none, and nothing happens"
    assert len(rows(service, AuditLog, AuditLog.action == "device.released")) == 1


def test_a_processor_whose_control_keeps_off_is_an_incident_and_goes_on_measuring(
    service: Service, client: TestClient, admin_token: str, agent: FakeAgent, ask: Ask
) -> None:
    agent.machine, agent.start = dict(MACHINE), dict(USUAL)
    run(agent, ask)
    remember(service, USUAL)
    agent.start = dict(SLOW)
    for n_seen in (1, 2):
        run(agent, ask)
        assert incidents(service) == [], f"after {n_seen} it may be the weather"
    run(agent, ask)
    assert incidents(service) == [("moved", "cpu-0001", None)]
    (its,) = rows(service, Incident)
    assert its.detail["probe"] == "gemm_bf16"
    assert its.detail["deviation"] == pytest.approx(0.3, abs=0.01)
    with service.database.session() as session:
        (shown,) = list_workers(session, live_for=timedelta(minutes=1))[0].devices
    assert shown.moved is not None
    assert shown.moved.why == "gemm_bf16 of its control took 13 ms, 10 ms is usual (+30.0 %)"
    told = devices(client, admin_token)["cpu-0001"]
    assert (told["quarantine"], told["moved"]["why"]) == (None, shown.moved.why)
    assert datetime.fromisoformat(told["moved"]["since"]) == its.opened_at
    assert health(service) == "good"
    run(agent, ask)
    assert len(incidents(service)) == 1
    agent.start = dict(USUAL)
    run(agent, ask)
    assert incidents(service) == [("moved", "cpu-0001", "usual")]
    assert devices(client, admin_token)["cpu-0001"]["moved"] is None


def test_what_something_else_disturbed_says_nothing_of_a_processor(
    service: Service, agent: FakeAgent, ask: Ask
) -> None:
    agent.machine, agent.start = dict(MACHINE), dict(USUAL)
    run(agent, ask)
    remember(service, USUAL)
    agent.start, agent.disturbed = dict(SLOW), "foreign_process"
    for _ in range(3):
        run(agent, ask)
    assert incidents(service) == []
