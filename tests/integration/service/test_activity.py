"""Prometheus is asked what a run's GPUs did: when, for which windows, how often; and what is shown of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from celery import Celery
from fastapi.testclient import TestClient
from sqlalchemy import text

from app.domain.errors import UnavailableError
from app.integrations.dcgm.server import Clock
from app.integrations.queue import ACTIVITY, SWEEP
from app.services.ask_activity import AGAIN_S, ask, find_unasked, keep_activity, question_of
from app.services.lease_jobs import sweep_leases
from app.services.relay_outbox import relay_outbox
from app.store.repositories import clock
from app.store.tables import Invocation, Outbox, Run
from app.tasks import celery_app
from app.wiring import Service
from tests.factories.agent import FakeAgent, latency_listing, measurement
from tests.factories.browser import Page, browser
from tests.factories.checks import SETTINGS, check_request
from workers import protocol

pytestmark = pytest.mark.postgres

GPU, OTHER = "GPU-11111111-aaaa", "GPU-22222222-bbbb"
INSTANCE = "MIG-33333333-cccc"
H100 = "nvidia-h100"
CASE = protocol.CaseId(benchmark="resize", params={})
LASTS_S, EVERY_S = 8.0, 10.0
URL = "http://prometheus.test:9090"


class Scraped:
    """Stands for a Prometheus that has scraped DCGM every second: `power_w` and `sm_active` by `UUID/GPU_I_ID`."""

    url = URL
    notes = ()

    def __init__(self, **of_devices: float) -> None:
        self.of_devices = of_devices
        self.away = ""
        self.asked: list[tuple[str, float, float]] = []

    @contextmanager
    def look_up(self) -> Iterator[Scraped]:
        self.asked.append(("look", 0.0, 0.0))
        if self.away:
            raise UnavailableError(self.away)
        yield self

    def clock(self) -> Clock:
        return Clock(0.0, 0.001)

    def samples(self, selector: str, start: float, end: float) -> list[dict[str, Any]]:
        self.asked.append((selector, start, end))
        named = re.search(r'UUID="([^"]+)",GPU_I_ID="(\d*)"', selector)
        power_w = self.of_devices.get(f"{named[1]}/{named[2]}") if named else None
        if power_w is None:
            return []
        moments = [float(second) for second in range(int(start) + 1, int(end))]
        labels = {"job": "dcgm", "instance": "gpu7:9400"}
        told = {"DCGM_FI_PROF_SM_ACTIVE": 0.5, "DCGM_FI_DEV_POWER_USAGE": power_w}
        return [
            {"metric": {"__name__": name, **labels}, "values": [[moment, str(value)] for moment in moments]}
            for name, value in told.items()
        ]

    def devices(self, names: str, start: float, end: float) -> list[dict[str, Any]]:
        return []

    @property
    def looks(self) -> int:
        """How often it was asked."""
        return sum(what == "look" for what, _, _ in self.asked)


def half_past_a_second() -> datetime:
    """Now, in the middle between two scrapes: so that a window of whole seconds always holds as many."""
    return datetime.now(UTC).replace(microsecond=500_000)


@dataclass
class GpuAgent(FakeAgent):
    """An agent with GPUs, by UUID and what their fingerprint tells of their identity."""

    gpus: dict[str, dict[str, Any]] = field(default_factory=lambda: {GPU: {}})
    kind: str = "nvidia"
    began: datetime = field(default_factory=lambda: half_past_a_second() - timedelta(seconds=100))
    """When the first invocation began, by its own clock."""

    def register(self) -> Any:
        devices = [
            protocol.DeviceReport(
                hardware_id=uuid, kind=self.kind, device_class=H100, fingerprint={"identity": identity}
            )
            for uuid, identity in self.gpus.items()
        ]
        message = protocol.Register(name=self.name, host=self.host, instance=self.instance, devices=devices)
        response = self.post("register", message)
        self.worker_id = response.json()["worker_id"]
        return response

    def claim(self) -> protocol.Lease | None:
        message = protocol.Claim(
            worker_id=self.worker_id, instance=self.instance, hardware_ids=list(self.gpus)
        )
        response = self.post("claim", message)
        assert response.status_code == 200, response.text
        self.lease = protocol.Lease.model_validate(response.json())
        return self.lease

    def measure(self, **void: str) -> None:
        """Post a block of four invocations of eight seconds, one every ten; `_2="reason"` makes the third void."""
        for number in range(4):
            reason = void.get(f"_{number}")
            message = self.invocation(
                "head" if number % 2 else "base",
                number // 2,
                number % 2,
                [measurement(CASE, 1e-3)],
                started_at=self.began + timedelta(seconds=EVERY_S * number),
                duration_ns=round(LASTS_S * 1e9),
                t_start_ns=round(EVERY_S * 1e9) * number,
                void=reason is not None,
                void_reason=reason,
            )
            response = self.post(self._lease("invocations"), message)
            assert response.status_code == 200, response.text

    def window(self, number: int) -> list[str]:
        """When an invocation was, as it is kept."""
        start = self.began + timedelta(seconds=EVERY_S * number)
        return [start.isoformat(), (start + timedelta(seconds=LASTS_S)).isoformat()]


class World:
    """A service that may ask a Prometheus, and a run that has ended."""

    def __init__(self, service: Service, prometheus: Scraped | None, agent: GpuAgent) -> None:
        self.service, self.agent = service, agent
        service.__dict__["prometheus"] = self.prometheus = prometheus
        self.tasks: Celery = celery_app(service)

    def messages(self) -> list[Outbox]:
        """The messages about activity that were not sent yet."""
        with self.service.database.session() as session:
            query = "select * from outbox where topic = 'run.activity' and sent_at is null"
            return list(session.execute(text(query)).all())  # type: ignore[arg-type]

    def deliver(self) -> int:
        """Relay what is due, have the tasks of it done, and return how many messages there were."""
        sent: list[dict[str, Any]] = []

        class Queue:
            def send(self, topic: str, payload: dict[str, Any]) -> None:
                sent.extend([payload] if topic == "run.activity" else [])

        with self.service.database.session() as session:
            relay_outbox(session, Queue())
        for payload in sent:
            self.tasks.tasks[ACTIVITY].apply(kwargs=payload, throw=True)
        return len(sent)

    def wait(self) -> None:
        """Let the time pass until it is asked again."""
        with self.service.database.session() as session:
            run = session.get_one(Run, 1)
            past = (datetime.now(UTC) - timedelta(seconds=1)).isoformat()
            told = run.activity or {}
            run.activity = {
                name: one | ({"ask_again_at": past} if one["ask_again_at"] else {})
                for name, one in told.items()
            }
            session.execute(text("update outbox set available_at = clock_timestamp() where sent_at is null"))

    @property
    def activity(self) -> dict[str, Any] | None:
        """What the run keeps."""
        with self.service.database.session() as session:
            return session.get_one(Run, 1).activity

    def again_in_s(self, name: str = GPU) -> float | None:
        """After how long a device is asked about again [s]."""
        at = (self.activity or {})[name]["ask_again_at"]
        return (datetime.fromisoformat(at) - datetime.now(UTC)).total_seconds() if at else None


class Make:
    """Makes a world with a run on these GPUs."""

    def __init__(self, service: Service, client: TestClient, worker_token: str, admin_token: str) -> None:
        self._service, self._client = service, client
        self._worker, self._admin = worker_token, admin_token

    def __call__(
        self,
        prometheus: Scraped | None,
        *,
        ends: str = "ok",
        void: dict[str, str] | None = None,
        **of_agent: Any,
    ) -> World:
        agent = GpuAgent(self._client, self._worker, **of_agent)
        assert agent.register().status_code == 200
        settings = SETTINGS.format(devices=H100).replace(
            "benchmarks =", f"devices_needed = {len(agent.gpus)}\nbenchmarks ="
        )
        headers = {"Authorization": f"Bearer {self._admin}"}
        asked = self._client.post("/api/v1/checks", json=check_request(settings=settings), headers=headers)
        assert asked.status_code == 201, asked.text
        agent.claim()
        agent.prepare([latency_listing("resize")], [latency_listing("resize")])
        agent.measure(**(void or {}))
        if ends:
            assert agent.finish(ends).status_code == 200  # type: ignore[arg-type]
        return World(self._service, prometheus, agent)


@pytest.fixture
def make(service: Service, client: TestClient, worker_token: str, admin_token: str) -> Make:
    return Make(service, client, worker_token, admin_token)


def power(told: dict[str, Any] | None, name: str = GPU) -> float | None:
    value: float | None = (told or {})[name]["readings"]["power_w"]["value"]
    return value


# --- what is asked ---


def test_a_finished_run_keeps_what_its_gpu_did_while_it_was_measured(make: Make) -> None:
    world = make(Scraped(**{f"{GPU}/": 312.5}))
    assert world.activity is None
    assert world.deliver() == 1
    assert world.activity is not None
    told = world.activity[GPU]
    assert (told["device"]["uuid"], told["server"], told["reason"]) == (GPU, URL, None)
    assert told["windows"] == [world.agent.window(number) for number in range(4)]
    assert power(world.activity) == 312.5
    assert told["readings"]["power_w"]["coverage"] > 0.7
    assert (told["asked_times"], told["ask_again_at"]) == (1, None)
    assert world.messages() == []


def test_void_invocations_are_left_out_but_for_those_whose_processor_was_busy(make: Make) -> None:
    reasons = {"_1": "foreign_process: another process was on the device", "_2": "host_cpu: 2 processors"}
    world = make(Scraped(**{f"{GPU}/": 300.0}), void=reasons)
    world.deliver()
    assert world.activity is not None
    assert world.activity[GPU]["windows"] == [world.agent.window(number) for number in (0, 2, 3)]


def test_each_device_of_the_lease_is_asked_about(make: Make) -> None:
    world = make(Scraped(**{f"{GPU}/": 300.0, f"{OTHER}/": 200.0}), gpus={GPU: {}, OTHER: {}})
    world.deliver()
    assert (power(world.activity, GPU), power(world.activity, OTHER)) == (300, 200)


def test_a_device_that_nobody_tells_of_hides_no_other(make: Make) -> None:
    world = make(Scraped(**{f"{OTHER}/": 200.0}), gpus={GPU: {}, OTHER: {}})
    world.deliver()
    assert world.activity is not None
    assert "Prometheus has nothing of dcgm-exporter from this time" in world.activity[GPU]["reason"]
    assert power(world.activity, OTHER) == 200


def test_an_instance_is_asked_for_by_its_gpu_and_its_number_there(make: Make) -> None:
    prometheus = Scraped(**{f"{GPU}/": 300.0, f"{GPU}/9": 90.0})
    world = make(prometheus, gpus={INSTANCE: {"gpu_uuid": GPU, "gpu_instance": 9}})
    world.deliver()
    assert world.activity is not None
    told = world.activity[INSTANCE]
    assert told["device"] == {"uuid": INSTANCE, "gpu_uuid": GPU, "gpu_instance": 9}
    assert told["readings"]["sm_active"]["value"] == 0.5
    assert any(f'UUID="{GPU}",GPU_I_ID="9"' in selector for selector, _, _ in prometheus.asked)
    assert all('GPU_I_ID=""' not in selector for selector, _, _ in prometheus.asked)


@pytest.mark.parametrize("identity", [{}, {"gpu_uuid": None, "gpu_instance": None}, {"gpu_instance": "9"}])
def test_an_instance_of_an_unknown_gpu_says_so(make: Make, identity: dict[str, Any]) -> None:
    world = make(Scraped(**{f"{GPU}/9": 90.0}), gpus={INSTANCE: identity})
    world.deliver()
    assert world.activity is not None
    assert world.activity[INSTANCE]["reason"] == f"which instance of which GPU {INSTANCE} is, is not known"


def test_a_run_on_other_devices_asks_nobody(make: Make) -> None:
    world = make(Scraped(), kind="amd")
    assert world.messages() == []


@pytest.mark.parametrize("ends", ["contaminated", "cancelled", "bench_failed"])
def test_a_run_that_ended_badly_is_asked_about_too(make: Make, ends: str) -> None:
    world = make(Scraped(**{f"{GPU}/": 300.0}), ends=ends)
    world.deliver()
    assert power(world.activity) == 300


def test_a_run_that_lost_its_lease_is_asked_about_too(make: Make) -> None:
    world = make(Scraped(**{f"{GPU}/": 300.0}), ends="")
    assert world.messages() == []
    with world.service.database.session() as session:
        session.execute(text("update job set lease_until = clock_timestamp() - interval '1 second'"))
        assert sweep_leases(session, world.service.settings) == 1
    world.deliver()
    assert power(world.activity) == 300


def test_nobody_is_asked_about_a_run_in_which_nothing_counts(make: Make) -> None:
    reasons = dict.fromkeys(("_0", "_1", "_2", "_3"), "throttled: by heat")
    world = make(Scraped(), void=reasons)
    assert world.deliver() == 1
    assert world.prometheus is not None
    assert (world.activity, world.prometheus.looks) == (None, 0)


def agree_on_clocks(world: World, ahead_s: float = 40.0) -> None:
    """Have the run's messages say that the agent's clock is so far ahead, each received 0.2 s after a pair's end."""
    ahead = timedelta(seconds=ahead_s)
    with world.service.database.session() as session:
        session.get_one(Run, 1).prepared_at = world.agent.began - ahead - timedelta(seconds=2)
        for row in session.query(Invocation).all():
            lasted = timedelta(microseconds=row.duration_ns / 1000)
            waited = timedelta(seconds=10.2 if row.position % 2 == 0 else 0.2)
            row.received_at = row.started_at + lasted - ahead + waited


def test_windows_are_moved_by_what_the_agents_clock_is_ahead(make: Make) -> None:
    world = make(Scraped(**{f"{GPU}/": 300.0}))
    agree_on_clocks(world)
    world.deliver()
    assert world.activity is not None
    told = world.activity[GPU]
    assert told["moved"]["by_s"] == pytest.approx(-39.8, abs=0.1)
    assert told["windows"][0] == world.agent.window(0)
    assert told["notes"] == ["the windows were moved by -39.8 s to Prometheus' clock"]


def test_the_agents_clock_is_told_by_the_clock_of_the_machine_that_asks(make: Make, monkeypatch: Any) -> None:
    world = make(Scraped())
    agree_on_clocks(world)
    now = clock.now
    ahead_s = []
    for plus_s in (0.0, 30.0):
        monkeypatch.setattr(clock, "now", lambda session, plus_s=plus_s: now(session, plus_s=plus_s))
        with world.service.database.session() as session:
            question = question_of(session, 1)
        assert question is not None
        assert question.agent_ahead_s is not None
        ahead_s.append(question.agent_ahead_s)
    assert ahead_s == [pytest.approx(39.8, abs=0.1), pytest.approx(69.8, abs=0.1)]


# --- when it is asked again ---


def test_what_was_asked_too_early_is_asked_again_later(make: Make, monkeypatch: Any) -> None:
    just_now = datetime.now(UTC) - timedelta(seconds=3 * EVERY_S + LASTS_S)
    world = make(Scraped(**{f"{GPU}/": 300.0}), began=just_now)
    monkeypatch.setattr("app.integrations.dcgm.activity.datetime", at(just_now + timedelta(seconds=38.2)))
    assert world.deliver() == 1
    assert world.activity is not None
    assert world.activity[GPU]["asked_early"]
    assert world.again_in_s() == pytest.approx(AGAIN_S[0], abs=5)
    assert world.deliver() == 0, "the message waits"

    monkeypatch.setattr("app.integrations.dcgm.activity.datetime", at(just_now + timedelta(seconds=120)))
    world.wait()
    assert world.deliver() == 1
    assert not world.activity[GPU]["asked_early"]
    assert (world.activity[GPU]["asked_times"], world.again_in_s()) == (2, None)
    assert world.messages() == []


def at(moment: datetime) -> type[datetime]:
    class Now(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Now:
            return cls.fromtimestamp(moment.timestamp(), tz)

    return Now


def test_a_server_that_was_away_is_asked_again_when_it_is_back(make: Make) -> None:
    world = make(Scraped(**{f"{GPU}/": 300.0}))
    assert world.prometheus is not None
    world.prometheus.away = f"{URL} cannot be reached: Connection refused"
    world.deliver()
    assert world.activity is not None
    assert world.activity[GPU]["reason"] == f"{URL} cannot be reached: Connection refused"
    assert world.again_in_s() == pytest.approx(AGAIN_S[0], abs=5)

    world.prometheus.away = ""
    world.wait()
    world.deliver()
    assert power(world.activity) == 300
    assert world.again_in_s() is None


def test_a_server_that_stays_away_is_asked_a_few_times_with_longer_and_longer_waits(make: Make) -> None:
    world = make(Scraped())
    assert world.prometheus is not None
    world.prometheus.away = "it is away"
    waits = []
    while world.deliver():
        waits.append(world.again_in_s())
        world.wait()
    assert waits[:-1] == [pytest.approx(wait, abs=5) for wait in AGAIN_S]
    assert waits[-1] is None
    assert world.prometheus.looks == len(AGAIN_S) + 1
    assert world.activity is not None
    assert world.activity[GPU]["reason"] == "it is away"


def test_numbers_that_came_early_stay_when_the_server_is_away_later(make: Make, monkeypatch: Any) -> None:
    just_now = datetime.now(UTC) - timedelta(seconds=3 * EVERY_S + LASTS_S)
    world = make(Scraped(**{f"{GPU}/": 300.0}), began=just_now)
    monkeypatch.setattr("app.integrations.dcgm.activity.datetime", at(just_now + timedelta(seconds=38.2)))
    world.deliver()
    assert world.prometheus is not None
    world.prometheus.away = "it is away"
    world.wait()
    world.deliver()
    assert power(world.activity) == 300
    assert world.activity is not None
    assert world.activity[GPU]["asked_times"] == 2
    assert world.again_in_s() == pytest.approx(AGAIN_S[1], abs=5)


def test_only_the_device_that_was_not_answered_is_asked_about_again(make: Make) -> None:
    prometheus = Scraped(**{f"{GPU}/": 300.0, f"{OTHER}/": 200.0})
    world = make(prometheus, gpus={GPU: {}, OTHER: {}})
    world.deliver()
    with world.service.database.session() as session:
        run = session.get_one(Run, 1)
        assert run.activity is not None
        unanswered = run.activity[OTHER] | {"readings": {}, "ask_again_at": run.activity[OTHER]["asked_at"]}
        run.activity = run.activity | {OTHER: unanswered}
        session.execute(text("update outbox set sent_at = null"))
    before = prometheus.looks
    world.deliver()
    assert prometheus.looks == before + 1
    assert world.activity is not None
    assert (world.activity[GPU]["asked_times"], world.activity[OTHER]["asked_times"]) == (1, 2)
    assert power(world.activity, OTHER) == 200


def test_the_same_message_twice_asks_once(make: Make) -> None:
    world = make(Scraped(**{f"{GPU}/": 300.0}))
    world.deliver()
    before = world.activity
    for _ in range(2):
        world.tasks.tasks[ACTIVITY].apply(kwargs={"run_id": 1}, throw=True)
    assert world.prometheus is not None
    assert world.prometheus.looks == 1
    assert world.activity == before


def test_the_same_message_before_its_time_asks_nobody(make: Make) -> None:
    world = make(Scraped())
    assert world.prometheus is not None
    world.prometheus.away = "it is away"
    world.deliver()
    world.tasks.tasks[ACTIVITY].apply(kwargs={"run_id": 1}, throw=True)
    assert world.prometheus.looks == 1
    assert len(world.messages()) == 1


def test_of_two_tasks_that_ask_at_the_same_time_the_first_is_kept(make: Make) -> None:
    world = make(Scraped(**{f"{GPU}/": 300.0}))
    assert world.prometheus is not None
    with world.service.database.session() as session:
        question = question_of(session, 1)
    assert question is not None
    first = ask(world.prometheus, question)  # type: ignore[arg-type]
    world.prometheus.of_devices = {f"{GPU}/": 100.0}
    second = ask(world.prometheus, question)  # type: ignore[arg-type]
    for told in (first, second):
        with world.service.database.session() as session:
            keep_activity(session, 1, told)
    assert power(world.activity) == 300
    assert world.activity is not None
    assert world.activity[GPU]["asked_times"] == 1


# --- messages that were lost ---


def ended_ago(world: World, **ago: float) -> None:
    with world.service.database.session() as session:
        session.execute(
            text("update attempt set ended_at = clock_timestamp() - :ago"), {"ago": timedelta(**ago)}
        )
        session.execute(
            text("update outbox set sent_at = clock_timestamp() - :ago"), {"ago": timedelta(**ago)}
        )


@pytest.fixture
def configured(service: Service) -> None:
    service.settings.prometheus_url = URL


@pytest.mark.usefixtures("configured")
@pytest.mark.parametrize(("ago", "found"), [({"minutes": 5}, 0), ({"minutes": 15}, 1), ({"hours": 30}, 0)])
def test_a_lost_message_is_found_again_within_a_day(make: Make, ago: dict[str, float], found: int) -> None:
    world = make(Scraped(**{f"{GPU}/": 300.0}))
    ended_ago(world, **ago)
    world.tasks.tasks[SWEEP].apply(throw=True)
    assert len(world.messages()) == world.deliver() == found
    assert (world.activity is not None) is bool(found)


@pytest.mark.usefixtures("configured")
def test_a_lost_message_to_ask_again_is_found(make: Make) -> None:
    world = make(Scraped())
    assert world.prometheus is not None
    world.prometheus.away = "it is away"
    world.deliver()
    ended_ago(world, minutes=30)
    with world.service.database.session() as session:
        assert find_unasked(session, world.service.settings) == 0, "it is not time yet"
    with world.service.database.session() as session:
        run = session.get_one(Run, 1)
        assert run.activity is not None
        late = (datetime.now(UTC) - timedelta(minutes=15)).isoformat()
        run.activity = {GPU: run.activity[GPU] | {"ask_again_at": late}}
    with world.service.database.session() as session:
        assert find_unasked(session, world.service.settings) == 1


@pytest.mark.usefixtures("configured")
def test_what_is_told_or_does_not_count_is_no_lost_message(make: Make) -> None:
    reasons = dict.fromkeys(("_0", "_1", "_2", "_3"), "throttled: by heat")
    world = make(Scraped(), void=reasons)
    world.deliver()
    ended_ago(world, minutes=15)
    with world.service.database.session() as session:
        assert find_unasked(session, world.service.settings) == 0


# --- where none is configured ---


def test_without_a_prometheus_nobody_is_asked_and_nothing_is_shown(
    make: Make, service: Service, admin_token: str
) -> None:
    assert service.prometheus is None
    world = make(None)
    assert world.deliver() == 1
    assert world.activity is None
    ended_ago(world, minutes=15)
    with service.database.session() as session:
        assert find_unasked(session, service.settings) == 0
    assert "DCGM" not in browser(service, admin_token).get("/runs/1").text


def test_a_process_has_one_prometheus(service: Service) -> None:
    service.settings.prometheus_url = URL + "/"
    assert service.prometheus is not None
    assert service.prometheus.url == URL
    assert service.prometheus is service.prometheus


# --- what is shown ---


def shown(world: World, token: str) -> Page:
    answer = browser(world.service, token).get("/runs/1")
    assert answer.status_code == 200, answer.text
    return Page(answer.text)


def test_the_run_shows_each_number_with_its_coverage_and_its_source(make: Make, admin_token: str) -> None:
    world = make(Scraped(**{f"{GPU}/": 312.5}))
    world.deliver()
    page = shown(world, admin_token)
    told = re.search(r"Power DCGM_FI_DEV_POWER_USAGE 312 W (.*?), every 1 s", page.text)
    assert told is not None
    assert told[1] == "87.5 % 28 samples"
    assert "Multiprocessors active DCGM_FI_PROF_SM_ACTIVE 50.0 %" in page.text
    assert "Told by job dcgm, instance gpu7:9400" in page.text
    assert re.search(f"Asked of {URL} just now about 4 invocations of 32 s together", page.text)
    assert "Clock: dcgm-exporter tells no DCGM_FI_DEV_SM_CLOCK of this device" in page.text


def test_the_run_shows_why_there_is_nothing_and_when_it_is_asked_again(make: Make, admin_token: str) -> None:
    world = make(Scraped())
    assert world.prometheus is not None
    world.prometheus.away = f"{URL} cannot be reached: Connection refused"
    world.deliver()
    page = shown(world, admin_token)
    assert f"{URL} cannot be reached: Connection refused" in page.text
    assert re.search(r"32 s together; asked again at 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC", page.text)


def test_the_run_as_json_has_what_was_told(make: Make, client: TestClient, admin_token: str) -> None:
    world = make(Scraped(**{f"{GPU}/": 312.5}))
    headers = {"Authorization": f"Bearer {admin_token}"}
    assert client.get("/api/v1/runs/1", headers=headers).json()["activity"] is None
    world.deliver()
    told = client.get("/api/v1/runs/1", headers=headers).json()["activity"]
    assert told == world.activity
    assert power(told) == 312.5


def test_the_list_of_runs_does_without_it(make: Make, admin_token: str) -> None:
    world = make(Scraped(**{f"{GPU}/": 312.5}))
    world.deliver()
    assert "inference" in browser(world.service, admin_token).get("/runs").text


def test_the_check_is_concluded_before_anybody_is_asked(
    make: Make, client: TestClient, admin_token: str
) -> None:
    from app.services.conclude_check import conclude_check

    world = make(Scraped())
    with world.service.database.session() as session:
        assert conclude_check(session, 1) is not None
    headers = {"Authorization": f"Bearer {admin_token}"}
    assert client.get("/api/v1/checks/1", headers=headers).json()["state"] == "complete"
    assert world.prometheus is not None
    assert world.prometheus.looks == 0
