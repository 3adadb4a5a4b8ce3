"""One invocation arrives: it is stored once, and the last one of a block has the run judged."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from app.analysis.efficiency.watched import unpacked
from app.domain.derived import Derived
from app.domain.errors import ConflictError, PayloadError, Problem
from app.services.derive_values import Circumstances, circumstances, derived_values, doubts
from app.services.follow_machine import note_control, note_errors
from app.services.judge_run import judge_run
from app.services.lease_jobs import announce, require_lease
from app.services.open_cases import open_cases
from app.services.voids import is_wholly_void
from app.services.watch_cases import signs_of_case
from app.store.repositories import fleet, runs
from app.store.tables import BenchmarkCase, Device, Run
from app.store.tables import Invocation as InvocationRow
from workers import logs
from workers.protocol import CaseMeasurement, Invocation, OpenCases

_COLUMNS = [
    "arm",
    "block",
    "pair_index",
    "position",
    "block_complete",
    "status",
    "reason",
    "log_tail",
    "void",
    "void_reason",
    "flags",
    "device_s",
    "started_at",
    "t_start_ns",
    "duration_ns",
    "exit_code",
]
_DETAIL = [
    "version",
    "attempt",
    "seed",
    "env_pad",
    "startup_s",
    "mem_peak_rss_b",
    "timer_resolution_s",
    "gates",
    "telemetry",
    "control_deviation",
    "fingerprint_hash",
    "harness_version",
]


def record_invocation(session: Session, lease_id: str, message: Invocation, body: bytes) -> OpenCases:
    """Store the invocation and return what is still open, judged anew if it completes a block.

    Posting the same document again changes nothing and is answered from what is stored.

    Raises:
        StaleLeaseError: the lease has ended.
        ConflictError: another document was stored under the same key.
        PayloadError: it names a case that is not in the run's plan.
    """
    job, attempt, run = require_lease(session, lease_id)
    logs.bind(run_id=run.id)
    if run.prepared_at is None:
        raise ConflictError("the arms were not prepared yet: post `prepared` first", code="not_prepared")
    plan = runs.planned(session, run.id)
    cases = _cases(plan.cases, message)
    devices = fleet.devices_of_lease(session, lease_id)
    used = _Used(devices, circumstances(job, devices, run.idle), plan.units)
    if _store(session, run, message, cases, hashlib.sha256(body).hexdigest(), used):
        note_control(session, devices, run, "block", message.control)
        note_errors(session, devices, message.telemetry)
        run.device_s = max(run.device_s, message.device_s)
        attempt.device_s = run.device_s
        session.flush()
        if message.block_complete:
            judge_run(session, job, run)
        if message.block_complete or _ends_pair(message.position):
            announce(session, job)
    return open_cases(session, job, run, plan.cases)


@dataclass(frozen=True)
class _Used:
    """The devices of a run, what its derived values rest on, and the unit of each (case, metric) of its plan."""

    devices: Sequence[Device]
    given: Circumstances
    units: dict[tuple[int, str], str]


def _ends_pair(position: int) -> bool:
    """Tell whether the invocation at this place of a block is the second of its pair: progress is told in pairs."""
    return position % 2 == 1


def _cases(
    planned: Sequence[BenchmarkCase], message: Invocation
) -> list[tuple[CaseMeasurement, BenchmarkCase]]:
    known = {f"{case.benchmark} {case.params_key}": case for case in planned}
    unknown = [
        Problem(f"cases[{i}]", "unknown_case", f"{measured.case.key} is not in the plan of this run")
        for i, measured in enumerate(message.cases)
        if measured.case.key not in known
    ]
    keys = [measured.case.key for measured in message.cases]
    unknown += [
        Problem(f"cases[{i}]", "duplicate_case", f"{key} is in the document twice")
        for i, key in enumerate(keys)
        if key in keys[:i]
    ]
    if unknown:
        raise PayloadError(unknown, code=unknown[0].code)
    return [(measured, known[measured.case.key]) for measured in message.cases]


def _store(
    session: Session,
    run: Run,
    message: Invocation,
    cases: list[tuple[CaseMeasurement, BenchmarkCase]],
    digest: str,
    used: _Used,
) -> bool:
    """Store the document; return False if it is there already."""
    document = message.model_dump()
    values = {name: document[name] for name in _COLUMNS}
    values |= {"run_id": run.id, "key": message.key(run.id), "body_digest": digest}
    values["detail"] = message.model_dump(mode="json", include=set(_DETAIL))
    stored = runs.add_invocation(session, values)
    if stored is None:
        if runs.invocation_by_key(session, values["key"]).body_digest != digest:
            raise ConflictError(
                f"another document was stored under the key {values['key']}", code="idempotency_conflict"
            )
        return False
    ticks = _decoded(message.ticks)
    if ticks:
        runs.add_telemetry(session, stored.id, ticks)
    readings = unpacked(ticks)
    timings = [
        _timing(stored.id, measured, case, signs_of_case(measured, used.devices, readings))
        for measured, case in cases
    ]
    complete = _with_derived(session, stored, cases, used)
    estimates = [
        row for measured, case in complete for row in _estimates(stored.id, measured, case, used.units)
    ]
    runs.add_measurements(session, timings, estimates)
    return True


def _with_derived(
    session: Session,
    stored: InvocationRow,
    cases: list[tuple[CaseMeasurement, BenchmarkCase]],
    used: _Used,
) -> list[tuple[CaseMeasurement, BenchmarkCase]]:
    """Return the measurements with the metrics that are made of them.

    What they were made of is kept with the open verdicts, but not of a void invocation: its values are not counted,
    and say nothing of those that are.
    """
    planned: dict[int, dict[str, str]] = defaultdict(dict)
    for (case_id, metric), unit in used.units.items():
        planned[case_id][metric] = unit
    complete: list[tuple[CaseMeasurement, BenchmarkCase]] = []
    made_of: dict[tuple[int, str], Derived] = {}
    for measured, case in cases:
        reported = {value.metric for value in measured.values}
        wanted = {metric: unit for metric, unit in planned[case.id].items() if metric not in reported}
        values, made = derived_values(used.given, measured, wanted)
        complete.append((measured.model_copy(update={"values": [*measured.values, *values]}), case))
        made_of |= {(case.id, metric): derived for metric, derived in made.items()}
    if made_of and not is_wholly_void(stored):
        _keep(session, stored, made_of)
    return complete


def _keep(session: Session, stored: InvocationRow, made_of: dict[tuple[int, str], Derived]) -> None:
    """Keep with each open verdict what its arm's value was made of: one statement reads them all."""
    rows = runs.open_verdicts(session, stored.run_id, {metric for _, metric in made_of})
    for key in rows.keys() & made_of.keys():
        derived = made_of[key]
        runs.keep_provenance(
            rows[key], stored.arm, derived.document(), doubts(derived), is_newest=stored.block_complete
        )


def _decoded(ticks: str) -> bytes:
    try:
        return base64.b64decode(ticks, validate=True)
    except binascii.Error as error:
        problem = Problem("ticks", "bad_base64", f"the readings are no base64: {error}")
        raise PayloadError([problem], code="bad_payload") from error


def _timing(
    invocation_id: int, measured: CaseMeasurement, case: BenchmarkCase, signs: dict[str, float]
) -> dict[str, Any]:
    return {
        "invocation_id": invocation_id,
        "case_id": case.id,
        "status": measured.status,
        "reason": measured.reason,
        "log_tail": measured.log_tail,
        "k": measured.k,
        "clock": measured.clock,
        "n_warmup": measured.n_warmup,
        "warmup_converged": measured.warmup_converged,
        "first_call_s": measured.first_call_s,
        "host_ns": measured.batches.host_ns,
        "wait_ns": measured.batches.wait_ns,
        "device_ns": measured.batches.device_ns,
        "spike": measured.batches.spike,
        "thinned": measured.batches.thinned,
        "flags": measured.flags,
        "work": _work(measured) | ({"signs": signs} if signs else {}),
    }


def _work(measured: CaseMeasurement) -> dict[str, Any]:
    """Return what was worked off under the clock, and at what energy, as far as it is told."""
    is_timed = measured.window_ns is not None or measured.clock == "simulated"
    told = {
        "units": measured.units or None,
        "dtype": measured.dtype,
        "iterations": measured.iterations,
        "energy_j": measured.energy_j,
        "window_s": measured.window_s if is_timed else None,
    }
    return {name: value for name, value in told.items() if value is not None}


def _estimates(
    invocation_id: int, measured: CaseMeasurement, case: BenchmarkCase, units: dict[tuple[int, str], str]
) -> list[dict[str, Any]]:
    """Return a row for each metric of the plan; a value in another unit than planned is as good as missing."""
    if measured.status != "ok":
        return []
    values = {v.metric: v for v in measured.values if units.get((case.id, v.metric)) == v.unit}
    return [
        {
            "invocation_id": invocation_id,
            "case_id": case.id,
            "metric": metric,
            "value": value.value,
            "net": value.net,
        }
        for metric, value in values.items()
    ]
