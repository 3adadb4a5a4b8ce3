"""Suites of benchmark files: runs the harness in an arm's environment and reads the lines that it leaves.

A process that dies takes down only the case it was at: the cases that it had not reached are measured by another
process of the same invocation, within the same time limit.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from workers.arms.listing import ListedCase, ListedFailure, Listing
from workers.measuring.invocation import Start, Taken, key_of, unmeasured
from workers.measuring.plan import CaseRequest
from workers.programs.left_files import clear, read_left
from workers.programs.runner import Ended, Program, Runner
from workers.protocol import CaseId, CaseListing, CaseMeasurement

HARNESS = Path(__file__).parents[1] / "harness.py"
MAX_RESULT_B = 1024**3

Line = dict[str, Any]


@dataclass(frozen=True)
class _Process:
    """One process of the harness: how it ended and what it wrote."""

    ended: Ended
    lines: list[Line]

    def of_type(self, kind: str) -> list[Line]:
        return [line for line in self.lines if line.get("type") == kind]

    @property
    def has_ended(self) -> bool:
        """Whether the harness came to its end; a process can end with status 0 before that."""
        return self.ended.ok and bool(self.of_type("end"))

    def field(self, kind: str, name: str) -> Any:
        """Return a field of the first line of this type, or None."""
        return next((line.get(name) for line in self.of_type(kind)), None)


class BenchmarkSuite:
    """The benchmark files of a suite, as both arms run them."""

    def __init__(self, runner: Runner, files: Sequence[str], devices: Sequence[str]) -> None:
        """Name the files, relative to the work tree, and the devices that measured code is told to use."""
        self._runner = runner
        self._files = files
        self._devices = list(devices)

    def list_cases(self, start: Start) -> Listing:
        """Return the cases of all files; a file that ends the process fails alone, within one time limit for all."""
        parts: list[Listing] = []
        left = list(self._files)
        deadline = time.monotonic() + start.timeout_s
        while left:
            time_left_s = max(1.0, deadline - time.monotonic())
            process = self._run(replace(start, timeout_s=time_left_s), "list", left, [])
            parts.append(_listing(process))
            if process.has_ended:
                break
            known = parts[-1].files
            left = [file for file in left if file not in known]
            if left:
                parts.append(_dead(left.pop(0), process.ended))
            if process.ended.timed_out:
                parts += [_not_reached(file) for file in left]
                break
        return Listing.joined(parts)

    def invoke(self, start: Start, cases: Sequence[CaseRequest]) -> Taken:
        """Measure these cases, in order."""
        processes: list[_Process] = []
        done: dict[str, CaseMeasurement] = {}
        left = list(cases)
        deadline = time.monotonic() + start.timeout_s
        while left:
            time_left_s = max(1.0, deadline - time.monotonic())
            process = self._run(replace(start, timeout_s=time_left_s), "measure", self._files, left)
            processes.append(process)
            done |= _measurements(process, left)
            left = [case for case in left if key_of(case) not in done]
            if left and process.has_ended:
                done |= {
                    key_of(case): unmeasured(case, "missing", "missing: the harness did not report it")
                    for case in left
                }
                break
            if left:
                dead = left.pop(0)
                done[key_of(dead)] = _died(dead, process.ended)
            if left and process.ended.timed_out:
                reason = "not_reached: the invocation's time was spent on the cases before it"
                done |= {key_of(case): unmeasured(case, "timeout", reason) for case in left}
                break
        return _taken(processes, [done[key_of(case)] for case in cases])

    def _run(self, start: Start, mode: str, files: Sequence[str], cases: Sequence[CaseRequest]) -> _Process:
        result, request = start.home / "result.jsonl", start.home / "request.json"
        for left in (
            result,
            request,
        ):  # by an earlier process of the invocation, which may have made them anything
            clear(left)
        content = {
            "mode": mode,
            "root": str(start.checkout),
            "files": list(files),
            "device": self._devices[0],
            "devices": self._devices,
            "cases": [asdict(case) for case in cases],
            "result": str(result),
            "simulate": start.simulate,
        }
        request.write_text(json.dumps({**content, "spawned_ns": time.time_ns()}))
        # The keeper gives no standard input on, so a shell opens it and then is the harness.
        argv = ["sh", "-c", 'exec "$0" "$1" < "$2"', str(start.python), str(HARNESS), str(request)]
        program = Program(
            argv,
            start.env,
            start.checkout,
            start.timeout_s,
            pass_fds=start.locks,
            confinement=start.confinement and start.confinement.seeing(readable=[HARNESS]),
        )
        ended = self._runner.run(program)
        return _Process(ended, list(_read_lines(start.home, result)))


def _read_lines(home: Path, path: Path) -> Iterator[Line]:
    """Yield the complete JSON objects of a result file; measured code may have spoilt it."""
    try:
        content = read_left(home, path, MAX_RESULT_B)
    except OSError:
        return
    for text in content.split(b"\n"):
        try:
            line = json.loads(text)
        except ValueError:
            continue
        if isinstance(line, dict):
            yield line


def _measurements(process: _Process, asked: Sequence[CaseRequest]) -> dict[str, CaseMeasurement]:
    """Return the measurements of the cases asked for, by key."""
    by_key = {key_of(case): case for case in asked}
    found = {}
    for line in process.of_type("case"):
        try:
            key = CaseId.model_validate(line).key
        except ValidationError:
            continue
        if key in by_key:
            found[key] = _measurement(line, by_key[key])
    return found


def _measurement(line: Line, case: CaseRequest) -> CaseMeasurement:
    try:
        return CaseMeasurement.model_validate(line)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        return unmeasured(case, "failed", f"invalid_value: {where}: {first['msg']}")


def _died(case: CaseRequest, ended: Ended) -> CaseMeasurement:
    if ended.ok:
        reason = "exited: the process ended with status 0 in the middle of the case"
        return unmeasured(case, "failed", reason, ended.output.tail())
    return unmeasured(case, ended.status, ended.reason, ended.output.tail())


def _taken(processes: list[_Process], cases: list[CaseMeasurement]) -> Taken:
    first = processes[0]
    bad = next((process for process in processes if not process.ended.ok), processes[-1])
    peaks = [peak for process in processes if isinstance(peak := process.field("end", "mem_peak_rss_b"), int)]
    begun = first.ended
    return Taken(
        ended=replace(bad.ended, started_at=begun.started_at, t_start_ns=begun.t_start_ns),
        cases=cases,
        duration_ns=sum(process.ended.duration_ns for process in processes),
        startup_s=first.field("end", "startup_s"),
        mem_peak_rss_b=max(peaks, default=None),
        timer_resolution_s=first.field("header", "timer_resolution_s") or 1e-6,
        harness_version=first.field("header", "harness_version") or "",
    )


def _listing(process: _Process) -> Listing:
    cases = [case for line in process.of_type("case") if (case := _listed(line)) is not None]
    return Listing(cases, [_failure(line) for line in process.of_type("failure")])


def _listed(line: Line) -> ListedCase | None:
    try:
        return ListedCase(str(line["file"]), CaseListing.model_validate(line))
    except (KeyError, ValidationError):
        return None


def _failure(line: Line) -> ListedFailure:
    return ListedFailure(
        str(line.get("file")),
        line.get("benchmark"),
        str(line.get("reason")),
        str(line.get("traceback") or ""),
    )


def _dead(file: str, ended: Ended) -> Listing:
    """Return the listing of a file whose import ended the process."""
    reason = ended.reason or "exited: the process ended with status 0 while the file was imported"
    return Listing([], [ListedFailure(file, None, reason, ended.output.tail())])


def _not_reached(file: str) -> Listing:
    reason = "not_reached: the time for listing was spent on the files before it"
    return Listing([], [ListedFailure(file, None, reason)])
