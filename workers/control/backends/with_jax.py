"""TPUs through JAX, where the agent's environment has it; its version is part of the backend's name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from workers.control.backends.host import COPY_B, host_loop, on_host_clock
from workers.control.backends.interface import Backend, UnavailableError, Work
from workers.control.backends.with_torch import SCALE, STREAM_B, Kept, N, imported
from workers.control.normal import fp32, repeated
from workers.control.probes import BYTES, FLOPS, GEMM_BF16, TIMES


class Jax(Backend):
    """One device of the platform named."""

    def __init__(self, index: int, platform: str = "tpu", n: int = N, stream_b: int = STREAM_B) -> None:
        """Name the device; the sizes are for tests."""
        self._jax, self._numpy, self._math = imported("jax"), imported("numpy"), imported("jax.numpy")
        try:
            found = self._jax.devices(platform)
        except RuntimeError as error:  # what JAX raises where it has no such platform
            raise UnavailableError(f"no_device: {error}") from error
        if index >= len(found):
            raise UnavailableError(f"no_device: JAX shows {len(found)} devices, none at {index}")
        self._device = found[index]
        self._n, self._stream_b = n, stream_b
        self.name = f"jax-{self._jax.__version__} {platform}"

    def work(self, probe: str) -> AbstractContextManager[Work]:
        """Return the probe; every one runs."""
        ready: dict[str, Callable[[], AbstractContextManager[Work]]] = {
            "gemm": self._gemm,
            "triad": self._triad,
            "h2d": self._to_device,
            "d2h": self._to_host,
            "empty_launch": self._empty_launch,
            "host_loop": host_loop,
        }
        return ready[probe]()

    @contextmanager
    def _gemm(self) -> Iterator[Work]:
        n = self._n
        factors = [self._there(n * n).astype(self._math.bfloat16).reshape(n, n) for _ in range(2)]
        yield Work(GEMM_BF16, self._queued(self._math.matmul, *factors), 2 * n**3, FLOPS)

    @contextmanager
    def _triad(self) -> Iterator[Work]:
        sources = [self._there(self._stream_b // 4) for _ in range(2)]
        run = self._queued(lambda left, right: left + SCALE * right, *sources)
        yield Work("triad", run, 3 * self._stream_b, BYTES)

    @contextmanager
    def _to_device(self) -> Iterator[Work]:
        here = self._here(COPY_B // 4)
        run = on_host_clock(lambda: self._jax.device_put(here, self._device).block_until_ready())
        yield Work("h2d", run, COPY_B, BYTES)

    @contextmanager
    def _to_host(self) -> Iterator[Work]:
        """Give a copy of a sum that the device has just made: what was fetched once is not fetched again."""
        there, add_one = self._there(COPY_B // 4), self._jax.jit(lambda values: values + 1)
        run = on_host_clock(lambda: self._numpy.asarray(add_one(there)))
        yield Work("d2h", run, COPY_B, BYTES)

    @contextmanager
    def _empty_launch(self) -> Iterator[Work]:
        yield Work("empty_launch", self._queued(lambda one: one + 1, self._there(1)), 1, TIMES)

    def _here(self, count: int) -> Any:
        return self._numpy.frombuffer(repeated(fp32(), 4 * count), dtype=self._numpy.float32)

    def _there(self, count: int) -> Any:
        return self._jax.device_put(self._here(count), self._device)

    def _queued(self, function: Callable[..., Any], *arguments: Any) -> Callable[[int], float]:
        """Return what queues a compiled function k times and waits for the last, which is done last."""
        compiled, kept = self._jax.jit(function), Kept()
        return on_host_clock(lambda: kept.put(compiled(*arguments)), lambda: kept.result.block_until_ready())
