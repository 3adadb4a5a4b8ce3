"""What a device did in the windows of a run, asked of Prometheus; every trouble is a sentence in what comes back."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from app.domain.errors import UnavailableError
from app.integrations.dcgm.device import Gpu
from app.integrations.dcgm.fields import BY_NAME, FIELDS, Field
from app.integrations.dcgm.reading import reading
from app.integrations.dcgm.result import Activity, Moved, Reading
from app.integrations.dcgm.series import Source, instances, selectors, sources
from app.integrations.dcgm.server import Clock, LookUp, Prometheus
from app.integrations.dcgm.windows import Window, seconds_of, united

MARGIN_S = 180.0
"""How much before and after the windows is asked for, too [s]: it shows how often samples come."""
NEAR_S = 900.0
"""How far back it is asked what else the exporters tell, where nothing is found [s]."""
LONGEST_S = 7 * 86400.0
"""More measured time than any run has [s]; a clock that was set while it ran may pretend it."""
BUSY = 0.05
"""A device that is busy for so much of the time has neither of `NEVER_AT_REST` at zero."""
NEVER_AT_REST = ("gr_engine_active", "sm_active")

log = logging.getLogger(__name__)


def device_activity(
    prometheus: Prometheus,
    gpu: Gpu,
    windows: Iterable[tuple[datetime, datetime]],
    *,
    agent_ahead_s: float | None = None,
) -> Activity:
    """Return what DCGM told of `gpu` while it was measured: a reading for every metric of `FIELDS`.

    Nothing is raised for a server that is away, answers nonsense or knows nothing: `reason` says it.

    Args:
        prometheus: the server.
        gpu: the device.
        windows: when it was measured, from and to with time zones, by the agent's clock; they may overlap.
        agent_ahead_s: how far the agent's clock is ahead of this machine's [s]; None where it is not known, and then
            the windows are taken as they are.
    """
    asked = tuple(windows)
    if any(moment.tzinfo is None for window in asked for moment in window):
        raise ValueError("the windows of a run have time zones")
    about = Activity(gpu, prometheus.url, asked, datetime.now(UTC))
    spans = united((start.timestamp(), end.timestamp()) for start, end in asked)
    if not spans:
        return replace(about, reason="nothing was measured: there is no window")
    if seconds_of(spans) > LONGEST_S:
        return replace(
            about, reason=f"windows of {seconds_of(spans) / 86400:,.0f} days are more than any run has"
        )
    if not gpu.is_well_named:
        return replace(about, reason=f"{gpu.uuid!r} is no name of a device that can be asked for")
    try:
        with prometheus.look_up() as look_up:
            return _look(look_up, about, spans, agent_ahead_s)
    except UnavailableError as error:
        log.info("no activity of %s: %s", gpu.uuid, error)
        return replace(about, unanswered=True, reason=str(error))


def _look(look_up: LookUp, about: Activity, spans: Sequence[Window], agent_ahead_s: float | None) -> Activity:
    clock = look_up.clock()
    moved = _moved(clock, agent_ahead_s)
    by_s = moved.by_s if moved else 0.0
    spans = [(start + by_s, end + by_s) for start, end in spans]
    found = _found(look_up, about.device, spans)
    readings = _readings(about.device, found, spans) if found else {}
    reason = None if found else _why_nothing(look_up, about.device, spans)
    intervals = [one.interval_s for one in readings.values() if one.interval_s]
    now = about.asked_at.timestamp() + (clock.ahead_s if clock else 0.0)
    return replace(
        about,
        readings=readings,
        moved=moved,
        asked_early=spans[-1][1] + max(intervals, default=0.0) > now,
        notes=_notes(look_up, about.device, clock, moved, min(intervals, default=0.0)),
        reason=reason,
    )


def _moved(clock: Clock | None, agent_ahead_s: float | None) -> Moved | None:
    if clock is None or agent_ahead_s is None:
        return None
    return Moved(clock.ahead_s - agent_ahead_s, clock.within_s)


def _found(look_up: LookUp, gpu: Gpu, spans: Sequence[Window]) -> Mapping[str, Sequence[Source]]:
    """Return by metric who told of the device around the windows, under whichever label its UUID has."""
    stretches = united((start - MARGIN_S, end + MARGIN_S) for start, end in spans)
    for selector in selectors(gpu):
        rows = [row for stretch in stretches for row in look_up.samples(selector, *stretch)]
        if rows:
            return sources(rows)
    return {}


def _readings(gpu: Gpu, found: Mapping[str, Sequence[Source]], spans: Sequence[Window]) -> dict[str, Reading]:
    readings = {
        metric: reading(field, found[metric], spans) if metric in found else _untold(field, gpu)
        for metric, field in FIELDS.items()
    }
    return _without_lost_counters(readings)


def _untold(field: Field, gpu: Gpu) -> Reading:
    if gpu.is_instance and not field.of_instance:
        return Reading.untold(
            field, "DCGM measures it for a whole GPU only, and repeats it for each instance"
        )
    return Reading.untold(
        field,
        f"dcgm-exporter tells no {field.names[0]} of this device; "
        f"the line for its counters file is: {field.line}",
    )


def _without_lost_counters(readings: dict[str, Reading]) -> dict[str, Reading]:
    """Take back zeros of a device that is busy: exporters go on with zeros after they have lost the counters."""
    util = readings["util"].value
    evidence = [readings[metric].value for metric in NEVER_AT_REST]
    if util is None or util < BUSY or 0 not in evidence or any(evidence):
        return readings
    zeros = {m: one for m, one in readings.items() if FIELDS[m].profiling and one.value == 0}
    reason = (
        f"profiling fields are 0 while {FIELDS['util'].names[0]} says {util:.0%}: "
        "the exporter has lost the profiling counters"
    )
    return readings | {m: replace(one, value=None, reason=reason) for m, one in zeros.items()}


def _notes(
    look_up: LookUp, gpu: Gpu, clock: Clock | None, moved: Moved | None, interval: float
) -> tuple[str, ...]:
    notes = [f"Prometheus warns: {warning}" for warning in look_up.notes]
    if gpu.compute_instance:
        notes.append("the numbers are of the whole GPU instance, with all its compute instances")
    return (*notes, *_notes_on_clocks(clock, moved, interval))


def _notes_on_clocks(clock: Clock | None, moved: Moved | None, interval: float) -> list[str]:
    if clock is None:
        return ["Prometheus' clock is not known; the windows were taken as they are"]
    if moved is not None:
        far = abs(moved.by_s) > interval
        return [f"the windows were moved by {moved.by_s:+.3g} s to Prometheus' clock"] if far else []
    if abs(clock.ahead_s) <= interval:
        return []
    return [
        f"Prometheus' clock is {abs(clock.ahead_s):.3g} s {'ahead of' if clock.ahead_s > 0 else 'behind'} the "
        "service's, and the agent's is not known; the windows were taken as they are"
    ]


def _why_nothing(look_up: LookUp, gpu: Gpu, spans: Sequence[Window]) -> str:
    if not gpu.is_located:
        return f"which instance of which GPU {gpu.uuid} is, is not known"
    start, end = spans[0][0] - MARGIN_S, spans[-1][1] + MARGIN_S
    rows = look_up.devices("|".join(BY_NAME), max(start, end - NEAR_S), end)
    if not rows:
        return "Prometheus has nothing of dcgm-exporter from this time: it is not scraped, or no longer kept"
    told = instances(gpu, rows)
    if not told:
        return f"dcgm-exporter tells of other devices at this time ({len(rows)}), and not of {gpu.gpu_uuid}"
    if not gpu.is_instance and "" in told:
        return "dcgm-exporter tells of this GPU, but none of the fields that are asked for"
    listed = ", ".join(sorted(told - {""})) or "none"
    if gpu.is_instance:
        return f"dcgm-exporter tells of this GPU without its instance {gpu.instance}; instances that it tells: {listed}"
    return f"dcgm-exporter tells of this GPU as MIG instances only, GPU_I_ID {listed}"
