import threading
from datetime import UTC, datetime

import httpx
import pytest

from tests.unit.workers.fake_clock import FakeClock
from tests.unit.workers.messages import TIMES, a_lease
from workers.errors import LeaseEndedError
from workers.host.clock import SystemClock
from workers.lease.client import ServiceClient
from workers.lease.tenure import End, Tenure
from workers.protocol import Heartbeat, Phase

AWAY = httpx.Response(503)
STALE = httpx.Response(409, json={"code": "stale_lease", "message": "ended"})
SLOW = TIMES.model_copy(update={"heartbeat_s": 3600.0, "self_fence_s": 7200.0})
UNKNOWN = httpx.Response(404, json={"code": "not_found", "message": "no such lease"})


def confirmed(*, cancel=False):
    return httpx.Response(200, json={"lease_until": datetime.now(UTC).isoformat(), "cancel": cancel})


class Lived:
    """A tenure whose heartbeats get these answers, the last one for ever."""

    def __init__(self, *answers, answer_takes_s=0.0):
        self.clock = FakeClock()
        self.answers = list(answers)
        self.answer_takes_s = answer_takes_s
        self.beats = []
        self.ends = []
        client = ServiceClient("http://s", "t", transport=httpx.MockTransport(self._answer), clock=self.clock)
        self.tenure = Tenure(a_lease(), TIMES, client, self.clock, claimed_at=self.clock.now())
        self.tenure.on_end = lambda: self.ends.append(self.clock.now())

    def _answer(self, request):
        self.beats.append(Heartbeat.model_validate_json(request.content))
        self.clock.time_s += self.answer_takes_s
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def live(self, beats):
        """Beat, waiting in between as the tenure asks; stop with the lease."""
        for _ in range(beats):
            pause_s = self.tenure.beat()
            if self.tenure.why is not None:
                return
            self.clock.time_s += pause_s


def test_a_confirmed_lease_beats_at_the_services_pace():
    lived = Lived(confirmed())
    assert lived.tenure.beat() == TIMES.heartbeat_s
    assert lived.tenure.why is None


def test_a_heartbeat_tells_the_phase_and_the_device_time():
    lived = Lived(confirmed())
    lived.tenure.enter(Phase.MEASURING, "block 3")
    lived.tenure.device_s = 12.5
    lived.tenure.beat()
    assert lived.beats == [Heartbeat(phase="measuring", detail="block 3", device_s=12.5)]


def test_a_lease_that_is_never_confirmed_is_fenced_in_time():
    lived = Lived(AWAY)
    lived.live(1000)
    assert lived.tenure.why is End.FENCED
    assert lived.ends == [1000.0 + TIMES.self_fence_s]


def test_the_fence_counts_from_when_the_last_confirmed_heartbeat_was_sent():
    lived = Lived(confirmed(), AWAY, answer_takes_s=4.0)
    lived.live(1000)
    assert lived.ends[0] >= 1000.0 + TIMES.self_fence_s
    assert lived.ends[0] <= 1000.0 + TIMES.self_fence_s + 4.0


def test_a_heartbeat_that_comes_through_in_time_keeps_the_lease():
    lived = Lived(*[AWAY] * 10, confirmed())
    lived.live(30)
    assert lived.tenure.why is None


def test_an_unconfirmed_heartbeat_is_repeated_sooner():
    assert Lived(AWAY).tenure.beat() < TIMES.heartbeat_s


def test_a_stale_lease_ends_at_once():
    lived = Lived(STALE)
    lived.tenure.beat()
    assert (lived.tenure.why, lived.tenure.is_lost, len(lived.ends)) == (End.STALE, True, 1)


def test_any_other_refusal_only_counts_as_silence():
    lived = Lived(UNKNOWN)
    lived.tenure.beat()
    assert lived.tenure.why is None


def test_a_cancelled_lease_ends_but_is_not_lost():
    lived = Lived(confirmed(cancel=True))
    lived.tenure.beat()
    assert (lived.tenure.why, lived.tenure.is_lost, len(lived.ends)) == (End.CANCELLED, False, 1)


def test_the_loss_of_a_lease_outranks_its_cancellation():
    lived = Lived(confirmed(cancel=True), STALE)
    lived.tenure.beat()
    lived.tenure.beat()
    assert lived.tenure.why is End.STALE


def test_a_lost_lease_stays_lost():
    lived = Lived(STALE)
    lived.tenure.beat()
    lived.tenure.end(End.STOPPED)
    assert lived.tenure.why is End.STALE


def test_work_under_an_ended_lease_unwinds():
    lived = Lived(confirmed())
    lived.tenure.end(End.STOPPED)
    assert lived.tenure.over.is_set()
    with pytest.raises(LeaseEndedError):
        lived.tenure.check()
    with pytest.raises(LeaseEndedError):
        lived.tenure.enter(Phase.MEASURING)


def test_a_new_phase_is_told_without_waiting_for_the_next_beat():
    told = threading.Event()

    def answer(request):
        if Heartbeat.model_validate_json(request.content).phase == "building":
            told.set()
        return confirmed()

    client = ServiceClient("http://s", "t", transport=httpx.MockTransport(answer))
    with Tenure(a_lease(), SLOW, client, SystemClock(), claimed_at=SystemClock().now()) as tenure:
        tenure.enter(Phase.BUILDING)
        assert told.wait(60)


def test_a_fault_in_the_heartbeat_itself_counts_as_silence():
    lived = Lived(AWAY)
    lived.tenure._client = None
    with lived.tenure:
        assert lived.tenure.over.wait(60)
    assert lived.tenure.why is End.FENCED
