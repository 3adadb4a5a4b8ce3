"""`nvidia-smi -q -x`: one XML document a moment, of any schema since driver 390 (nvsmi_device_v9 to v13).

The schemas differ in names alone: `power_readings` became `gpu_power_readings`, and has limits in a
`gpu_ceiling_power_limit` of its own since driver 610; `clocks_throttle_reasons` became `clocks_event_reasons`; the
counts of memory errors are by memory and bits, later by kind of memory. The names are those of the document type that
`nvidia-smi --dtd` prints.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, cast
from xml.etree.ElementTree import Element, ParseError, XMLPullParser

from workers.readings.nvidia.smi import TOOL, Fields, is_capture, told
from workers.readings.nvidia.smi_devices import Instance, devices, united
from workers.readings.quantities import whole
from workers.readings.reader import Reader, UnreadableError
from workers.readings.record import DeviceRecord

ROOT = "nvidia_smi_log"
START = re.compile(rf"<\?xml\b|<!DOCTYPE {ROOT}\b|<{ROOT}\b")
DOCUMENT_END = f"</{ROOT}>"
BULKY = ("supported_clocks", "mig_devices", "processes", "accounted_processes")
"""Parts of a GPU that are no single values."""

POWER = {
    "power_draw": "power.draw",
    "average_power_draw": "power.draw.average",
    "instant_power_draw": "power.draw.instant",
    "enforced_power_limit": "enforced.power.limit",
    "current_power_limit": "enforced.power.limit",
    "power_limit": "power.limit",
    "requested_power_limit": "power.limit",
    "default_power_limit": "power.default_limit",
    "max_power_limit": "power.max_limit",
}
VOLATILE = {
    "single_bit/total": "corrected.volatile.total",
    "double_bit/total": "uncorrected.volatile.total",
    "sram_correctable": "corrected.volatile.sram",
    "dram_correctable": "corrected.volatile.dram",
    "sram_uncorrectable": "uncorrected.volatile.sram",
    "sram_uncorrectable_parity": "uncorrected.volatile.sram.parity",
    "sram_uncorrectable_secded": "uncorrected.volatile.sram.secded",
    "dram_uncorrectable": "uncorrected.volatile.dram",
}
LINK = "pci/pci_gpu_link_info"
NAMES = {
    "product_name": "name",
    "product_architecture": "architecture",
    "persistence_mode": "persistence_mode",
    "mig_mode/current_mig": "mig.mode.current",
    "serial": "serial",
    "uuid": "uuid",
    "vbios_version": "vbios_version",
    "pci/pci_bus_id": "pci.bus_id",
    f"{LINK}/pcie_gen/max_link_gen": "pcie.link.gen.max",
    f"{LINK}/pcie_gen/current_link_gen": "pcie.link.gen.current",
    f"{LINK}/link_widths/max_link_width": "pcie.link.width.max",
    f"{LINK}/link_widths/current_link_width": "pcie.link.width.current",
    "pci/replay_counter": "pcie.replays",
    "pci/tx_util": "pcie.tx",
    "pci/rx_util": "pcie.rx",
    "fan_speed": "fan.speed",
    "fb_memory_usage/total": "memory.total",
    "fb_memory_usage/used": "memory.used",
    "device_attributes/shared/multiprocessor_count": "multiprocessor_count",
    "compute_mode": "compute_mode",
    "utilization/gpu_util": "utilization.gpu",
    "utilization/memory_util": "utilization.memory",
    "ecc_mode/current_ecc": "ecc.mode.current",
    "ecc_mode/pending_ecc": "ecc.mode.pending",
    "retired_pages/multiple_single_bit_retirement/retired_count": "retired_pages.single_bit_ecc.count",
    "retired_pages/double_bit_retirement/retired_count": "retired_pages.double_bit.count",
    "retired_pages/pending_blacklist": "retired_pages.pending",
    "retired_pages/pending_retirement": "retired_pages.pending",
    "remapped_rows/remapped_row_corr": "remapped_rows.correctable",
    "remapped_rows/remapped_row_unc": "remapped_rows.uncorrectable",
    "remapped_rows/remapped_row_pending": "remapped_rows.pending",
    "temperature/gpu_temp": "temperature.gpu",
    "temperature/memory_temp": "temperature.memory",
    "clocks/sm_clock": "clocks.current.sm",
    "clocks/mem_clock": "clocks.current.memory",
    "applications_clocks/graphics_clock": "clocks.applications.graphics",
    "applications_clocks/mem_clock": "clocks.applications.memory",
    "default_applications_clocks/graphics_clock": "clocks.default_applications.graphics",
    "max_clocks/sm_clock": "clocks.max.sm",
    "max_clocks/mem_clock": "clocks.max.memory",
    **{f"power_readings/{name}": field for name, field in POWER.items()},
    **{f"gpu_power_readings/{name}": field for name, field in POWER.items()},
    **{f"gpu_power_readings/gpu_ceiling_power_limit/{name}": field for name, field in POWER.items()},
    **{f"ecc_errors/volatile/{name}": f"ecc.errors.{field}" for name, field in VOLATILE.items()},
}
"""Path below the GPU -> field; of two paths to one field the one that tells something counts."""

REASON = re.compile(r"clocks_(?:event|throttle)_reasons/clocks_(?:event|throttle)_reason_(\w+)")
COUNTER = re.compile(r"clocks_event_reasons_counters/clocks_event_reasons_counters_(\w+)")


class Document(NamedTuple):
    """What one document tells: of the host, and the elements of the GPUs that are complete."""

    host: Fields
    gpus: list[Element]


def recognises(text: str) -> bool:
    """Say whether a text holds such a document."""
    return re.search(rf"<{ROOT}\b", text) is not None and not is_capture(text)


def read(text: str) -> list[DeviceRecord]:
    """Return the GPUs and MIG instances, with a reading a document; a GPU that is cut is left out.

    Raises:
        UnreadableError: a document is broken, or ends, before its first GPU is complete.
    """
    return united(_records(document) for document in _documents(text))


def _documents(text: str) -> Iterator[Document]:
    place = 0
    while (start := START.search(text, place)) is not None:
        end = text.find(DOCUMENT_END, start.start())
        place = len(text) if end < 0 else end + len(DOCUMENT_END)
        first_line = text.count("\n", 0, start.start())
        yield _document(text[start.start() : place], first_line)


def _document(text: str, first_line: int) -> Document:
    if "<!ENTITY" in text:
        raise UnreadableError(
            f"line {first_line + 1}: the document declares entities; nvidia-smi writes none"
        )
    host: dict[str, str] = {}
    gpus: list[Element] = []
    problem = f"the document that begins in line {first_line + 1} ends before its first GPU is complete"
    try:
        for element in _children(text):
            if element.tag == "gpu":
                gpus.append(element)
            elif element.tag == ROOT:
                return Document(host, gpus)
            else:
                host[element.tag] = element.text or ""
    except ParseError as error:
        line, column = error.position
        problem = f"line {first_line + line}, column {column + 1}: {error.msg.partition(':')[0]}"
    if not gpus:
        raise UnreadableError(problem)
    return Document(host, gpus)


def _children(text: str) -> Iterator[Element]:
    """Return the elements right below the root as each is complete, and at last the root."""
    parser: XMLPullParser[Element] = XMLPullParser(("start", "end"))
    parser.feed(text)
    depth = 0
    for event, element in cast(Iterator[tuple[str, Element]], parser.read_events()):
        depth += 1 if event == "start" else -1
        if event == "end" and depth <= 1:
            yield element


def _records(document: Document) -> list[DeviceRecord]:
    count = whole(told(document.host.get("attached_gpus")))
    numbered = count == len(document.gpus)
    return [
        record
        for number, gpu in enumerate(document.gpus)
        for record in _gpu(gpu, {**document.host, **({"index": str(number)} if numbered else {})})
    ]


def _gpu(gpu: Element, host: Fields) -> list[DeviceRecord]:
    fields = {"pci.bus_id": gpu.get("id") or "", **host, **_fields(gpu)}
    processes = _processes(gpu)
    pids = None if processes is None else sorted({pid for pid, _ in processes})
    return devices(fields, pids, _instances(gpu, processes))


def _fields(element: Element) -> dict[str, str]:
    fields: dict[str, str] = {}
    for path, value in _leaves(element):
        name = _name(path)
        if name is not None and (told(value) is not None or name not in fields):
            fields[name] = value
    return fields


def _leaves(element: Element, path: str = "") -> Iterator[tuple[str, str]]:
    for child in element:
        if child.tag in BULKY:
            continue
        here = f"{path}{child.tag}"
        yield (here, (child.text or "").strip())
        yield from _leaves(child, f"{here}/")


def _name(path: str) -> str | None:
    if match := REASON.fullmatch(path):
        return f"clocks_event_reasons.{match[1]}"
    if match := COUNTER.fullmatch(path):
        return f"clocks_event_reasons_counters.{match[1]}"
    return NAMES.get(path)


Process = tuple[int, tuple[int | None, int | None]]
"""A process and the GPU and compute instance that it runs in."""


def _processes(gpu: Element) -> list[Process] | None:
    """Return the processes, or None where they are not told: `N/A`, or a word on permissions."""
    listed = gpu.find("processes")
    if listed is None or (len(listed) == 0 and (listed.text or "").strip() not in ("", "None")):
        return None
    pids = [(whole(process.findtext("pid")), _ids(process)) for process in listed.iter("process_info")]
    return [(pid, ids) for pid, ids in pids if pid is not None]


def _ids(element: Element) -> tuple[int | None, int | None]:
    names = ("gpu_instance_id", "compute_instance_id")
    gpu, compute = (whole(told(element.findtext(name))) for name in names)
    return gpu, compute


def _instances(gpu: Element, processes: list[Process] | None) -> list[Instance] | None:
    listed = gpu.find("mig_devices")
    return None if listed is None else [_instance(part, processes) for part in listed.iter("mig_device")]


def _instance(element: Element, processes: list[Process] | None) -> Instance:
    ids = _ids(element)
    return Instance(
        number=whole(told(element.findtext("index"))),
        uuid=told(element.findtext("uuid")),
        gpu_instance=ids[0],
        compute_instance=ids[1],
        fields=_fields(element),
        pids=None if processes is None else [pid for pid, place in processes if place == ids],
    )


XML = Reader(TOOL, "query-xml", recognises, read)
