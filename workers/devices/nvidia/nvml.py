"""NVML, the NVIDIA driver's own library, guarded: what it refuses is None, and is remembered with its reason.

The binding is `nvidia-ml-py`, imported late as `pynvml`, so that an agent runs where neither it nor a driver is. Its
functions raise a subclass of `NVMLError` for each of NVML's error codes; a function that the driver does not have is
`FunctionNotFound`. Reference: NVML API Reference Guide, docs.nvidia.com/deploy/nvml-api.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from workers.devices.base import Lack

INSTALL = "pip install 'ratchet-perf[nvidia]'"
UNKNOWN = "FunctionNotFound"
NOT_IN_BINDING = "NotInBinding"
NOT_SUPPORTED = "NotSupported"
TIMEOUT = "Timeout"
LOST = ("GpuIsLost", "ResetRequired")

UNREADY: dict[str, tuple[str, str]] = {
    "LibraryNotFound": (
        "the driver's library libnvidia-ml.so.1 is not found",
        "install the NVIDIA driver; start a container with --gpus all (NVIDIA Container Toolkit)",
    ),
    "DriverNotLoaded": (
        "the driver is installed and not loaded",
        "run nvidia-smi or modprobe nvidia as root; reboot after an installation",
    ),
    "LibRmVersionMismatch": (
        "the driver's library and its kernel module are of different versions",
        "reboot, or unload and load the module nvidia",
    ),
    "NoPermission": (
        "this user may not open the driver's device files",
        "give the agent's user access to /dev/nvidia*",
    ),
}
"""Why NVML does not start, by its error, and what helps."""

VALUE_TYPES = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")
"""Where a field's value is, by its `nvmlValueType_t`."""

Call = tuple[Any, ...]
"""The name of a function of NVML, and its arguments."""


MOST_EVENTS = 100
"""As many events are taken out at one time; more wait for the next."""

EVENT_WAIT_MS = 1


class UnreadyError(Exception):
    """NVML cannot be used here; `lack` says why, and what to do about it."""

    def __init__(self, why: str, how: str) -> None:
        super().__init__(why)
        self.lack = Lack("NVIDIA GPUs", why, how)


class Refusal(NamedTuple):
    """Which function failed, and NVML's name for the error."""

    function: str
    error: str


NOTHING = Refusal("", "")


class Nvml:
    """NVML for one user of it, who gives it back with `close`; not for several threads at once."""

    def __init__(self, binding: Any) -> None:
        self._binding = binding
        self._absent: set[str] = set()
        self.refusals: dict[str, Refusal] = {}
        """What could not be read when it was last asked for, by the name that it was asked for under."""

    @classmethod
    def open(cls) -> Nvml:
        """Return NVML, started.

        Raises:
            UnreadyError: the binding or the driver is not there, or does not work.
        """
        try:
            binding = importlib.import_module("pynvml")
        except ImportError as error:
            raise UnreadyError("the Python package nvidia-ml-py is not installed", INSTALL) from error
        nvml = cls(binding)
        if nvml.ask("start", ("nvmlInit",), succeeded=True) is None:
            raise nvml._unready()
        return nvml

    def _unready(self) -> UnreadyError:
        function, error = self.refusals["start"]
        return UnreadyError(
            *UNREADY.get(
                error,
                (f"NVML answers {error} to {function}", "look for NVRM lines in the kernel's log (dmesg)"),
            )
        )

    def close(self) -> None:
        """Give NVML back."""
        self.ask("end", ("nvmlShutdown",))

    def ask(self, name: str, *calls: Call, succeeded: Any = None) -> Any:
        """Return what the first of `calls` that succeeds returns, or None where all are refused.

        Args:
            name: what is asked for; a refusal is remembered under it until it can be had.
            calls: a function and its arguments each, the preferred one first.
            succeeded: what stands for the result of a function that returns none.
        """
        refusals = []
        for function, *arguments in calls:
            refusal, answer = self._call(function, arguments)
            if refusal is None:
                self.refusals.pop(name, None)
                return succeeded if answer is None else answer
            refusals.append(refusal)
        self.refusals[name] = next((r for r in refusals if not self._is_unknown(r)), refusals[0])
        return None

    def _call(self, function: str, arguments: list[Any]) -> tuple[Refusal | None, Any]:
        known = getattr(self._binding, function, None)
        if known is None:
            return Refusal(function, NOT_IN_BINDING), None
        if function in self._absent:
            return Refusal(function, UNKNOWN), None
        try:
            return None, known(*arguments)
        except self._binding.NVMLError as error:
            refusal = Refusal(function, _name(error))
        if self._is_unknown(refusal):
            self._absent.add(function)
        return refusal, None

    def _is_unknown(self, refusal: Refusal) -> bool:
        return refusal.error in (UNKNOWN, NOT_IN_BINDING)

    def drain(self, name: str, events: Any, kind: int, without: frozenset[int] = frozenset()) -> int | None:
        """Return how many events of a kind wait in an event set, and take them out of it; None where it is refused.

        Those with a number in `without` are not counted.
        """
        count = 0
        for _ in range(MOST_EVENTS):
            event = self.ask(name, ("nvmlEventSetWait_v2", events, EVENT_WAIT_MS))
            if event is None:
                break
            count += bool(event.eventType & kind) and event.eventData not in without
        if self.refusals.get(name, NOTHING).error not in (TIMEOUT, NOTHING.error):
            return None
        self.refusals.pop(name, None)
        return count

    def fields(self, handle: Any, wanted: Mapping[str, tuple[int, int]]) -> dict[str, float]:
        """Return field values by the names that they are wanted under; those that are refused are left out.

        Args:
            handle: the device.
            wanted: name -> the field's number (`NVML_FI_*`) and its scope. Numbers above 250 mean different fields in
                different drivers, so none of them may be among these.
        """
        answers = self.ask("fields", ("nvmlDeviceGetFieldValues", handle, list(wanted.values())))
        if answers is None:
            self.refusals.update(dict.fromkeys(wanted, self.refusals["fields"]))
            return {}
        return dict(self._read(wanted, answers))

    def _read(self, wanted: Mapping[str, tuple[int, int]], answers: Any) -> Iterator[tuple[str, float]]:
        for name, field in zip(wanted, answers, strict=True):
            if field.nvmlReturn == 0 and 0 <= field.valueType < len(VALUE_TYPES):
                self.refusals.pop(name, None)
                yield name, getattr(field.value, VALUE_TYPES[field.valueType])
            else:
                self.refusals[name] = self._refused(wanted[name][0], field.nvmlReturn)

    def _refused(self, field: int, code: int) -> Refusal:
        """Return why a field has no value; a number that the driver does not know is no valid argument to it."""
        error = _name(self._binding.NVMLError(code)) if code else "no value"
        return Refusal(f"field {field}", UNKNOWN if error == "InvalidArgument" else error)


def _name(error: Exception) -> str:
    """Return NVML's name for an error, as in `NotSupported`; its number where the binding knows no name."""
    name = type(error).__name__.removeprefix("NVMLError_")
    return name if name != "NVMLError" else f"error {getattr(error, 'value', '')}".strip()
