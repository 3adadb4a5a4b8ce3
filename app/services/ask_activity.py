"""What DCGM told of a run's GPUs, asked of Prometheus when the run has ended; neither verdicts nor reports wait for it.

    end of an attempt → outbox `run.activity` → tasks: question_of → ask, outside of any transaction → keep_activity

What is still to be asked stands in the database: a run without `activity`, or a device's document with `ask_again_at`.
A message only says that a run wants attention, so one that comes twice asks once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.store.repositories import clock, fleet, outbox, runs
from app.store.repositories.runs import InvocationTimes
from app.store.tables import Device, Run

if TYPE_CHECKING:
    from app.integrations.dcgm import Prometheus

TOPIC = "run.activity"
KIND = "nvidia"
"""The device kind that DCGM knows."""

AGAIN_S = (70.0, 300.0, 900.0, 3600.0)
"""After how long it is asked again, where it was too early or nobody answered [s].

The first is longer than a server that was away is let be, and than most exporters are left between two scrapes.
"""

KNOWN_WITHIN_S = 15.0
"""A difference between the clocks that the messages leave this much room is not known [s]."""
SET_BY_S = 1.0
"""Messages contradict each other by more than this where the agent's clock was set during the run [s]."""

LOST_AFTER = timedelta(minutes=10)
LOOKED_AT = timedelta(days=1)
"""For so long after its end a run's message is looked for."""

Document = dict[str, Any]
"""What was told of one device: `Activity.document()` with `asked_times` and `ask_again_at`."""


class GpuName(NamedTuple):
    """A device by its UUID; a MIG instance also by its GPU and its number there, where its agent told them."""

    uuid: str
    gpu_uuid: str | None
    gpu_instance: int | None


@dataclass(frozen=True)
class Question:
    """What to ask about a run: the windows by the agent's clock, and how far that is ahead of this machine's [s]."""

    run_id: int
    devices: tuple[GpuName, ...]
    windows: tuple[tuple[datetime, datetime], ...]
    agent_ahead_s: float | None


def want_activity(session: Session, run: Run, devices: Sequence[Device]) -> None:
    """Have it asked what the run's devices did, where DCGM may know."""
    if _gpus(devices):
        _announce(session, run.id)


def find_unasked(session: Session, settings: ServiceSettings) -> int:
    """Announce again the runs of the last day whose message was lost; return how many."""
    if not settings.prometheus_url:
        return 0
    found = runs.without_activity(session, KIND, older_than=LOST_AFTER, newer_than=LOOKED_AT)
    for run_id in found:
        _announce(session, run_id, sent_before=LOST_AFTER)
    return len(found)


def question_of(session: Session, run_id: int) -> Question | None:
    """Return what is to be asked about the run by now; None where nothing is."""
    context = runs.with_context(session, run_id)
    if context is None:
        return None
    told, now = context.run.activity or {}, clock.now(session)
    gpus = _gpus(fleet.devices_of_lease(session, context.attempt.lease_id))
    devices = [device for device in gpus if _is_due(told, device.hardware_id, now)]
    times = runs.times_of(session, run_id) if devices else []
    windows = tuple((one.started_at, one.ended_at) for one in times if not one.is_void)
    if not windows:
        return None
    ahead_s = agent_ahead_s(context.run.prepared_at, times)
    if ahead_s is not None:
        ahead_s += _database_ahead_s(session)
    return Question(run_id, tuple(map(gpu_name, devices)), windows, ahead_s)


def ask(prometheus: Prometheus, question: Question) -> dict[str, Document]:
    """Return by hardware id what Prometheus tells of each device; a server that is away is a reason in it."""
    # Takes a tenth of a second, which the api does not wait for.
    from app.integrations.dcgm import Gpu, device_activity

    return {
        name.uuid: device_activity(
            prometheus,
            Gpu.named(name.uuid, parent=name.gpu_uuid, instance=name.gpu_instance),
            question.windows,
            agent_ahead_s=question.agent_ahead_s,
        ).document()
        for name in question.devices
    }


def keep_activity(session: Session, run_id: int, told: Mapping[str, Document]) -> None:
    """Store what was told, and have it asked again where that may tell more. What others asked meanwhile stays."""
    run = runs.locked(session, run_id)
    now = clock.now(session)
    known: dict[str, Document] = run.activity or {}
    new = {
        name: _counted(known.get(name), document, now)
        for name, document in told.items()
        if _is_due(known, name, now)
    }
    if not new:
        return
    run.activity = known | new
    again = [datetime.fromisoformat(one["ask_again_at"]) for one in new.values() if one["ask_again_at"]]
    if again:
        _announce(session, run_id, delay_s=(min(again) - now).total_seconds())


def gpu_name(device: Device) -> GpuName:
    """Return the names that the device's agent reported."""
    identity = device.fingerprint.get("identity", {})
    gpu_uuid, instance = identity.get("gpu_uuid"), identity.get("gpu_instance")
    return GpuName(
        device.hardware_id,
        gpu_uuid if isinstance(gpu_uuid, str) else None,
        instance if type(instance) is int else None,
    )


def agent_ahead_s(prepared_at: datetime | None, times: Iterable[InvocationTimes]) -> float | None:
    """Return how far the agent's clock is ahead of the database's [s]; None where messages do not tell.

    An invocation is received some time after it has ended, and a pair begins some time after the one before was
    received. The least time from an end, by the one clock, to its receipt, by the other, is taken for the difference:
    nothing lies between them but a post. The least time from a receipt to a start bounds it from the other side; what
    is left between the two says whether all posts were late, or the clock was set.
    """
    ended, begun = [], []
    heard = prepared_at
    for _, pair in groupby(sorted(times, key=lambda one: one.pair_index), lambda one: one.pair_index):
        of_pair = list(pair)
        ended += [_seconds(one.ended_at, one.received_at) for one in of_pair]
        begun += [_seconds(heard, one.started_at) for one in of_pair if heard is not None]
        heard = max(one.received_at for one in of_pair)
    if not ended or not begun:
        return None
    room_s = min(ended) + min(begun)
    return -min(ended) if -SET_BY_S <= room_s <= KNOWN_WITHIN_S else None


def _database_ahead_s(session: Session) -> float:
    """Return how far the database's clock is ahead of this machine's [s]."""
    before = datetime.now(UTC)
    told = clock.now(session)
    return (_seconds(before, told) + _seconds(datetime.now(UTC), told)) / 2


def _seconds(start: datetime, end: datetime) -> float:
    return (end - start).total_seconds()


def _gpus(devices: Sequence[Device]) -> Sequence[Device]:
    return [device for device in devices if device.kind == KIND]


def _is_due(told: Mapping[str, Document], hardware_id: str, now: datetime) -> bool:
    """Tell whether a device is to be asked about: nobody was, or the time to ask again has come."""
    document = told.get(hardware_id)
    if document is None:
        return True
    again_at = document["ask_again_at"]
    return again_at is not None and datetime.fromisoformat(again_at) <= now


def _counted(known: Document | None, told: Document, now: datetime) -> Document:
    """Return what is kept of a device; what nobody answered does not take the place of numbers."""
    times = (known["asked_times"] if known else 0) + 1
    wants_more = (told["asked_early"] or told["unanswered"]) and times <= len(AGAIN_S)
    again_at = (now + timedelta(seconds=AGAIN_S[times - 1])).isoformat() if wants_more else None
    kept = known if known and known["readings"] and told["unanswered"] else told
    return {**kept, "asked_times": times, "ask_again_at": again_at}


def _announce(
    session: Session, run_id: int, *, delay_s: float = 0.0, sent_before: timedelta = timedelta(0)
) -> None:
    key, payload = f"{TOPIC}/{run_id}", {"run_id": run_id}
    outbox.put_again(session, TOPIC, key, payload, delay_s=delay_s, sent_before=sent_before)
