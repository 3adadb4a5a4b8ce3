"""What NVML tells of one NVIDIA GPU or MIG instance at one moment; `nvidia_facts` has what stays.

Meanings are those of the NVML API Reference Guide. Of a MIG instance NVML tells memory and processes; clocks,
temperature, errors, limits and the link are those of the GPU that it is a part of, and what would mix the instances up
(load, power, energy, NVLink) is left out. Two things are not read although there is a function or a number for them:

- `nvmlDeviceGetPcieThroughput` measures for 20 ms, too long for a tick.
- The counters of single reasons to slow down (`NVML_FI_DEV_CLOCKS_EVENT_REASON_*`) have other numbers in other
  drivers, under which those have other fields.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, NamedTuple

from workers.devices.nvidia.nvml import Call, Nvml
from workers.host.processes import foreign, status
from workers.readings.nvidia.products import clock_policy, device_class, mig_class, mode_text, partition_mode
from workers.readings.record import Tick, throttle_reasons, tick

PID_NAMESPACE = Path("/proc/self/ns/pid")
FIRST_PID_NAMESPACE = "pid:[4026531836]"
"""What the kernel calls the namespace of all processes of a machine (`PROC_PID_INIT_INO`)."""

GRAPHICS, SM, MEMORY = 0, 1, 2
CORRECTED, UNCORRECTED = 0, 1
SINCE_LOADED = 0
GPU_SENSOR = 0
XID = 0x8
MEMORY_INFO_V2 = 0x02000028

VIOLATIONS = {
    0: "power_cap",
    1: "thermal",
    2: "sync_boost",
    3: "board_limit",
    4: "low_utilization",
    5: "reliability",
    10: "below_application_clocks",
    11: "below_base_clocks",
}
"""`nvmlPerfPolicyType_t`: for how long each limiter kept the clock below the application clocks, then any of them.

NVML does not say which of the slowdowns by heat it counts as `thermal`. The last two overlap with the others.
"""

MIG = " MIG "
"""Stands between the name of a GPU and the profile, in the name of an instance."""

ALL_LINKS = 0xFFFFFFFF
FIELDS = {
    "mem_temp_c": (82, 0),
    "power_w": (186, 0),
    "retired_single": (29, 0),
    "retired_double": (30, 0),
    "nvlink_tx_b_s": (138, ALL_LINKS),
    "nvlink_rx_b_s": (139, ALL_LINKS),
}
"""Field values and their scope: degrees C, mW of this moment, pages retired after errors of each kind, KiB."""

OF_THE_WHOLE_GPU = ("util", "mem_util", "power_w", "energy_j_total", "nvlink_tx_b_s", "nvlink_rx_b_s")
"""Readings that NVML has for a GPU only, and that would be wrong for one of its MIG instances."""

LISTS = (
    ("foreign_pids", "Compute"),
    ("foreign_pids.graphics", "Graphics"),
    ("foreign_pids.mps", "MPSCompute"),
)


OF_PROGRAMS = frozenset((13, 31, 43, 45, 68, 69))
"""Xid errors that a program, or its end, brings about; they say nothing of the machine (NVIDIA, "Xid Errors")."""


class Instance(NamedTuple):
    """One MIG instance: its number within its GPU, and NVML's handle."""

    place: int
    handle: Any


class Gpu:
    """One GPU, or one MIG instance of it; `close` gives the library back."""

    def __init__(self, nvml: Nvml, gpu: Any, instance: Instance | None = None) -> None:
        """Read what it is, and count the driver's errors from now on.

        Args:
            nvml: the library, for this object alone.
            gpu: NVML's handle of the GPU.
            instance: the MIG instance; None for the GPU as a whole.
        """
        self.nvml = nvml
        self.instance = instance
        self._gpu = gpu
        self._own = gpu if instance is None else instance.handle
        self.pci_bus_id = self._pci_bus_id()
        self.parent_uuid: str = self.get("uuid", ("nvmlDeviceGetUUID",)) or ""
        self.uuid = self.get_own("uuid", ("nvmlDeviceGetUUID",)) or "" if instance else self.parent_uuid
        gpu_model = str(self.get("model", ("nvmlDeviceGetName",)) or "NVIDIA GPU")
        self.model = self._instance_model(gpu_model) if instance else gpu_model
        self.device_class = self._class(gpu_model)
        self._fields = {
            name: field for name, field in FIELDS.items() if instance is None or name not in OF_THE_WHOLE_GPU
        }
        self._rates = {"nvlink_tx_b_s": Rate(), "nvlink_rx_b_s": Rate()}
        self._xids = 0
        self._events = self._watch()

    def get(self, name: str, *calls: Call) -> Any:
        """Ask for something of the GPU; each of `calls` is a function and its further arguments."""
        return self.nvml.ask(name, *((call[0], self._gpu, *call[1:]) for call in calls))

    def get_own(self, name: str, *calls: Call) -> Any:
        """Ask for something of the MIG instance where this is one, else of the GPU."""
        return self.nvml.ask(name, *((call[0], self._own, *call[1:]) for call in calls))

    def _instance_model(self, gpu_model: str) -> str:
        """Return the instance's name, which ends in its profile; the profile is left out where it is not told."""
        name = str(self.get_own("model", ("nvmlDeviceGetName",)))
        return name if MIG in name else gpu_model + MIG.rstrip()

    def _class(self, gpu_model: str) -> str:
        gpu_class = device_class(gpu_model, self.memory(of_all=True)[0])
        return gpu_class if self.instance is None else mig_class(gpu_class, self.profile)

    @property
    def profile(self) -> str | None:
        """The MIG instance's profile, as `1g.10gb`; None where it is not told, or this is a whole GPU."""
        return self.model.partition(MIG)[2] or None

    def instance_id(self) -> int | None:
        """Return the number of the GPU instance that this MIG instance is in; None where it is not told."""
        number: int | None = self.get_own("gpu_instance", ("nvmlDeviceGetGpuInstanceId",))
        return number

    def _pci_bus_id(self) -> str | None:
        info = self.get("pci_bus_id", ("nvmlDeviceGetPciInfo_v3",), ("nvmlDeviceGetPciInfo",))
        return None if info is None else str(info.busId).lower()

    def _watch(self) -> Any:
        """Return a set of events that collects the driver's errors of this GPU, or None where it cannot be had."""
        events = self.nvml.ask("xid_count", ("nvmlEventSetCreate",))
        if events is None:
            return None
        watched = self.nvml.ask(
            "xid_count", ("nvmlDeviceRegisterEvents", self._gpu, XID, events), succeeded=True
        )
        if not watched:
            self.nvml.ask("events", ("nvmlEventSetFree", events))
        return events if watched else None

    def close(self) -> None:
        """Stop counting errors, and give the library back."""
        if self._events is not None:
            self.nvml.ask("events", ("nvmlEventSetFree", self._events))
            self._events = None
        self.nvml.close()

    # --- what facts and readings share ---

    def driver(self) -> str | None:
        """Return the driver's version."""
        version = self.nvml.ask("driver", ("nvmlSystemGetDriverVersion",))
        return None if version is None else str(version)

    def clock_hz(self, name: str, *calls: Call) -> int | None:
        """Return a clock of the GPU [Hz]."""
        clock_mhz = self.get(name, *calls)
        return None if clock_mhz is None else int(clock_mhz) * 10**6

    def application_clock_hz(self) -> int | None:
        """Return the clock of the compute cores that applications are promised [Hz]."""
        return self.clock_hz("app_sm_clock_hz", ("nvmlDeviceGetApplicationsClock", GRAPHICS))

    def clock_policy(self) -> str | None:
        """Return `application` where that clock is not the one as delivered; nothing else can be known."""
        default = self.clock_hz("clock_policy", ("nvmlDeviceGetDefaultApplicationsClock", GRAPHICS))
        return clock_policy(self.application_clock_hz(), default)

    def partition_mode(self) -> str | None:
        """Return whether MIG divides the GPU; None where it is none that could be divided."""
        modes = self.get("partition_mode", ("nvmlDeviceGetMigMode",))
        return None if modes is None else partition_mode("Enabled" if modes[0] else "Disabled")

    def memory(self, *, of_all: bool = False) -> tuple[int | None, int | None]:
        """Return all memory and memory in use [B]; the driver's own share is in use only where it is old.

        Args:
            of_all: the whole GPU's, also where this is an instance of it; a driver may refuse it there.
        """
        calls = ("nvmlDeviceGetMemoryInfo", MEMORY_INFO_V2), ("nvmlDeviceGetMemoryInfo",)
        info = self.get("memory", *calls) if of_all else self.get_own("mem_used_b", *calls)
        return (None, None) if info is None else (info.total, info.used)

    def power_limit_w(self) -> float | None:
        """Return the power limit that holds [W], whoever set it."""
        limit = ("nvmlDeviceGetEnforcedPowerLimit",), ("nvmlDeviceGetPowerManagementLimit",)
        return scaled(self.get("power_limit_w", *limit), 1e3)

    # --- readings ---

    def tick(self) -> Tick:
        """Return every one of `READINGS` that NVML tells; rates are since the last call."""
        t_ns = time.monotonic_ns()
        fields = self.nvml.fields(self._gpu, self._fields)
        mask = self.get(
            "throttle_mask",
            ("nvmlDeviceGetCurrentClocksEventReasons",),
            ("nvmlDeviceGetCurrentClocksThrottleReasons",),
        )
        return tick(
            t_ns=t_ns,
            throttle_mask=mask,
            throttle_reasons=throttle_reasons(mask),
            throttle_ns=self._throttle_ns(),
            mem_used_b=self.memory()[1],
            foreign_pids=self.foreign_pids(),
            xid_count=self._xid_count(),
            power_limit_w=self.power_limit_w(),
            mode=self._mode(),
            **self._state(fields),
            **self._errors(fields),
            **self._link(),
            **(self._activity(fields, t_ns / 1e9) if self.instance is None else {}),
        )

    def _state(self, fields: dict[str, float]) -> dict[str, Any]:
        temperature = ("nvmlDeviceGetTemperatureV", GPU_SENSOR), ("nvmlDeviceGetTemperature", GPU_SENSOR)
        return {
            "sm_clock_hz": self.clock_hz("sm_clock_hz", ("nvmlDeviceGetClockInfo", SM)),
            "mem_clock_hz": self.clock_hz("mem_clock_hz", ("nvmlDeviceGetClockInfo", MEMORY)),
            "temp_c": number(self.get("temp_c", *temperature)),
            "mem_temp_c": number(fields.get("mem_temp_c")),
            "fan": scaled(self.get("fan", ("nvmlDeviceGetFanSpeed",)), 100),
        }

    def _activity(self, fields: dict[str, float], now_s: float) -> dict[str, Any]:
        load = self.get("util", ("nvmlDeviceGetUtilizationRates",))
        energy_mj = self.get("energy_j_total", ("nvmlDeviceGetTotalEnergyConsumption",))
        power_mw = fields.get("power_w")
        if power_mw is None:
            power_mw = self.get("power_w", ("nvmlDeviceGetPowerUsage",))
        return {
            "util": scaled(load.gpu, 100) if load else None,
            "mem_util": scaled(load.memory, 100) if load else None,
            "power_w": scaled(power_mw, 1e3),
            "energy_j_total": scaled(energy_mj, 1e3),
            **{name: rate.since_last(fields.get(name), now_s) for name, rate in self._rates.items()},
        }

    def _errors(self, fields: dict[str, float]) -> dict[str, Any]:
        ecc = "nvmlDeviceGetTotalEccErrors"
        rows = self.get("remapped_rows", ("nvmlDeviceGetRemappedRows",))
        retired = [fields.get("retired_single"), fields.get("retired_double")]
        pages = [int(count) for count in retired if count is not None]
        return {
            "ecc_corrected": self.get("ecc_corrected", (ecc, CORRECTED, SINCE_LOADED)),
            "ecc_uncorrected": self.get("ecc_uncorrected", (ecc, UNCORRECTED, SINCE_LOADED)),
            "remapped_rows": rows[0] + rows[1] if rows else sum(pages) if len(pages) == 2 else None,
        }

    def _link(self) -> dict[str, Any]:
        """Return the state of the PCIe link; generation or width 0 says that there is none."""
        return {
            "pcie_gen": self.get("pcie_gen", ("nvmlDeviceGetCurrPcieLinkGeneration",)) or None,
            "pcie_width": self.get("pcie_width", ("nvmlDeviceGetCurrPcieLinkWidth",)) or None,
            "pcie_replays": self.get("pcie_replays", ("nvmlDeviceGetPcieReplayCounter",)),
        }

    def _throttle_ns(self) -> dict[str, int] | None:
        found = {
            reason: self.get(f"throttle_ns.{reason}", ("nvmlDeviceGetViolationStatus", policy))
            for policy, reason in VIOLATIONS.items()
        }
        return {reason: spent.violationTime for reason, spent in found.items() if spent is not None} or None

    def _xid_count(self) -> int | None:
        if self._events is None:
            return None
        new = self.nvml.drain("xid_count", self._events, XID, OF_PROGRAMS)
        if new is None:
            return None
        self._xids += new
        return self._xids

    def _mode(self) -> str | None:
        policy, clock_hz = self.clock_policy(), self.application_clock_hz()
        clock = f"{policy} {clock_hz // 10**6} MHz" if policy and clock_hz else policy
        return mode_text(self.partition_mode(), clock)

    def foreign_pids(self) -> list[int] | None:
        """Return the processes on the device that are not this agent's; None where that cannot be known.

        A driver may give a container the machine's numbers of processes, which say nothing in there.
        """
        lists = {
            name: self.get_own(name, *((f"nvmlDeviceGet{kind}RunningProcesses_v{n}",) for n in (3, 2)))
            for name, kind in LISTS
        }
        if lists["foreign_pids"] is None:
            return None
        strangers = foreign(process.pid for found in lists.values() for process in found or ())
        if sees_all_processes():
            return strangers
        seen = [pid for pid in strangers if status(pid) is not None]
        return seen or (None if strangers else [])


class Rate:
    """How fast a counter of KiB grows."""

    def __init__(self) -> None:
        self._before: tuple[float, float] | None = None

    def since_last(self, counter_kib: float | None, now_s: float) -> float | None:
        """Return the mean rate since the last call [B/s]; None at first, and after the counter went back."""
        before, self._before = self._before, None if counter_kib is None else (counter_kib, now_s)
        if before is None or counter_kib is None or counter_kib < before[0] or now_s <= before[1]:
            return None
        return (counter_kib - before[0]) * 1024 / (now_s - before[1])


def instances(nvml: Nvml, gpu: Any) -> list[Instance]:
    """Return the MIG instances of a GPU by its handle; places that are free are passed over."""
    most = nvml.ask("partitions", ("nvmlDeviceGetMaxMigDeviceCount", gpu)) or 0
    calls = (("nvmlDeviceGetMigDeviceHandleByIndex", gpu, place) for place in range(most))
    handles = enumerate(nvml.ask("partitions", call) for call in calls)
    return [Instance(place, handle) for place, handle in handles if handle is not None]


def sees_all_processes() -> bool:
    """Tell whether the agent sees the processes of the whole machine, as it does outside of containers."""
    try:
        return os.readlink(PID_NAMESPACE) == FIRST_PID_NAMESPACE
    except OSError:
        return True


def scaled(value: float | None, per_unit: float) -> float | None:
    """Return a value in units of which each has `per_unit` of NVML's."""
    return None if value is None else value / per_unit


def number(value: float | None) -> float | None:
    """Return a value as a number with fractions, as every temperature is."""
    return None if value is None else float(value)
