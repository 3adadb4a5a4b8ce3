import errno
import json
import threading
from pathlib import Path

import httpx
import pytest

from tests.unit.workers.fake_clock import FakeClock
from tests.unit.workers.messages import a_lease, an_invocation
from workers.agent import Agent
from workers.config import Config
from workers.devices import detect
from workers.devices.base import Host
from workers.errors import InUseError, JobError, LeaseEndedError, RefusedError, UsageError
from workers.lease.client import ServiceClient
from workers.lease.spool import Spool
from workers.lease.tenure import End
from workers.protocol import Claim, Finish, Register, SignOff

REGISTERED = {"worker_id": 3, "heartbeat_s": 3600.0, "lease_ttl_s": 60.0, "self_fence_s": 7200.0}
OK = Finish(outcome="ok")


class Service:
    """A service with these leases; any answer can be replaced."""

    def __init__(self, *leases, **answers):
        self.leases = list(leases)
        self.answers = answers
        self.seen = []

    def __call__(self, request):
        what = request.url.path.rsplit("/", 1)[-1]
        self.seen.append((what, request))
        if what in self.answers:
            answers = self.answers[what]
            return answers.pop(0) if len(answers) > 1 else answers[0]
        return getattr(self, what.replace("-", "_"))(request)

    def register(self, request):
        return httpx.Response(200, json=REGISTERED)

    def claim(self, request):
        if not self.leases:
            return httpx.Response(204)
        return httpx.Response(200, content=self.leases.pop(0).model_dump_json())

    def heartbeat(self, request):
        return httpx.Response(200, json={"lease_until": "2026-01-31T00:00:00Z"})

    def invocations(self, request):
        return httpx.Response(200, json={"open": []})

    def finish(self, request):
        return httpx.Response(200, json={})

    def sign_off(self, request):
        return httpx.Response(200, json={})

    def bodies(self, what):
        return [request.content for name, request in self.seen if name == what]

    @property
    def finished(self):
        return [Finish.model_validate_json(body) for body in self.bodies("finish")]


def problem(status, code):
    return httpx.Response(status, json={"code": code, "message": f"no: {code}"})


def an_agent(folder: Path, service: Service, measure=lambda *_: OK, *, once=True, ids=("sim-0",)) -> Agent:
    script = folder / "devices.json"
    script.write_text(json.dumps([{"class": "sim-test", "hardware_id": name} for name in ids]))
    devices = detect(("simulated",), Host(folder / "data", folder, script))
    config = Config(
        url="http://s",
        token="t",
        name="w",
        kinds=("simulated",),
        data_dir=folder / "data",
        lock_dir=folder,
        once=once,
    )
    clock = FakeClock()
    client = ServiceClient("http://s", "t", transport=httpx.MockTransport(service), clock=clock)
    return Agent(config, devices, client, clock, measure=measure)


def test_an_agent_introduces_its_devices_and_asks_for_work_on_them(tmp_path):
    service = Service()
    an_agent(tmp_path, service).run()
    (registered,) = (Register.model_validate_json(body) for body in service.bodies("register"))
    (claim,) = (Claim.model_validate_json(body) for body in service.bodies("claim"))
    assert [device.hardware_id for device in registered.devices] == ["sim-0"]
    assert claim == Claim(worker_id=3, instance=registered.instance, hardware_ids=["sim-0"])


def test_an_agent_that_ends_signs_off_last(tmp_path):
    service = Service(a_lease())
    an_agent(tmp_path, service).run()
    (registered,) = (Register.model_validate_json(body) for body in service.bodies("register"))
    (signed_off,) = (SignOff.model_validate_json(body) for body in service.bodies("sign-off"))
    assert signed_off == SignOff(worker_id=3, instance=registered.instance)
    assert service.seen[-1][0] == "sign-off"


@pytest.mark.parametrize("status", [404, 503])
def test_a_service_that_cannot_hear_of_it_keeps_no_agent_from_ending(tmp_path, status):
    service = Service(**{"sign-off": [problem(status, "not_found")]})
    an_agent(tmp_path, service).run()
    assert len(service.bodies("sign-off")) == 1


def test_every_start_of_an_agent_has_an_instance_of_its_own(tmp_path):
    service = Service()
    an_agent(tmp_path, service).run()
    an_agent(tmp_path, service).run()
    assert len({Register.model_validate_json(body).instance for body in service.bodies("register")}) == 2


def test_a_lease_is_carried_out_on_its_device_and_finished(tmp_path):
    service, measured = Service(a_lease()), []

    def measure(tenure, group, means):
        measured.append((tenure.lease.run_id, [device.hardware_id for device in group.devices]))
        tenure.device_s = 12.5
        return OK

    an_agent(tmp_path, service, measure).run()
    assert measured == [(7, ["sim-0"])]
    assert service.finished == [Finish(outcome="ok", device_s=12.5)]


@pytest.mark.parametrize(
    ("error", "reason", "retryable"),
    [
        (InUseError("somebody measures"), "device_busy", True),
        (JobError("repository_unreadable", "no repository", retryable=False), "repository_unreadable", False),
        (JobError("disk_full", "no space"), "disk_full", True),
        (OSError(errno.ENOSPC, "No space left on device"), "disk_full", True),
        (OSError(errno.EIO, "Input/output error"), "agent_fault", True),
        (RefusedError(422, "bad_payload", "no"), "refused", True),
        (ZeroDivisionError("oops"), "agent_fault", True),
    ],
)
def test_whatever_goes_wrong_ends_the_job_with_a_reason_and_not_the_agent(tmp_path, error, reason, retryable):
    service = Service(a_lease(), a_lease())

    def measure(*_):
        if len(service.leases) == 1:
            raise error
        agent.stop()
        return OK

    agent = an_agent(tmp_path, service, measure, once=False)
    agent.run()
    first, second = service.finished
    assert (first.outcome, first.reason, first.retryable) == ("infra_failed", reason, retryable)
    assert first.message
    assert second.outcome == "ok"


def test_a_lease_on_several_devices_is_measured_on_all_of_them_and_no_others(tmp_path):
    service, measured = Service(a_lease(hardware_ids=["sim-2", "sim-0"])), []

    def measure(tenure, group, means):
        measured.extend(device.hardware_id for device in group.devices)
        return OK

    an_agent(tmp_path, service, measure, ids=("sim-0", "sim-1", "sim-2")).run()
    assert measured == ["sim-2", "sim-0"]
    assert service.finished == [OK]


@pytest.mark.parametrize("wanted", [["sim-9"], ["sim-0", "sim-9"], []])
def test_a_job_for_another_device_is_handed_back(tmp_path, wanted):
    service = Service(a_lease(hardware_ids=wanted))
    an_agent(tmp_path, service).run()
    assert (service.finished[0].reason, service.finished[0].retryable) == ("no_such_device", True)


def ending(end):
    def measure(tenure, *_):
        tenure.end(end)
        raise LeaseEndedError(end)

    return measure


def test_a_cancelled_job_ends_as_cancelled(tmp_path):
    service = Service(a_lease())
    an_agent(tmp_path, service, ending(End.CANCELLED)).run()
    assert service.finished == [Finish(outcome="cancelled", reason="cancelled")]


@pytest.mark.parametrize("end", [End.STALE, End.FENCED])
def test_nothing_more_is_said_under_a_lost_lease(tmp_path, end):
    service = Service(a_lease())
    an_agent(tmp_path, service, ending(end)).run()
    assert service.finished == []


def test_a_stopped_agent_hands_its_lease_back(tmp_path):
    service = Service(a_lease(), a_lease())

    def measure(tenure, *_):
        agent.stop()
        tenure.check()
        return OK

    agent = an_agent(tmp_path, service, measure, once=False)
    agent.run()
    assert [(end.outcome, end.reason, end.retryable) for end in service.finished] == [
        ("infra_failed", "agent_stopped", True)
    ]
    assert len(service.bodies("claim")) == 1


def test_an_agent_that_is_stopped_while_it_asks_for_work_ends_though_no_answer_comes(tmp_path):
    asked, released = threading.Event(), threading.Event()

    class Hanging(Service):
        def claim(self, request):
            asked.set()
            released.wait(60)
            return httpx.Response(204)

    agent = an_agent(tmp_path, Hanging(), once=False)
    stopper = threading.Thread(target=lambda: (asked.wait(60), agent.stop()))
    stopper.start()
    agent.run()
    stopper.join()
    assert not released.is_set()
    released.set()


def test_a_lease_that_comes_while_the_agent_stops_is_handed_back(tmp_path):
    class Late(Service):
        def claim(self, request):
            agent.stop()
            return super().claim(request)

    service = Late(a_lease())

    def measure(tenure, *_):
        tenure.check()
        return OK

    agent = an_agent(tmp_path, service, measure, once=False)
    agent.run()
    assert [end.reason for end in service.finished] == ["agent_stopped"]


@pytest.mark.parametrize("what", ["register", "claim"])
@pytest.mark.parametrize("status", [401, 403])
def test_a_token_that_is_refused_ends_the_agent_as_wrong_usage(tmp_path, what, status):
    with pytest.raises(UsageError, match="token"):
        an_agent(tmp_path, Service(**{what: [problem(status, "forbidden")]})).run()


@pytest.mark.parametrize(("what", "code"), [("register", "device_in_use"), ("claim", "superseded_agent")])
def test_an_agent_whose_place_is_taken_ends(tmp_path, what, code):
    with pytest.raises(InUseError, match=code):
        an_agent(tmp_path, Service(**{what: [problem(409, code)]})).run()


def test_an_agent_that_the_service_has_forgotten_registers_anew(tmp_path):
    service = Service(a_lease(), claim=[problem(404, "not_found"), httpx.Response(204)])
    an_agent(tmp_path, service).run()
    assert len(service.bodies("register")) == 2


def test_a_second_agent_on_a_device_is_refused_before_it_says_a_word(tmp_path):
    service = Service()

    def measure(*_):
        with pytest.raises(InUseError, match="sim-0"):
            an_agent(tmp_path, service).run()
        return OK

    first = Service(a_lease())
    an_agent(tmp_path, first, measure).run()
    assert first.finished == [OK]
    assert service.seen == []


def test_what_a_dead_agent_left_is_cleared_away_and_its_results_are_delivered(tmp_path):
    (tmp_path / "data/work/6/arms/base").mkdir(parents=True)
    Spool(tmp_path / "data/spool").put("lease-0", "6/0/base/1", an_invocation())
    service = Service()
    an_agent(tmp_path, service).run()
    assert not (tmp_path / "data/work").exists()
    assert len(service.bodies("invocations")) == 1
    assert Spool(tmp_path / "data/spool").pending() == []
