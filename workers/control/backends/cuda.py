"""NVIDIA devices, Jetson among them, through the driver alone: what runs on them is in `ptx`, frozen with the kit.

No framework and no library of the maker's takes part, so that nothing but the machine can move the results: what the
driver makes of the kernels belongs to the driver, and that to the machine's fingerprint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from ctypes import c_float, c_int, c_size_t, c_void_p

from workers.control.backends import ptx
from workers.control.backends.driver import Address, Driver, Handle, Launch
from workers.control.backends.host import COPY_B, MIB, host_loop, on_host_clock, stream_b
from workers.control.backends.interface import Backend, Work
from workers.control.normal import bf16, fp32, repeated
from workers.control.pacing import Run
from workers.control.probes import BYTES, FLOPS, GEMM_BF16, GEMM_FP32, TIMES

MULTIPROCESSORS, CAPABILITY_MAJOR = 16, 75
"""Numbers of device attributes in the driver's header."""
BF16_CAPABILITY = 8
"""Compute capability whose matrix units take bf16."""
FEW_MULTIPROCESSORS = 16
"""Devices with fewer get matrices of half the size: a batch must not take seconds."""
BF16_N, FP32_N = 4096, 2048
SCALE = 0.5


class Cuda(Backend):
    """One device, by its place among those that the process may see."""

    name = "cuda"

    def __init__(self, index: int, driver: Driver | None = None) -> None:
        self._driver = driver or Driver()
        self._driver.call("cuInit", 0)
        self._device = self._driver.value("cuDeviceGet", c_int, index)
        context = self._driver.value("cuDevicePrimaryCtxRetain", Handle, self._device)
        self._driver.call("cuCtxSetCurrent", context)

    def close(self) -> None:
        """Give up the device's context, with everything in it."""
        self._driver.call("cuDevicePrimaryCtxRelease_v2", self._device)

    def work(self, probe: str) -> AbstractContextManager[Work]:
        """Return the probe; every one runs on every device."""
        ready = {
            "gemm": self._gemm,
            "triad": self._triad,
            "h2d": lambda: self._copy("h2d"),
            "d2h": lambda: self._copy("d2h"),
            "empty_launch": self._empty_launch,
            "host_loop": host_loop,
        }
        return ready[probe]()

    # --- probes ---

    @contextmanager
    def _gemm(self) -> Iterator[Work]:
        """Give a product of square matrices: bf16 where the device has units for it, else fp32."""
        halved = 2 if self._attribute(MULTIPROCESSORS) < FEW_MULTIPROCESSORS else 1
        with ExitStack() as held:
            if self._attribute(CAPABILITY_MAJOR) >= BF16_CAPABILITY:
                name, n, size, data, module = GEMM_BF16, BF16_N // halved, 2, bf16(), ptx.gemm_bf16_module
                grid = (n // ptx.BF16_BLOCK, n // ptx.BF16_BLOCK)
            else:
                name, n, size, data, module = GEMM_FP32, FP32_N // halved, 4, fp32(), ptx.gemm_fp32_module
                grid = (n // ptx.FP32_BLOCK_COLUMNS, n // ptx.FP32_BLOCK_ROWS)
            function = self._function(held, module(n), name)
            factors = [self._filled(held, size * n * n, data) for _ in range(2)]
            result = self._memory(held, 4 * n * n)
            arguments = [Address(address) for address in (*factors, result)]
            launch = Launch(self._driver, function, grid, ptx.THREADS, arguments)
            yield Work(name, self._on_device_clock(held, launch), 2 * n**3, FLOPS)

    @contextmanager
    def _triad(self) -> Iterator[Work]:
        size = stream_b(self._driver.value("cuDeviceTotalMem_v2", c_size_t, self._device))
        with ExitStack() as held:
            function = self._function(held, ptx.basic_module(), "triad")
            sources = [self._filled(held, size, fp32()) for _ in range(2)]
            addresses = [Address(address) for address in (self._memory(held, size), *sources)]
            grid = (size // (4 * ptx.TRIAD_FLOATS * ptx.TRIAD_THREADS), 1)
            launch = Launch(self._driver, function, grid, ptx.TRIAD_THREADS, [*addresses, c_float(SCALE)])
            yield Work("triad", self._on_device_clock(held, launch), 3 * size, BYTES)

    @contextmanager
    def _copy(self, direction: str) -> Iterator[Work]:
        """Give a copy from or to memory of the host that cannot be paged out."""
        call = self._driver.call
        with ExitStack() as held:
            there = self._filled(held, COPY_B, fp32())
            here = self._host_memory(held, COPY_B)
            steps: dict[str, Callable[[], None]] = {
                "h2d": lambda: call("cuMemcpyHtoDAsync_v2", there, here, COPY_B, None),
                "d2h": lambda: call("cuMemcpyDtoHAsync_v2", here, there, COPY_B, None),
            }
            steps["d2h"]()  # the host's memory, too, holds normal numbers
            yield Work(direction, self._on_device_clock(held, steps[direction]), COPY_B, BYTES)

    @contextmanager
    def _empty_launch(self) -> Iterator[Work]:
        with ExitStack() as held:
            function = self._function(held, ptx.basic_module(), "empty")
            launch = Launch(self._driver, function, (1, 1), 1, [])
            run = on_host_clock(launch, lambda: self._driver.call("cuCtxSynchronize"))
            yield Work("empty_launch", run, 1, TIMES)

    # --- means; whatever is taken is given back when `held` is left ---

    def _attribute(self, number: int) -> int:
        return int(self._driver.value("cuDeviceGetAttribute", c_int, number, self._device))

    def _function(self, held: ExitStack, text: str, name: str) -> int:
        module = self._driver.value("cuModuleLoadData", Handle, text.encode())
        held.callback(self._driver.call, "cuModuleUnload", module)
        return int(self._driver.value("cuModuleGetFunction", Handle, module, name.encode()))

    def _memory(self, held: ExitStack, size: int) -> int:
        address = self._driver.value("cuMemAlloc_v2", Address, size)
        held.callback(self._driver.call, "cuMemFree_v2", address)
        return int(address)

    def _host_memory(self, held: ExitStack, size: int) -> int:
        address = self._driver.value("cuMemAllocHost_v2", c_void_p, size)
        held.callback(self._driver.call, "cuMemFreeHost", address)
        return int(address)

    def _filled(self, held: ExitStack, size: int, pattern: bytes) -> int:
        """Return device memory that holds the pattern over and over, copied once and then doubled."""
        address = self._memory(held, size)
        first = repeated(pattern, min(size, MIB // len(pattern) * len(pattern)))
        self._driver.call("cuMemcpyHtoD_v2", address, first, len(first))
        done = len(first)
        while done < size:
            part = min(done, size - done)
            self._driver.call("cuMemcpyDtoD_v2", address + done, address, part)
            done += part
        return address

    def _on_device_clock(self, held: ExitStack, step: Callable[[], object]) -> Run:
        """Return what queues `step` k times between two events, and says how long the device took between them."""
        start, end = self._event(held), self._event(held)
        call, value = self._driver.call, self._driver.value

        def run(k: int) -> float:
            call("cuEventRecord", start, None)
            for _ in range(k):
                step()
            call("cuEventRecord", end, None)
            call("cuEventSynchronize", end)
            return float(value("cuEventElapsedTime", c_float, start, end)) / 1e3

        return run

    def _event(self, held: ExitStack) -> int:
        event = self._driver.value("cuEventCreate", Handle, 0)
        held.callback(self._driver.call, "cuEventDestroy_v2", event)
        return int(event)
