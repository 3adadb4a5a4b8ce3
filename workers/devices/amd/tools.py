"""What the driver's files do not tell of a GPU, from AMD's library or tools: why it is throttled, and energy.

The library is `amdsmi`, which ROCm brings along; where ROCm is missing its import fails in many ways, some of which
print. Without it, `amd-smi` or `rocm-smi` are asked, seldom, as each costs a processor a second.
"""

from __future__ import annotations

import contextlib
import importlib
import io
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from workers.devices.bounded import Asker
from workers.devices.shared import Shared
from workers.devices.tools import Poller, ToolError, ask
from workers.readings.amd import rocm_smi
from workers.readings.amd import smi_forms as amd_smi_forms
from workers.readings.amd.products import VIOLATIONS, pci_address, throttlers
from workers.readings.record import DeviceRecord

LIBRARY_PERIOD_S = 1.0
TOOL_PERIOD_S = 10.0
TOOL_TIMEOUT_S = 10.0
START_S = 10.0
NAMES = ("throttle_reasons", "energy_j_total")

VIOLATION_KEYS = dict(
    zip(
        ("active_prochot_thrm", "active_ppt_pwr", "active_socket_thrm", "active_vr_thrm", "active_hbm_thrm"),
        VIOLATIONS,
        strict=True,
    )
)

Readings = dict[str, dict[str, Any]]
"""By place on the PCI bus, some of `NAMES`."""


class Tools:
    """The library or a tool, asked again and again in a thread, for all GPUs of the host."""

    def __init__(self) -> None:
        library = load_library()
        period_s = TOOL_PERIOD_S if library is None else LIBRARY_PERIOD_S
        question = from_tools if library is None else Library(library).readings
        self.answers: Poller[Readings] = Poller(question, period_s=period_s, oldest_s=3 * period_s)
        """What was answered last; also says why there is no answer."""
        self.shared = Shared(self.answers)

    def latest(self, address: str) -> Mapping[str, Any]:
        """Return what is known of the GPU at a place on the PCI bus; nothing where there is no fresh answer."""
        return (self.answers.latest() or {}).get(address, {})


def load_library() -> ModuleType | None:
    """Return AMD's library, opened, or None where it cannot be used; what its import prints is thrown away."""
    asker = Asker("amdsmi start")
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            library = importlib.import_module("amdsmi")
            asker.ask(library.amdsmi_init, START_S)
        except Exception:  # KeyError, OSError, AmdSmiException: whatever the missing parts of ROCm lead to
            return None
        finally:
            asker.close()
    return library


class Library:
    """AMD's library, asked for what it knows of each GPU."""

    def __init__(self, library: Any) -> None:
        self._library = library

    def readings(self) -> Readings:
        """Return what the library tells of each GPU."""
        handles = self._library.amdsmi_get_processor_handles()
        found = {pci_address(self._library.amdsmi_get_gpu_device_bdf(handle)): handle for handle in handles}
        return {address: self._of(handle) for address, handle in found.items() if address}

    def _of(self, handle: Any) -> dict[str, Any]:
        told = {"throttle_reasons": self._reasons(handle), "energy_j_total": self._energy_j(handle)}
        return {name: value for name, value in told.items() if value is not None}

    def _reasons(self, handle: Any) -> list[str] | None:
        states = self._told("amdsmi_get_violation_status", handle)
        known = {
            name: states.get(key) for key, name in VIOLATION_KEYS.items() if isinstance(states.get(key), int)
        }
        if known:
            return [name for name, state in known.items() if state]
        causes = self._told("amdsmi_get_gpu_metrics_info", handle).get("indep_throttle_status")
        return throttlers(causes) if isinstance(causes, int) and causes < 2**64 - 1 else None

    def _energy_j(self, handle: Any) -> float | None:
        """Return the counter, called `power` up to ROCm 6.0, times what it counts [uJ]."""
        told = self._told("amdsmi_get_energy_count", handle)
        count, unit_uj = told.get("energy_accumulator", told.get("power")), told.get("counter_resolution")
        if not isinstance(count, int | float) or not isinstance(unit_uj, int | float):
            return None
        return count * unit_uj / 1e6

    def _told(self, function: str, handle: Any) -> dict[str, Any]:
        """Return what a function tells; nothing where this version has none, or the GPU does not support it."""
        try:
            told = getattr(self._library, function)(handle)
        except Exception:  # AmdSmiException, whose class is the library's own, among others
            return {}
        return told if isinstance(told, dict) else {}


def from_tools() -> Readings:
    """Return what amd-smi tells of each GPU, or what rocm-smi does where the former gives no answer.

    Raises:
        ToolError: neither does.
    """
    troubles = []
    for tool in (_amd_smi, _rocm_smi):
        try:
            return _by_address(tool())
        except Exception as error:  # the tool is missing or hangs, or its answer is broken
            troubles.append(str(error))
    raise ToolError("; ".join(troubles))


def _amd_smi() -> list[DeviceRecord]:
    """Return the GPUs with their places, which `metric` does not tell."""
    answers = [
        ask(["amd-smi", command, "--json"], timeout_s=TOOL_TIMEOUT_S) for command in ("list", "metric")
    ]
    return amd_smi_forms.from_json("\n".join(answers))


def _rocm_smi() -> list[DeviceRecord]:
    return rocm_smi.from_json(
        ask(["rocm-smi", "--showbus", "--showenergycounter", "--json"], timeout_s=TOOL_TIMEOUT_S)
    )


def _by_address(records: list[DeviceRecord]) -> Readings:
    found: Readings = {}
    for record in records:
        if record.facts["pci_bus_id"] and record.readings:
            last = record.readings[-1]
            told = {name: last[name] for name in NAMES if last[name] is not None}
            found.setdefault(record.facts["pci_bus_id"], {}).update(told)
    return found
