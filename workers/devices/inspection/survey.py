"""What a machine has to measure on, as one document: of this machine, or of a folder of recorded outputs.

The form of the document is documented in docs/devices.md, and scripts rely on it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from workers.devices import KINDS
from workers.devices.base import Device, Host
from workers.errors import UsageError
from workers.readings.folder import read_folder
from workers.readings.record import DeviceRecord, Tick, tick
from workers.readings.sources import open_questions

VERSION = 1
NOT_ON_THIS_MACHINE = frozenset(("simulated",))
"""Kinds that are no hardware."""

TELLING_OF_THE_REST = frozenset(("neuron", "nvidia"))
"""Kinds whose `absent` tells of devices that are missing beside those that were found, too."""

PATIENCE_S = 75.0
"""How long a kind may take. Each bounds its own questions; this is for what it could not foresee."""

Document = dict[str, Any]
T = TypeVar("T")


def survey_machine(
    host: Host, kinds: Iterable[str] = tuple(KINDS), patience_s: float = PATIENCE_S
) -> Document:
    """Return the document of this machine, the processor last; devices that were opened are closed again.

    All kinds are asked at the same time. One that does not answer, or fails, is listed as absent with the reason.

    Raises:
        UsageError: the script of the simulated devices is wrong.
    """
    wanted = [kind for kind in kinds if kind not in NOT_ON_THIS_MACHINE or host.script is not None]
    wanted.sort(key=lambda kind: kind == "cpu")
    give_up_s = time.monotonic() + patience_s
    asked = [(kind, _begin(partial(_of_kind, kind, host))) for kind in wanted]
    devices: list[Document] = []
    absent: list[Document] = []
    for kind, answer in asked:
        found, lack = _outcome(kind, answer, give_up_s, patience_s)
        devices += found
        absent += lack
    return {
        **{"version": VERSION, "source": "machine", "devices": devices},
        **{"absent": absent, "untold": [], "unread": []},
    }


def _begin(question: Callable[[], T]) -> Future[T]:
    """Return the answer to come of a thread of its own, which nothing waits for at the end of the program."""
    answer: Future[T] = Future()

    def work() -> None:
        try:
            answer.set_result(question())
        except BaseException as error:  # the edge of the thread: whoever waits gets it
            answer.set_exception(error)

    threading.Thread(target=work, name="survey", daemon=True).start()
    return answer


def _outcome(
    kind: str, answer: Future[tuple[list[Document], list[Document]]], give_up_s: float, patience_s: float
) -> tuple[list[Document], list[Document]]:
    """Return a kind's devices, or why there are none."""
    try:
        return answer.result(max(give_up_s - time.monotonic(), 0.0))
    except UsageError:
        raise
    except TimeoutError:
        why = f"its driver or its tools did not answer within {patience_s:g} s"
        how = "look for the driver's lines in the kernel's log (dmesg)"
    except Exception as error:  # the edge of the loop: one kind must not hide the others
        why = f"looking for it failed: {type(error).__name__}: {error}"
        how = "this is a fault of Ratchet; please report it"
    return [], [{"kind": kind, "what": f"devices of the kind {kind}", "why": why, "how": how}]


def _of_kind(kind: str, host: Host) -> tuple[list[Document], list[Document]]:
    found: Sequence[Device] = KINDS[kind].detect(host)
    try:
        lack = KINDS[kind].absent() if not found or kind in TELLING_OF_THE_REST else None
        answers = [_begin(partial(_of_device, device)) for device in found]
        return [answer.result() for answer in answers], [{"kind": kind, **lack._asdict()}] if lack else []
    finally:
        for device in found:
            device.close()


def _of_device(device: Device) -> Document:
    record = device.settled_record()
    lacks = [lack._asdict() for lack in device.lacks()]
    return {**_of_record(record), "hardware_id": device.hardware_id, "source": None, "lacks": lacks}


def survey_folder(path: Path) -> Document:
    """Return the document of recorded outputs.

    What no reader knows, is broken, or tells of no device is listed in `unread`; readings that the recordings of a kind
    leave open are in `untold`, with the commands whose outputs would tell them.

    Raises:
        OSError: the folder cannot be read.
    """
    devices: list[Document] = []
    unread: list[Document] = []
    for file in read_folder(path):
        for recording in file.recordings:
            source = {"file": file.name, "tool": recording.tool, "form": recording.form}
            devices += [_recorded(record, source) for record in recording.devices]
            if not recording.devices:
                unread.append({**source, "why": "it tells of no device"})
        if file.trouble:
            unread.append({"file": file.name, "tool": None, "form": None, "why": file.trouble})
    return {
        **{"version": VERSION, "source": str(path), "devices": devices},
        **{"absent": [], "untold": _untold(devices), "unread": unread},
    }


def _recorded(record: DeviceRecord, source: Document) -> Document:
    return {**_of_record(record), "hardware_id": record.facts["uuid"], "source": source, "lacks": []}


def _untold(devices: Sequence[Document]) -> list[Document]:
    found = []
    for kind in dict.fromkeys(device["kind"] for device in devices):
        samples = [sample for device in devices if device["kind"] == kind for sample in device["samples"]]
        what, how = open_questions(kind, {name for sample in samples for name in sample})
        if what:
            found.append({"kind": kind, "what": what, "how": how})
    return found


def _of_record(record: DeviceRecord) -> Document:
    last: Tick = record.readings[-1] if record.readings else tick()
    return {
        "kind": record.kind,
        "device_class": record.device_class,
        "facts": _named(record.facts),
        "readings": _named(last),
        "unavailable": {"facts": record.facts["unavailable"], "readings": last["unavailable"]},
        "samples": [
            {name: value for name, value in _named(moment).items() if value is not None}
            for moment in record.readings
        ],
    }


def _named(values: Document) -> Document:
    return {name: value for name, value in values.items() if name != "unavailable"}
