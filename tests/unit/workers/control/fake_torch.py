"""A double of the little of PyTorch that the kit uses: it works nothing out, and keeps what was asked of the device.

Of a GPU it has a queue with a clock; of XLA also what is noted down until a step ends, and drops results that nobody
has, as XLA does.
"""

from __future__ import annotations

import sys
import weakref
from types import ModuleType, SimpleNamespace
from typing import Any

STEP_S = 2e-3


class FakeTensor:
    """Numbers by their count and place alone."""

    def __init__(
        self, torch: FakeTorch, shape: tuple[int, ...], dtype: str, place: str, note: str = ""
    ) -> None:
        self.torch, self.shape, self.dtype, self.place, self.note = torch, shape, dtype, place, note
        self.is_pinned = False

    @property
    def count(self) -> int:
        total = 1
        for length in self.shape:
            total *= length
        return total

    def _like(self, **changed: Any) -> FakeTensor:
        fields = {"shape": self.shape, "dtype": self.dtype, "place": self.place} | changed
        return FakeTensor(self.torch, **fields)

    def repeat(self, times: int) -> FakeTensor:
        return self._like(shape=(self.count * times,))

    def __getitem__(self, part: slice) -> FakeTensor:
        assert part.stop <= self.count
        return self._like(shape=(part.stop,))

    def reshape(self, shape: tuple[int, ...]) -> FakeTensor:
        reshaped = self._like(shape=shape)
        assert reshaped.count == self.count
        return reshaped

    def to(self, target: str) -> FakeTensor:
        if target in self.torch.dtypes:
            return self._like(dtype=target)
        self.torch.noted(f"{self.place} to {target}", self)
        return self._like(place=target)

    def cpu(self) -> FakeTensor:
        self.torch.fetched(self)
        return self._like(place="cpu")

    def pin_memory(self) -> FakeTensor:
        assert self.place == "cpu"
        pinned = self._like()
        pinned.is_pinned = True
        return pinned

    def copy_(self, other: FakeTensor, non_blocking: bool) -> None:
        assert non_blocking
        assert self.is_pinned or other.is_pinned
        self.torch.noted(f"copy {other.place} to {self.place}", self)

    def zero_(self) -> FakeTensor:
        self.torch.noted("zero", self)
        return self

    def __add__(self, number: float) -> FakeTensor:
        return self.torch.made("add", self)


class FakeTorch(ModuleType):
    """PyTorch with one GPU, or with XLA devices where `lazy` says what hardware they are."""

    __version__ = "9.9.9"
    bfloat16, float32 = "bfloat16", "float32"
    dtypes = ("bfloat16", "float32")

    def __init__(self, *, gpus: int = 1, hip: str | None = "6.4", lazy: str | None = None) -> None:
        super().__init__("torch")
        self.done: list[str] = []
        self.pending: list[tuple[str, weakref.ref[FakeTensor]]] = []
        self.clock_s = 0.0
        self.waited = 0
        self.lazy = lazy
        self.version = SimpleNamespace(hip=hip, cuda=None if hip else "13.0")
        self.cuda = SimpleNamespace(
            is_available=lambda: gpus > 0,
            set_device=lambda index: self.done.append(f"device {index}"),
            get_device_properties=lambda _: SimpleNamespace(total_memory=192 * 1024**3),
            synchronize=self._wait,
            empty_cache=lambda: self.done.append("emptied"),
            Event=lambda enable_timing: FakeEvent(self, enable_timing),
        )

    def device(self, name: str, index: int = 0) -> str:
        return name if ":" in name or name == "cpu" else f"{name}:{index}"

    def tensor(self, values: list[float], dtype: str) -> FakeTensor:
        return FakeTensor(self, (len(values),), dtype, "cpu")

    def empty_like(self, tensor: FakeTensor) -> FakeTensor:
        return tensor._like()

    def set_num_threads(self, count: int) -> None:
        self.done.append(f"{count} threads")

    def mm(self, left: FakeTensor, right: FakeTensor, out: FakeTensor | None = None) -> FakeTensor:
        assert left.shape[1] == right.shape[0]
        return self.made("mm", left, out)

    def add(
        self, left: FakeTensor, right: FakeTensor, alpha: float, out: FakeTensor | None = None
    ) -> FakeTensor:
        assert left.shape == right.shape
        return self.made(f"add {alpha}", left, out)

    # --- the device ---

    def made(self, note: str, like: FakeTensor, out: FakeTensor | None = None) -> FakeTensor:
        result = like._like() if out is None else out
        self.noted(note, result)
        return result

    def noted(self, note: str, result: FakeTensor) -> None:
        if self.lazy:
            self.pending.append((note, weakref.ref(result)))
        else:
            self._do(note)

    def fetched(self, tensor: FakeTensor) -> None:
        self.step()
        self._do("fetch")

    def step(self) -> None:
        """Do what was noted down and is still wanted."""
        for note, result in self.pending:
            if result() is not None:
                self._do(note)
        self.pending.clear()

    def _do(self, note: str) -> None:
        self.done.append(note)
        self.clock_s += STEP_S

    def _wait(self) -> None:
        self.waited += 1

    # --- XLA's own modules ---

    def install(self, monkeypatch: Any) -> FakeTorch:
        """Have `import torch` and what belongs to it give this one."""
        modules: dict[str, Any] = {"torch": self}
        if self.lazy:
            xla, core, model = ModuleType("torch_xla"), ModuleType("core"), ModuleType("xla_model")
            xla.__version__, xla.sync = "9.9", self.step
            model.get_xla_supported_devices = lambda: ["xla:0", "xla:1"]
            model.xla_device_hw = lambda _: self.lazy
            model.mark_step, model.wait_device_ops = self.step, self._wait
            modules |= {"torch_xla": xla, "torch_xla.core": core, "torch_xla.core.xla_model": model}
        for name, module in modules.items():
            monkeypatch.setitem(sys.modules, name, module)
        return self


class FakeEvent:
    """An event in the device's queue."""

    def __init__(self, torch: FakeTorch, enable_timing: bool) -> None:
        assert enable_timing
        self._torch = torch
        self.at_s: float | None = None
        self._is_waited_for = False

    def record(self) -> None:
        self.at_s = self._torch.clock_s

    def synchronize(self) -> None:
        self._is_waited_for = True

    def elapsed_time(self, end: FakeEvent) -> float:
        assert end._is_waited_for
        return (end.at_s - self.at_s) * 1e3
