"""A double of the module `pynvml`: GPUs that answer what a test scripts, with the binding's own structures and errors.

Every call is checked against the real binding's signature, so that a call that it does not have fails here, too. It
cannot tell whether a driver answers as scripted.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Iterable, Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any

import pynvml as binding

GIB = 2**30
ALL_LINKS = 0xFFFFFFFF
MHZ = 10**6


class Refuse:
    """In place of a value: the driver refuses with this error, as in `NotSupported`."""

    def __init__(self, error: str) -> None:
        self.error: Exception = getattr(binding, f"NVMLError_{error}")()


class Hang:
    """In place of a value: the call does not return before `go` is set, and then returns `value`."""

    def __init__(self, value: Any = None) -> None:
        self.value = value
        self.go = threading.Event()


class FakeGpu:
    """A GPU or a MIG instance, which is its own handle; what has no value is not supported."""

    def __init__(
        self,
        values: Mapping[str, Any],
        *,
        fields: Mapping[tuple[int, int], Any] | None = None,
        instances: Iterable[FakeGpu] = (),
        xids: int = 0,
    ) -> None:
        """Script a GPU.

        Args:
            values: function without its prefix `nvmlDevice` -> what it returns; a `Refuse`, a `Hang`, or a mapping by
                its first argument behind the handle.
            fields: number and scope of a field value -> the value or a `Refuse`.
            instances: the MIG instances of the GPU.
            xids: how many of the driver's errors wait to be told.
        """
        self.values = dict(values)
        self.fields = dict(fields or {})
        self.instances = list(instances)
        self.xids = xids


class FakeNvml:
    """Stands for the module `pynvml` with a driver behind it."""

    NVMLError = binding.NVMLError

    def __init__(
        self,
        *gpus: FakeGpu | Refuse,
        start: Any = None,
        driver: str = "570.86.10",
        cuda: int = 12080,
        driver_lacks: Iterable[str] = (),
        binding_lacks: Iterable[str] = (),
    ) -> None:
        """Script a driver.

        Args:
            gpus: the GPUs in their order; a `Refuse` for one whose handle is refused.
            start: a `Refuse` or `Hang` where the library does not start.
            driver: the driver's version.
            cuda: the version of CUDA that it supports, as NVML numbers it.
            driver_lacks: functions that the driver is too old for.
            binding_lacks: functions that the Python package is too old for.
        """
        self.gpus = gpus
        self.users = 0
        self.event_sets = 0
        self._start = start
        self._system = {"GetDriverVersion": driver, "GetCudaDriverVersion_v2": cuda}
        self._driver_lacks = set(driver_lacks)
        self._binding_lacks = set(binding_lacks)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("nvml") or name in self._binding_lacks:
            raise AttributeError(name)
        return partial(self._call, name, inspect.signature(getattr(binding, name)))

    def _call(self, name: str, signature: inspect.Signature, *args: Any) -> Any:
        signature.bind(*args)
        if name in self._driver_lacks:
            raise Refuse("FunctionNotFound").error
        if name.startswith("nvmlSystem"):
            return self._system[name.removeprefix("nvmlSystem")]
        own = getattr(self, f"_{name}", None)
        return own(*args) if own else answer(args[0].values.get(name.removeprefix("nvmlDevice")), args[1:])

    def _nvmlInit(self) -> None:
        if self._start is not None:
            answer(self._start, ())
        self.users += 1

    def _nvmlShutdown(self) -> None:
        self.users -= 1

    def _nvmlDeviceGetCount(self) -> int:
        return len(self.gpus)

    def _nvmlDeviceGetHandleByIndex(self, index: int) -> FakeGpu:
        gpu = self.gpus[index]
        if isinstance(gpu, Refuse):
            raise gpu.error
        return gpu

    def _nvmlDeviceGetMaxMigDeviceCount(self, gpu: FakeGpu) -> int:
        return 7

    def _nvmlDeviceGetMigDeviceHandleByIndex(self, gpu: FakeGpu, place: int) -> FakeGpu:
        if place >= len(gpu.instances):
            raise Refuse("NotFound").error
        return gpu.instances[place]

    def _nvmlDeviceGetFieldValues(self, gpu: FakeGpu, wanted: list[tuple[int, int]]) -> list[Any]:
        lost = gpu.values.get("GetFieldValues")
        if lost is not None:
            answer(lost, ())
        return [field_value(number, scope, gpu.fields.get((number, scope))) for number, scope in wanted]

    def _nvmlEventSetCreate(self) -> list[FakeGpu]:
        self.event_sets += 1
        return []

    def _nvmlEventSetFree(self, events: list[FakeGpu]) -> None:
        self.event_sets -= 1

    def _nvmlDeviceRegisterEvents(self, gpu: FakeGpu, kinds: int, events: list[FakeGpu]) -> None:
        assert kinds == binding.nvmlEventTypeXidCriticalError
        refusal = gpu.values.get("RegisterEvents")
        if refusal is not None:
            answer(refusal, ())
        events.append(gpu)

    def _nvmlEventSetWait_v2(self, events: list[FakeGpu], timeout_ms: int) -> Any:
        assert 0 < timeout_ms <= 5, "a tick has no time to wait"
        for gpu in events:
            if gpu.xids:
                gpu.xids -= 1
                return binding.c_nvmlEventData_t(
                    eventType=binding.nvmlEventTypeXidCriticalError, eventData=79
                )
        raise Refuse("Timeout").error


def answer(value: Any, args: tuple[Any, ...]) -> Any:
    """Return the scripted value, or fail or wait as scripted."""
    if isinstance(value, Hang):
        value.go.wait(20)
        return answer(value.value, args)
    if isinstance(value, Mapping):
        return answer(value.get(args[0]), ())
    if value is None:
        raise Refuse("NotSupported").error
    if isinstance(value, Refuse):
        raise value.error
    return value


def field_value(number: int, scope: int, value: Any) -> Any:
    """Return the binding's structure of one field value."""
    field = binding.c_nvmlFieldValue_t(fieldId=number, scopeId=scope)
    if value is None or isinstance(value, Refuse):
        refusal = Refuse("NotSupported") if value is None else value
        field.nvmlReturn = refusal.error.value
    elif value >= 2**32:
        field.valueType = binding.NVML_VALUE_TYPE_UNSIGNED_LONG_LONG
        field.value.ullVal = value
    else:
        field.valueType = binding.NVML_VALUE_TYPE_UNSIGNED_INT
        field.value.uiVal = value
    return field


def pci(bus_id: str) -> Any:
    """Return the binding's structure of a PCI place."""
    return binding.nvmlPciInfo_t(busId=bus_id)


def memory(total: int, used: int, reserved: int = 0) -> Any:
    """Return the binding's structure of memory in bytes."""
    return binding.c_nvmlMemory_v2_t(total=total, reserved=reserved, free=total - used - reserved, used=used)


def load(gpu: int, memory: int) -> Any:
    """Return the binding's structure of utilisation in percent."""
    return binding.c_nvmlUtilization_t(gpu=gpu, memory=memory)


def violation(ns: int) -> Any:
    """Return the binding's structure of time under a limit."""
    return binding.c_nvmlViolationTime_t(referenceTime=1_700_000_000_000_000, violationTime=ns)


def processes(*pids: int) -> list[Any]:
    """Return processes as the binding lists them."""
    return [SimpleNamespace(pid=pid, usedGpuMemory=None) for pid in pids]


DATA_CENTRE: dict[str, Any] = {
    "GetUUID": "GPU-11111111-2222-3333-4444-555555555555",
    "GetName": "NVIDIA H100 80GB HBM3",
    "GetSerial": "1320000000001",
    "GetIndex": 0,
    "GetPciInfo_v3": pci("00000000:1B:00.0"),
    "GetArchitecture": 9,
    "GetVbiosVersion": "96.00.5E.00.01",
    "GetMemoryInfo": memory(85_520_809_984, 4 * GIB, GIB // 2),
    "GetMaxClockInfo": {1: 1980, 2: 2619},
    "GetClockInfo": {1: 1755, 2: 2619},
    "GetApplicationsClock": {0: 1980, 2: 2619},
    "GetDefaultApplicationsClock": {0: 1980, 2: 2619},
    "GetPowerManagementDefaultLimit": 700_000,
    "GetPowerManagementLimitConstraints": [200_000, 700_000],
    "GetEnforcedPowerLimit": 650_000,
    "GetPowerUsage": 601_000,
    "GetTotalEnergyConsumption": 123_456_789_012,
    "GetPersistenceMode": 1,
    "GetEccMode": [1, 0],
    "GetTotalEccErrors": {0: 12, 1: 1},
    "GetRemappedRows": (2, 1, 1, 0),
    "GetMigMode": [0, 0],
    "GetComputeMode": 3,
    "GetMaxPcieLinkGeneration": 5,
    "GetMaxPcieLinkWidth": 16,
    "GetCurrPcieLinkGeneration": 4,
    "GetCurrPcieLinkWidth": 8,
    "GetPcieReplayCounter": 3,
    "GetUtilizationRates": load(97, 41),
    "GetTemperatureV": 64,
    "GetCurrentClocksEventReasons": 0x4 | 0x20,
    "GetViolationStatus": {0: violation(5_000_000_000), 1: violation(7_000), 2: violation(0)},
    "GetComputeRunningProcesses_v3": [],
    "GetGraphicsRunningProcesses_v3": [],
    "GetMPSComputeRunningProcesses_v3": [],
}
"""What an invented GPU of a data centre answers."""

DATA_CENTRE_FIELDS: dict[tuple[int, int], Any] = {
    (82, 0): 71,
    (186, 0): 612_500,
    (138, ALL_LINKS): 5 * 2**32,
    (139, ALL_LINKS): 1000,
}


def data_centre_gpu(**changes: Any) -> FakeGpu:
    """Return the invented GPU of a data centre with other values; None for what it shall not support."""
    return FakeGpu(DATA_CENTRE | changes, fields=DATA_CENTRE_FIELDS)


def divided_gpu(*profiles: str, **changes: Any) -> FakeGpu:
    """Return the same GPU, divided by MIG into instances of these profiles, as `1g.10gb`."""
    gpu = data_centre_gpu(GetMigMode=[1, 1], GetUtilizationRates=None, **changes)
    gpu.instances = [
        FakeGpu(
            {
                "GetUUID": f"MIG-00000000-0000-0000-0000-00000000000{place}",
                "GetName": f"{gpu.values['GetName']} MIG {profile}",
                "GetMemoryInfo": memory(10 * GIB, GIB),
                "GetAttributes_v2": SimpleNamespace(multiprocessorCount=16),
                "GetComputeRunningProcesses_v3": [],
            }
        )
        for place, profile in enumerate(profiles)
    ]
    return gpu


def old_gaming_gpu() -> FakeGpu:
    """Return a GPU that supports little, under a driver of its time: no ECC, no MIG, no energy, no limits of policy."""
    return FakeGpu(
        {
            "GetUUID": "GPU-99999999-0000-0000-0000-000000000000",
            "GetName": "NVIDIA GeForce GTX 1080",
            "GetPciInfo_v3": pci("00000000:01:00.0"),
            "GetMemoryInfo": memory(8 * GIB, GIB),
            "GetClockInfo": {1: 1607, 2: 5005},
            "GetTemperature": 50,
            "GetFanSpeed": 30,
            "GetPowerUsage": 40_500,
            "GetPowerManagementLimit": 180_000,
            "GetUtilizationRates": load(0, 0),
            "GetCurrentClocksThrottleReasons": 0x1,
            "GetRetiredPagesPendingStatus": 0,
            "GetComputeRunningProcesses_v2": [],
            "RegisterEvents": Refuse("NotSupported"),
        },
        fields={(29, 0): 2, (30, 0): 1, (186, 0): Refuse("InvalidArgument")},
    )


OF_NEW_DRIVERS = (
    "nvmlDeviceGetCurrentClocksEventReasons",
    "nvmlDeviceGetTemperatureV",
    "nvmlDeviceGetComputeRunningProcesses_v3",
    "nvmlDeviceGetGraphicsRunningProcesses_v3",
    "nvmlDeviceGetMPSComputeRunningProcesses_v3",
    "nvmlDeviceGetRemappedRows",
    "nvmlDeviceGetMigMode",
)
"""Functions that a driver of about 2019 does not have."""
