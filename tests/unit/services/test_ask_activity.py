"""What a run tells of its agent's clock, and how its devices are named."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from app.integrations.queue import ACTIVITY, CeleryQueue
from app.services.ask_activity import AGAIN_S, KNOWN_WITHIN_S, TOPIC, GpuName, agent_ahead_s, gpu_name
from app.store.repositories.runs import InvocationTimes
from app.store.tables import Device

PREPARED = datetime(2026, 3, 1, 12, tzinfo=UTC)


def run_of(
    *waits_s: float, ahead_s: float = 0.0, first_after_s: float = 1.0, set_by_s: float = 0.0
) -> list[InvocationTimes]:
    """A run of pairs whose invocations last 5 s; each pair is received so long after its second one has ended.

    The next pair begins 2 s later. The agent's clock is `ahead_s`; in the middle of the run it is set by `set_by_s`.
    """
    times, now_s = [], first_after_s
    for pair, wait_s in enumerate(waits_s):
        by_s = ahead_s + (set_by_s if pair >= len(waits_s) / 2 else 0.0)
        received = PREPARED + timedelta(seconds=now_s + 10 + wait_s)
        for start_s in (now_s, now_s + 5):
            started = PREPARED + timedelta(seconds=start_s + by_s)
            times.append(InvocationTimes(pair, False, started, 5 * 10**9, received))
        now_s += 10 + wait_s + 2
    return times


@pytest.mark.parametrize("ahead_s", [0.0, 40.0, -3600.0])
def test_the_least_wait_from_an_end_to_its_receipt_is_the_difference_of_the_clocks(ahead_s: float) -> None:
    told = agent_ahead_s(PREPARED, run_of(0.6, 0.1, 7.0, ahead_s=ahead_s))
    assert told == pytest.approx(ahead_s - 0.1)


def test_void_invocations_tell_of_the_clock_too() -> None:
    times = [InvocationTimes(**{**vars(one), "is_void": True}) for one in run_of(0.1)]
    assert agent_ahead_s(PREPARED, times) == pytest.approx(-0.1)


def test_the_order_of_the_rows_does_not_matter() -> None:
    times = run_of(0.6, 0.1, 7.0, ahead_s=40.0)
    assert agent_ahead_s(PREPARED, times[::-1]) == agent_ahead_s(PREPARED, times)


def test_where_all_of_a_run_came_late_the_difference_is_not_known() -> None:
    assert agent_ahead_s(PREPARED, run_of(30.0, 31.0)) is None
    assert agent_ahead_s(PREPARED, run_of(KNOWN_WITHIN_S - 1.5, 31.0)) is not None


@pytest.mark.parametrize("set_by_s", [3600.0, -3600.0, 5.0])
def test_a_clock_that_was_set_during_the_run_is_not_known(set_by_s: float) -> None:
    assert agent_ahead_s(PREPARED, run_of(0.1, 0.1, 0.1, 0.1, set_by_s=set_by_s)) is None


def test_a_run_without_invocations_tells_nothing_of_the_clock() -> None:
    assert agent_ahead_s(PREPARED, []) is None


def test_the_message_becomes_a_task() -> None:
    sent: list[tuple[str, dict[str, Any]]] = []

    class FakeCelery:
        def send_task(self, task: str, *, kwargs: dict[str, Any], **_: Any) -> None:
            sent.append((task, kwargs))

    CeleryQueue(FakeCelery()).send(TOPIC, {"run_id": 12})  # type: ignore[arg-type]
    assert sent == [(ACTIVITY, {"run_id": 12})]


def test_waits_grow() -> None:
    assert list(AGAIN_S) == sorted(AGAIN_S)


@pytest.mark.parametrize(
    ("identity", "gpu_uuid", "instance"),
    [
        ({}, None, None),
        ({"gpu_uuid": "GPU-1", "gpu_instance": 9}, "GPU-1", 9),
        ({"gpu_uuid": "GPU-1", "gpu_instance": 0}, "GPU-1", 0),
        ({"gpu_uuid": "GPU-1", "gpu_instance": None}, "GPU-1", None),
        ({"gpu_uuid": 3, "gpu_instance": "9"}, None, None),
        ({"gpu_uuid": "GPU-1", "gpu_instance": True}, "GPU-1", None),
    ],
)
def test_an_instance_is_named_as_its_agent_told(
    identity: dict[str, Any], gpu_uuid: str | None, instance: int | None
) -> None:
    device = Device(hardware_id="MIG-1", fingerprint={"identity": identity})
    assert gpu_name(device) == GpuName("MIG-1", gpu_uuid, instance)


def test_a_device_without_a_fingerprint_has_its_name() -> None:
    assert gpu_name(Device(hardware_id="GPU-1", fingerprint={})) == GpuName("GPU-1", None, None)
