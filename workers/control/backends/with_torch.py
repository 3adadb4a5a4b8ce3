"""Devices through PyTorch, where the agent's environment has it: AMD's, TPUs and Neuron cores, the processor if asked.

PyTorch and what it brings are part of the backend's name, so that another version begins another series.
"""

from __future__ import annotations

import importlib
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from workers.control.backends.host import COPY_B, host_loop, on_host_clock, stream_b
from workers.control.backends.interface import Backend, UnavailableError, Work
from workers.control.normal import COUNT, numbers
from workers.control.pacing import Run
from workers.control.probes import BYTES, FLOPS, GEMM_BF16, GEMM_FP32, TIMES

N, N_PROCESSOR = 4096, 512
STREAM_B = 128 * 1024**2
"""Length of each array of `triad` where the device's memory is not told."""
SCALE = 0.5


def imported(name: str) -> Any:
    """Return a module that an agent need not have."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise UnavailableError(
            f"no_{name.partition('.')[0]}: the agent's environment cannot import it: {error}"
        ) from error


class Kept:
    """Holds the newest result: one that nobody has need not be worked out."""

    def put(self, result: Any) -> None:
        """Take the place of the one before."""
        self.result = result


class _Torch(Backend):
    """What is common to all devices that PyTorch works with."""

    gemm_name = GEMM_BF16
    n = N

    def __init__(self, index: int) -> None:
        self._torch = imported("torch")
        self._device = self._found(index)
        self._pattern = self._torch.tensor(numbers(), dtype=self._torch.float32)

    @abstractmethod
    def _found(self, index: int) -> Any:
        """Return PyTorch's device, and set the backend's name; UnavailableError where there is none."""

    @abstractmethod
    def _run(self, step: Callable[[], object]) -> Run:
        """Return what queues `step` k times, waits, and says how long the device took."""

    @abstractmethod
    def _wait(self) -> None:
        """Return when all that was queued is done."""

    def _stream_b(self) -> int:
        return STREAM_B

    def work(self, probe: str) -> AbstractContextManager[Work]:
        """Return the probe; every one runs on every device but for copies to a processor."""
        ready: dict[str, Callable[[], AbstractContextManager[Work]]] = {
            "gemm": self._gemm,
            "triad": self._triad,
            "h2d": lambda: self._copy("h2d"),
            "d2h": lambda: self._copy("d2h"),
            "empty_launch": self._empty_launch,
            "host_loop": host_loop,
        }
        return ready[probe]()

    def _normal(self, *shape: int, dtype: Any) -> Any:
        """Return normal numbers on the device, the same ones over and over."""
        count = 1
        for length in shape:
            count *= length
        values = self._pattern.repeat(count // COUNT + 1)[:count].reshape(shape)
        return values.to(dtype).to(self._device)

    def _into_one_place(
        self, function: Callable[..., Any], *factors: Any, **options: Any
    ) -> Callable[[], Any]:
        """Return a step that works out a function of `factors` into memory that was taken once."""
        out = self._torch.empty_like(factors[0])
        return lambda: function(*factors, **options, out=out)

    @contextmanager
    def _gemm(self) -> Iterator[Work]:
        torch = self._torch
        dtype = torch.bfloat16 if self.gemm_name == GEMM_BF16 else torch.float32
        factors = [self._normal(self.n, self.n, dtype=dtype) for _ in range(2)]
        step = self._into_one_place(torch.mm, *factors)
        yield Work(self.gemm_name, self._run(step), 2 * self.n**3, FLOPS)

    @contextmanager
    def _triad(self) -> Iterator[Work]:
        torch, size = self._torch, self._stream_b()
        sources = [self._normal(size // 4, dtype=torch.float32) for _ in range(2)]
        step = self._into_one_place(torch.add, *sources, alpha=SCALE)
        yield Work("triad", self._run(step), 3 * size, BYTES)

    @contextmanager
    def _copy(self, direction: str) -> Iterator[Work]:
        there = self._normal(COPY_B // 4, dtype=self._torch.float32)
        here = self._pinned(there.cpu())
        steps: dict[str, Callable[[], object]] = {
            "h2d": lambda: there.copy_(here, non_blocking=True),
            "d2h": lambda: here.copy_(there, non_blocking=True),
        }
        yield Work(direction, self._run(steps[direction]), COPY_B, BYTES)

    def _pinned(self, tensor: Any) -> Any:
        return tensor

    @contextmanager
    def _empty_launch(self) -> Iterator[Work]:
        """Give the smallest thing that the device can be asked for: to set one number to zero."""
        one = self._normal(1, dtype=self._torch.float32)
        yield Work("empty_launch", on_host_clock(one.zero_, self._wait), 1, TIMES)


class TorchGpu(_Torch):
    """A GPU: AMD's, through ROCm, or NVIDIA's."""

    def _found(self, index: int) -> Any:
        torch = self._torch
        if not torch.cuda.is_available():
            raise UnavailableError("no_device: PyTorch sees no GPU; its build may be for another maker's")
        version = torch.version.hip or torch.version.cuda
        self.name = f"torch-{torch.__version__} {'rocm' if torch.version.hip else 'cuda'}-{version}"
        torch.cuda.set_device(index)
        return torch.device("cuda", index)

    def close(self) -> None:
        """Give the memory back that PyTorch keeps."""
        self._torch.cuda.empty_cache()

    def _stream_b(self) -> int:
        return stream_b(self._torch.cuda.get_device_properties(self._device).total_memory)

    def _pinned(self, tensor: Any) -> Any:
        return tensor.pin_memory()

    def _wait(self) -> None:
        self._torch.cuda.synchronize()

    def _run(self, step: Callable[[], object]) -> Run:
        start, end = (self._torch.cuda.Event(enable_timing=True) for _ in range(2))

        def run(k: int) -> float:
            start.record()
            for _ in range(k):
                step()
            end.record()
            end.synchronize()
            return float(start.elapsed_time(end)) / 1e3

        return run


class TorchProcessor(_Torch):
    """One thread of the host's processor, where somebody asks for PyTorch in place of `stdlib`."""

    gemm_name = GEMM_FP32
    n = N_PROCESSOR

    def _found(self, index: int) -> Any:
        self._torch.set_num_threads(1)  # two threads on two busy cores wait for each other most of the time
        self.name = f"torch-{self._torch.__version__} cpu"
        return self._torch.device("cpu")

    def work(self, probe: str) -> AbstractContextManager[Work]:
        """Return the probe; there is no memory to copy to but the host's own."""
        if probe in ("h2d", "d2h"):
            raise UnavailableError("no_device_memory: a processor works on the host's own memory")
        return super().work(probe)

    def _wait(self) -> None:
        return

    def _run(self, step: Callable[[], object]) -> Run:
        return on_host_clock(step)


class TorchXla(_Torch):
    """A device that PyTorch reaches through XLA, where work is noted down first and done at each step's end."""

    hardware: str
    """What XLA calls it."""

    def _found(self, index: int) -> Any:
        xla, self._model = imported("torch_xla"), imported("torch_xla.core.xla_model")
        found = self._model.get_xla_supported_devices() or []
        if index >= len(found):
            raise UnavailableError(f"no_device: XLA shows {len(found)} devices, none at {index}")
        device = self._torch.device(found[index])
        hardware = self._model.xla_device_hw(device)
        if hardware != self.hardware:
            raise UnavailableError(f"no_device: XLA works on {hardware}, not on {self.hardware}")
        self.name = f"torch-{self._torch.__version__} xla-{xla.__version__}"
        self._launch = getattr(xla, "sync", self._model.mark_step)
        return device

    def _into_one_place(
        self, function: Callable[..., Any], *factors: Any, **options: Any
    ) -> Callable[[], Any]:
        """Return a step whose newest result is kept: XLA places results itself, and drops what nobody has."""
        kept = Kept()
        return lambda: kept.put(function(*factors, **options))

    def _wait(self) -> None:
        self._model.wait_device_ops()

    def _run(self, step: Callable[[], object]) -> Run:
        def launched() -> None:
            step()
            self._launch()

        return on_host_clock(launched, self._wait)

    @contextmanager
    def _copy(self, direction: str) -> Iterator[Work]:
        """Give a copy with one sum on the device: it waits for what came, and what is fetched is new each time."""
        there, kept = self._normal(COPY_B // 4, dtype=self._torch.float32), Kept()
        here = there.cpu()
        steps: dict[str, Callable[[], object]] = {
            "h2d": lambda: kept.put(here.to(self._device) + 1),
            "d2h": lambda: (there + 1).cpu(),
        }
        yield Work(direction, self._run(steps[direction]), COPY_B, BYTES)

    @contextmanager
    def _empty_launch(self) -> Iterator[Work]:
        one = self._normal(1, dtype=self._torch.float32)
        yield Work("empty_launch", self._run(one.zero_), 1, TIMES)


class TorchTpu(TorchXla):
    """A TPU."""

    hardware = "TPU"


class TorchNeuron(TorchXla):
    """A Neuron core."""

    hardware = "NEURON"
