"""The kit's process: reads a request, runs its probes on each device in turn, and writes down a line for each.

It has a process of its own, started for each run of the kit and gone before anything is measured: one that lived on
would hold memory and a context on the device, and share its time. Results are written as they come, so that a device
that hangs takes only what comes after it.

The request, on standard input, is a JSON object like the harness's:

    {"mode": "full", "kind": "nvidia", "devices": ["cuda:0"], "backend": null, "simulate": null, "result": "/…"}

The lines of the result: `header`, then for each device `backend` and for each probe `probe` or `unavailable`, at last
`end`.
"""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from workers.control import control_version
from workers.control.backends import opened
from workers.control.backends.interface import Backend, UnavailableError
from workers.control.pacing import FULL, SHORT, Pace, timed
from workers.control.probes import OF_MODE, Mode, named

Line = dict[str, Any]
Write = Callable[[Line], object]

PACES: dict[Mode, Pace] = {"full": FULL, "short": SHORT}
LONGEST_REASON = 500


def main() -> None:
    """Answer the request on standard input."""
    gc.disable()  # it would strike some batches and not others
    request = json.loads(sys.stdin.buffer.read())
    with open(request["result"], "a", encoding="utf-8", buffering=1) as out:
        answer(request, lambda line: out.write(json.dumps(line) + "\n"))


def answer(request: Mapping[str, Any], write: Write) -> None:
    """Run what is asked for, and hand each line of the result to `write`."""
    write({"type": "header", "control_version": control_version()})
    for index in range(len(request["devices"])):
        for line in _of_device(request, index):
            write({**line, "device": index})
    write({"type": "end"})


def _of_device(request: Mapping[str, Any], index: int) -> Iterator[Line]:
    """Yield what each probe gave on one device."""
    kind, probes = request["kind"], OF_MODE[request["mode"]]
    pace = PACES[request["mode"]].shared_by(len(request["devices"]))
    try:
        backend = opened(request, index)
    except (
        Exception
    ) as error:  # a driver or a framework may raise anything, and the reason is all there is then
        yield from (_unavailable(probe, kind, error) for probe in probes)
        return
    yield {"type": "backend", "name": backend.name}
    yield from (_of_probe(backend, probe, kind, pace) for probe in probes)
    with suppress(Exception):  # a device that failed may refuse to be given back; the next one may be well
        backend.close()


def _of_probe(backend: Backend, probe: str, kind: str, pace: Pace) -> Line:
    try:
        with backend.work(probe) as work:
            timing = timed(work.run, pace)
        rate = work.amount / timing.seconds
    except Exception as error:  # this probe has no value then, and the others may have one
        return _unavailable(probe, kind, error)
    return {"type": "probe", "name": work.name, **asdict(timing), "rate": rate, "unit": work.unit}


def _unavailable(probe: str, kind: str, error: Exception) -> Line:
    said = str(error) if isinstance(error, UnavailableError) else f"failed: {type(error).__name__}: {error}"
    return {"type": "unavailable", "name": named(probe, kind), "reason": said[:LONGEST_REASON]}
