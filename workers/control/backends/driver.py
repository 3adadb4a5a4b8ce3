"""The few functions of NVIDIA's driver that the kit needs, by ctypes: they are wherever a driver is.

Names and arguments are those of the driver's header; where it gives a newer function an old name, the newer one is
asked for by its own (`cuMemAlloc_v2`). Source: NVIDIA, CUDA Driver API.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, c_char_p, c_float, c_int, c_size_t, c_uint, c_uint64, c_void_p
from typing import Any

from workers.control.backends.interface import UnavailableError

LIBRARY = "libcuda.so.1"

Handle = c_void_p
"""Contexts, modules, functions, events and streams are pointers; a stream of None is the default one."""
Address = c_uint64
"""Memory of the device."""

PROTOTYPES: dict[str, tuple[Any, ...]] = {
    "cuInit": (c_uint,),
    "cuDeviceGet": (POINTER(c_int), c_int),
    "cuDeviceGetAttribute": (POINTER(c_int), c_int, c_int),
    "cuDeviceTotalMem_v2": (POINTER(c_size_t), c_int),
    "cuDevicePrimaryCtxRetain": (POINTER(Handle), c_int),
    "cuDevicePrimaryCtxRelease_v2": (c_int,),
    "cuCtxSetCurrent": (Handle,),
    "cuCtxSynchronize": (),
    "cuModuleLoadData": (POINTER(Handle), c_char_p),
    "cuModuleUnload": (Handle,),
    "cuModuleGetFunction": (POINTER(Handle), Handle, c_char_p),
    "cuMemAlloc_v2": (POINTER(Address), c_size_t),
    "cuMemFree_v2": (Address,),
    "cuMemAllocHost_v2": (POINTER(c_void_p), c_size_t),
    "cuMemFreeHost": (c_void_p,),
    "cuMemcpyHtoD_v2": (Address, c_char_p, c_size_t),
    "cuMemcpyDtoD_v2": (Address, Address, c_size_t),
    "cuMemcpyHtoDAsync_v2": (Address, c_void_p, c_size_t, Handle),
    "cuMemcpyDtoHAsync_v2": (c_void_p, Address, c_size_t, Handle),
    "cuEventCreate": (POINTER(Handle), c_uint),
    "cuEventDestroy_v2": (Handle,),
    "cuEventRecord": (Handle, Handle),
    "cuEventSynchronize": (Handle,),
    "cuEventElapsedTime": (POINTER(c_float), Handle, Handle),
    "cuLaunchKernel": (Handle, *(c_uint,) * 7, Handle, POINTER(c_void_p), POINTER(c_void_p)),
    "cuGetErrorName": (c_int, POINTER(c_char_p)),
}
"""What each function takes; all return a status."""


class Driver:
    """The driver's functions, their statuses checked."""

    def __init__(self, library: Any = None) -> None:
        """Load the driver; `library` stands in for it in tests."""
        source = _loaded() if library is None else library
        self._functions = {name: _bound(source, name) for name in PROTOTYPES}

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function.

        Raises:
            UnavailableError: it failed; the message has the driver's name for the error.
        """
        status = self._functions[name](*arguments)
        if status:
            raise UnavailableError(f"cuda_error: {name} failed with {self._error(status)}")

    def value(self, name: str, kind: Any, *arguments: Any) -> Any:
        """Call a function whose first argument is where it puts its answer, and return the answer."""
        answer = kind()
        self.call(name, ctypes.byref(answer), *arguments)
        return answer.value

    def _error(self, status: int) -> str:
        text = c_char_p()
        if self._functions["cuGetErrorName"](status, ctypes.byref(text)) or not text.value:
            return f"status {status}"
        return text.value.decode()


class Launch:
    """A kernel with its grid, block and arguments, ready to be launched any number of times."""

    def __init__(
        self, driver: Driver, function: int, grid: tuple[int, int], threads: int, arguments: Sequence[Any]
    ) -> None:
        """Take the arguments as ctypes values; they are kept, as each launch reads them anew."""
        self._call = driver.call
        self._arguments = list(arguments)
        pointers = [ctypes.addressof(argument) for argument in self._arguments]
        self._pointers = (c_void_p * len(pointers))(*pointers)
        self._shape = (function, *grid, 1, threads, 1, 1, 0)

    def __call__(self) -> None:
        """Put it at the end of the default stream."""
        self._call("cuLaunchKernel", *self._shape, None, self._pointers, None)


def _loaded() -> Any:
    try:
        return ctypes.CDLL(LIBRARY)
    except OSError as error:
        raise UnavailableError(f"no_driver: {LIBRARY} cannot be loaded: {error}") from error


def _bound(library: Any, name: str) -> Any:
    try:
        function = getattr(library, name)
    except AttributeError as error:
        raise UnavailableError(f"no_driver: {LIBRARY} has no {name}") from error
    function.argtypes, function.restype = PROTOTYPES[name], c_int
    return function
