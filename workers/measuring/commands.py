"""Suites of one command: any program, which may append JSON lines to the file that `RATCHET_RESULT_FILE` names.

    {"metric": "tokens_per_s", "value": 812.4, "unit": "tokens/s", "better": "higher"}
    {"batch": 0, "k": 1, "host_ns": 1240000}

A line may carry `benchmark` and `params`; without them it is about a benchmark named like the suite. Lines of a
`phase` other than `measure` are left out. A metric's value is the median of its lines; batches give `latency_p50`. A
program that writes nothing is measured by its own wall time.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from workers.errors import JobError
from workers.measuring.invocation import Start, Taken, key_of, unmeasured
from workers.measuring.plan import CaseRequest
from workers.programs.gate import Gate
from workers.programs.left_files import clear, read_left
from workers.programs.runner import Program, Runner
from workers.protocol import (
    Batches,
    Better,
    CaseId,
    CaseMeasurement,
    CaseStatus,
    Name,
    Params,
    SuiteSpec,
    Value,
)

MAX_RESULT_B = 64 * 1024**2
MEASURE = "measure"

AT_GATE = "{{ printf '\\0'; read -r _; }} < {} || exit\n"
"""Put before a command, for what it takes to come so far not to be in its wall time."""


class ResultFileError(Exception):
    """A result file that cannot be used; the message begins with a code and names the line."""


class _Line(BaseModel):
    model_config = ConfigDict(extra="ignore", allow_inf_nan=False, strict=True)

    benchmark: Name | None = None
    params: Params = Field(default_factory=dict)
    phase: str | None = None


class ValueLine(_Line):
    """One value of one metric."""

    metric: Name
    value: Annotated[float, Field(allow_inf_nan=True)]
    unit: str
    better: Better


class BatchLine(_Line):
    """One timed batch of `k` iterations."""

    batch: int
    k: int = Field(default=1, ge=1)
    host_ns: int = Field(gt=0)
    device_ns: int | None = Field(default=None, gt=0)


@dataclass
class _Case:
    """What the lines say of one case."""

    values: dict[str, list[ValueLine]] = field(default_factory=dict)
    batches: list[BatchLine] = field(default_factory=list)


class CommandSuite:
    """A suite's command, run in an arm's work tree by a shell."""

    def __init__(self, runner: Runner, suite: SuiteSpec) -> None:
        assert suite.command is not None
        self._runner = runner
        self._name = suite.name
        self._command = suite.command
        self._output = suite.output

    def invoke(self, start: Start, cases: Sequence[CaseRequest]) -> Taken:
        """Run the command; with no `cases` everything that it reports is returned, else those."""
        result = self._result_file(start)
        clear(result)
        _make_folder(result.parent, start)
        env = {**start.env, "RATCHET_RESULT_FILE": str(result)}
        with Gate(start.home / "start") as gate:
            program = Program(
                ["sh", "-c", AT_GATE.format(shlex.quote(str(gate.path))) + self._command],
                env,
                start.checkout,
                start.timeout_s,
                gate=gate,
                pass_fds=start.locks,
                confinement=start.confinement,
            )
            ended = self._runner.run(program)
        log_tail = ended.output.tail()
        if ended.ok:
            root = start.home if self._output is None else start.checkout
            found = self._read(root, result, ended.duration_ns, log_tail)
        else:
            found = [self._failed(ended.status, ended.reason, log_tail)]
        return Taken(ended, _asked_for(found, cases), ended.duration_ns)

    def _result_file(self, start: Start) -> Path:
        if self._output is None:
            return start.home / "result.jsonl"
        path = start.checkout / self._output
        if not path.resolve().is_relative_to(start.checkout.resolve()):
            message = f"the suite's output {self._output!r} is outside of the repository"
            raise JobError("bad_output", message, retryable=False)
        return path

    def _read(self, root: Path, result: Path, duration_ns: int, log_tail: str) -> list[CaseMeasurement]:
        try:
            lines = read_lines(root, result)
            return measurements(lines, self._name) if lines is not None else [self._wall_time(duration_ns)]
        except ResultFileError as error:
            return [self._failed("failed", str(error), log_tail)]

    def _wall_time(self, duration_ns: int) -> CaseMeasurement:
        value = Value(metric="wall_time", value=duration_ns / 1e9, unit="s", better="lower")
        return CaseMeasurement(
            benchmark=self._name, status="ok", batches=Batches(host_ns=[duration_ns]), values=[value]
        )

    def _failed(self, status: CaseStatus, reason: str, log_tail: str) -> CaseMeasurement:
        return unmeasured(CaseId(benchmark=self._name), status, reason, log_tail)


def _make_folder(folder: Path, start: Start) -> None:
    """Make a folder for the command to write in, whoever it runs as."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    if missing and start.confinement is not None:
        start.confinement.sandbox.give(missing[-1])


def read_lines(root: Path, path: Path) -> list[ValueLine | BatchLine] | None:
    """Return the lines that count of a file below `root`, in order; None where the program wrote nothing.

    Raises:
        ResultFileError: a line is malformed or not finite, or none of them counts.
    """
    content = _content(root, path)
    if not content.strip():
        return None
    numbered = [(n, text) for n, text in enumerate(content.split(b"\n"), start=1) if text.strip()]
    lines = [_parse(number, text) for number, text in numbered]
    counted = [line for line in lines if line.phase in (None, MEASURE)]
    if not counted:
        raise ResultFileError("result_parse_error: no line is of the phase 'measure'")
    return counted


def measurements(lines: Sequence[ValueLine | BatchLine], default_name: str) -> list[CaseMeasurement]:
    """Return one measurement for each case that the lines are about, in order of first mention.

    Raises:
        ResultFileError: lines of one metric disagree on its unit or direction.
    """
    cases: dict[str, tuple[CaseId, _Case]] = {}
    for line in lines:
        case_id = CaseId(benchmark=line.benchmark or default_name, params=line.params)
        _, case = cases.setdefault(case_id.key, (case_id, _Case()))
        if isinstance(line, BatchLine):
            case.batches.append(line)
        else:
            case.values.setdefault(line.metric, []).append(line)
    return [_measurement(case_id, case) for case_id, case in cases.values()]


def _content(root: Path, path: Path) -> bytes:
    try:
        content = read_left(root, path, MAX_RESULT_B + 1)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise ResultFileError(
            f"result_parse_error: the result file cannot be read: {error.strerror}"
        ) from error
    if len(content) > MAX_RESULT_B:
        raise ResultFileError(
            f"result_parse_error: the result file is larger than {MAX_RESULT_B // 1024**2} MiB"
        )
    return content


def _parse(number: int, text: bytes) -> ValueLine | BatchLine:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ResultFileError(f"result_parse_error: line {number} is no JSON: {error}") from None
    kind: type[ValueLine | BatchLine] = (
        BatchLine if isinstance(content, dict) and "batch" in content else ValueLine
    )
    try:
        line = kind.model_validate(content)
    except ValidationError as error:
        raise ResultFileError(f"result_parse_error: line {number}: {_first(error.errors()[0])}") from None
    if isinstance(line, ValueLine) and not math.isfinite(line.value):
        raise ResultFileError(f"invalid_value: line {number}: {line.metric} is {line.value}")
    return line


def _first(problem: Any) -> str:
    where = ".".join(map(str, problem["loc"]))
    return f"{where}: {problem['msg']}" if where else str(problem["msg"])


def _measurement(case_id: CaseId, case: _Case) -> CaseMeasurement:
    values = [_value(lines) for lines in case.values.values()]
    k, batches = _batches(case.batches)
    if batches.host_ns and "latency_p50" not in case.values:
        latency_s = median(batches.host_ns) / k / 1e9
        values.insert(0, Value(metric="latency_p50", value=latency_s, unit="s", better="lower"))
    return CaseMeasurement(
        benchmark=case_id.benchmark,
        params=case_id.params,
        status="ok",
        k=k,
        clock="self",
        batches=batches,
        values=values,
    )


def _value(lines: Sequence[ValueLine]) -> Value:
    first = lines[0]
    if any((line.unit, line.better) != (first.unit, first.better) for line in lines):
        raise ResultFileError(
            f"result_parse_error: {first.metric} changes its unit or direction between lines"
        )
    value = median(line.value for line in lines)
    return Value(metric=first.metric, value=value, unit=first.unit, better=first.better)


def _batches(lines: Sequence[BatchLine]) -> tuple[int, Batches]:
    """Return the batches with their one `k`; where lines differ in it, times of one iteration and k = 1."""
    sizes = {line.k for line in lines}
    k = sizes.pop() if len(sizes) == 1 else 1
    host_ns = [round(line.host_ns * k / line.k) for line in lines]
    on_device = [round(line.device_ns * k / line.k) for line in lines if line.device_ns is not None]
    return k, Batches(host_ns=host_ns, device_ns=on_device if len(on_device) == len(lines) else [])


def _asked_for(found: list[CaseMeasurement], cases: Sequence[CaseRequest]) -> list[CaseMeasurement]:
    """Return what was asked for; a failure of the command is one of every case."""
    if not cases:
        return found
    by_key = {measurement.case.key: measurement for measurement in found if measurement.status == "ok"}
    failure = next((measurement for measurement in found if measurement.status != "ok"), None)
    return [_answer(case, by_key, failure) for case in cases]


def _answer(
    case: CaseRequest, by_key: dict[str, CaseMeasurement], failure: CaseMeasurement | None
) -> CaseMeasurement:
    if failure is not None:
        return unmeasured(case, failure.status, failure.reason, failure.log_tail)
    return by_key.get(key_of(case)) or unmeasured(
        case, "missing", "missing: the command did not report this case"
    )
