"""A double of NVIDIA's driver that is called as the real one is: by the C calling convention, with pointers.

It keeps what the real one would: contexts, modules, memory and events, and refuses what is not there, is freed twice
or is too small. A launch reads its arguments through the pointers, by the parameters that its module's text declares.
"""

from __future__ import annotations

import ctypes
import re
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_float, c_int, c_size_t, c_uint, c_ulonglong, c_void_p
from dataclasses import dataclass, field
from typing import Any

INVALID_VALUE, OUT_OF_MEMORY, INVALID_CONTEXT, NOT_FOUND = 1, 2, 201, 500
NAMES = {OUT_OF_MEMORY: b"CUDA_ERROR_OUT_OF_MEMORY", INVALID_CONTEXT: b"CUDA_ERROR_INVALID_CONTEXT"}
LAUNCH_S, COPY_B_PER_S = 1e-3, 1e10
TAKES = {"u64": c_ulonglong, "f32": c_float}


@dataclass(frozen=True)
class Launched:
    """One launch, as the driver saw it."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    arguments: dict[str, Any]


@dataclass
class FakeDriver:
    """One device; its clock moves with every launch and copy."""

    capability: int = 9
    multiprocessors: int = 132
    memory_b: int = 4 * 1024**3
    clock_s: float = 0.0
    launches: list[Launched] = field(default_factory=list)
    copies: list[tuple[str, int]] = field(default_factory=list)
    memory: dict[int, int] = field(default_factory=dict)
    host_memory: dict[int, Any] = field(default_factory=dict)
    modules: dict[int, str] = field(default_factory=dict)
    functions: dict[int, tuple[int, str]] = field(default_factory=dict)
    events: dict[int, float | None] = field(default_factory=dict)
    contexts: int = 0
    current: int | None = None
    starts: int = 0

    def __post_init__(self) -> None:
        self._handles = 0x1000
        address, handle = POINTER(c_ulonglong), POINTER(c_void_p)
        self._functions = {
            name: CFUNCTYPE(c_int, *takes)(function)
            for name, function, takes in [
                ("cuInit", self._init, (c_uint,)),
                ("cuDeviceGet", self._device, (POINTER(c_int), c_int)),
                ("cuDeviceGetAttribute", self._attribute, (POINTER(c_int), c_int, c_int)),
                ("cuDeviceTotalMem_v2", self._total, (POINTER(c_size_t), c_int)),
                ("cuDevicePrimaryCtxRetain", self._retain, (handle, c_int)),
                ("cuDevicePrimaryCtxRelease_v2", self._release, (c_int,)),
                ("cuCtxSetCurrent", self._set_current, (c_void_p,)),
                ("cuCtxSynchronize", self._synchronize, ()),
                ("cuModuleLoadData", self._load, (handle, c_char_p)),
                ("cuModuleUnload", self._unload, (c_void_p,)),
                ("cuModuleGetFunction", self._function, (handle, c_void_p, c_char_p)),
                ("cuMemAlloc_v2", self._alloc, (address, c_size_t)),
                ("cuMemFree_v2", self._free, (c_ulonglong,)),
                ("cuMemAllocHost_v2", self._alloc_host, (handle, c_size_t)),
                ("cuMemFreeHost", self._free_host, (c_void_p,)),
                ("cuMemcpyHtoD_v2", self._to_device_now, (c_ulonglong, c_void_p, c_size_t)),
                ("cuMemcpyDtoD_v2", self._on_device, (c_ulonglong, c_ulonglong, c_size_t)),
                ("cuMemcpyHtoDAsync_v2", self._to_device, (c_ulonglong, c_void_p, c_size_t, c_void_p)),
                ("cuMemcpyDtoHAsync_v2", self._to_host, (c_void_p, c_ulonglong, c_size_t, c_void_p)),
                ("cuEventCreate", self._event, (handle, c_uint)),
                ("cuEventDestroy_v2", self._destroy, (c_void_p,)),
                ("cuEventRecord", self._record, (c_void_p, c_void_p)),
                ("cuEventSynchronize", self._wait, (c_void_p,)),
                ("cuEventElapsedTime", self._elapsed, (POINTER(c_float), c_void_p, c_void_p)),
                (
                    "cuLaunchKernel",
                    self._launch,
                    (c_void_p, *(c_uint,) * 7, c_void_p, handle, handle),
                ),
                ("cuGetErrorName", self._name, (c_int, POINTER(c_char_p))),
            ]
        }

    def __getattr__(self, name: str) -> Any:
        functions = self.__dict__.get("_functions", {})
        if name in functions:
            return functions[name]
        raise AttributeError(name)

    @property
    def held(self) -> dict[str, int]:
        """What has not been given back."""
        kinds = {
            "memory": self.memory,
            "host": self.host_memory,
            "modules": self.modules,
            "events": self.events,
        }
        return {name: len(kind) for name, kind in kinds.items() if kind} | (
            {"contexts": self.contexts} if self.contexts else {}
        )

    # --- the functions ---

    def _new(self) -> int:
        self._handles += 0x10
        return self._handles

    def _init(self, flags: int) -> int:
        self.starts += 1
        return INVALID_VALUE if flags else 0

    def _device(self, answer: Any, ordinal: int) -> int:
        answer[0] = 40 + ordinal
        return 0 if ordinal == 0 else 101

    def _attribute(self, answer: Any, number: int, device: int) -> int:
        answer[0] = {16: self.multiprocessors, 75: self.capability}[number]
        return 0 if device == 40 else 101

    def _total(self, answer: Any, device: int) -> int:
        answer[0] = self.memory_b
        return 0 if device == 40 else 101

    def _retain(self, answer: Any, device: int) -> int:
        self.contexts += 1
        answer[0] = 0x77
        return 0 if device == 40 else 101

    def _release(self, device: int) -> int:
        self.contexts -= 1
        return 0 if device == 40 else 101

    def _set_current(self, context: int) -> int:
        self.current = context
        return 0

    def _synchronize(self) -> int:
        return 0 if self.current == 0x77 else INVALID_CONTEXT

    def _load(self, answer: Any, image: bytes) -> int:
        if self.current != 0x77:
            return INVALID_CONTEXT
        answer[0] = module = self._new()
        self.modules[module] = image.decode()
        return 0

    def _unload(self, module: int) -> int:
        return 0 if self.modules.pop(module, None) else INVALID_VALUE

    def _function(self, answer: Any, module: int, name: bytes) -> int:
        if f".entry {name.decode()}(" not in self.modules.get(module, ""):
            return NOT_FOUND
        answer[0] = function = self._new()
        self.functions[function] = (module, name.decode())
        return 0

    def _alloc(self, answer: Any, size: int) -> int:
        if self.current != 0x77:
            return INVALID_CONTEXT
        if sum(self.memory.values()) + size > self.memory_b:
            return OUT_OF_MEMORY
        answer[0] = address = (1 << 40) + (self._new() << 28)
        self.memory[address] = size
        return 0

    def _free(self, address: int) -> int:
        return 0 if self.memory.pop(address, None) else INVALID_VALUE

    def _alloc_host(self, answer: Any, size: int) -> int:
        block = ctypes.create_string_buffer(64)
        answer[0] = ctypes.addressof(block)
        self.host_memory[ctypes.addressof(block)] = (block, size)
        return 0

    def _free_host(self, address: int) -> int:
        return 0 if self.host_memory.pop(address, None) else INVALID_VALUE

    def _has(self, address: int, size: int) -> bool:
        return any(start <= address and address + size <= start + held for start, held in self.memory.items())

    def _copied(self, kind: str, address: int, size: int, *, fits: bool = True) -> int:
        if not (fits and self._has(address, size)):
            return INVALID_VALUE
        self.copies.append((kind, size))
        self.clock_s += size / COPY_B_PER_S
        return 0

    def _to_device_now(self, to: int, of: int, size: int) -> int:
        ctypes.string_at(of, size)
        return self._copied("fill", to, size)

    def _on_device(self, to: int, of: int, size: int) -> int:
        return self._copied("double", to, size, fits=self._has(of, size) and not of <= to < of + size)

    def _to_device(self, to: int, of: int, size: int, stream: int | None) -> int:
        return self._copied("h2d", to, size, fits=self._is_pinned(of, size) and stream is None)

    def _to_host(self, to: int, of: int, size: int, stream: int | None) -> int:
        return self._copied("d2h", of, size, fits=self._is_pinned(to, size) and stream is None)

    def _is_pinned(self, address: int, size: int) -> bool:
        return address in self.host_memory and size <= self.host_memory[address][1]

    def _event(self, answer: Any, flags: int) -> int:
        answer[0] = event = self._new()
        self.events[event] = None
        return INVALID_VALUE if flags else 0

    def _destroy(self, event: int) -> int:
        if event not in self.events:
            return INVALID_VALUE
        del self.events[event]
        return 0

    def _record(self, event: int, stream: int | None) -> int:
        if event not in self.events or stream is not None:
            return INVALID_VALUE
        self.events[event] = self.clock_s
        return 0

    def _wait(self, event: int) -> int:
        return 0 if self.events.get(event) is not None else INVALID_VALUE

    def _elapsed(self, answer: Any, start: int, end: int) -> int:
        times = self.events.get(start), self.events.get(end)
        if None in times:
            return INVALID_VALUE
        answer[0] = (times[1] - times[0]) * 1e3
        return 0

    def _launch(self, function: int, *rest: Any) -> int:
        *shape, shared, stream, parameters, extra = rest
        if function not in self.functions or shared or stream or extra:
            return INVALID_VALUE
        module, name = self.functions[function]
        if module not in self.modules:
            return INVALID_VALUE
        declared = re.search(rf"\.entry {name}\((.*?)\)", self.modules[module])[1]
        arguments = {
            parameter: ctypes.cast(parameters[i], POINTER(TAKES[kind]))[0]
            for i, (kind, parameter) in enumerate(re.findall(r"\.param \.(\w+) (\w+)", declared))
        }
        if not all(self._has(value, 1) for value in arguments.values() if isinstance(value, int)):
            return INVALID_VALUE
        self.launches.append(Launched(name, tuple(shape[:3]), tuple(shape[3:]), arguments))
        self.clock_s += LAUNCH_S
        return 0

    def _name(self, status: int, answer: Any) -> int:
        if status not in NAMES:
            return INVALID_VALUE
        answer[0] = NAMES[status]
        return 0
