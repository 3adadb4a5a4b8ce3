"""The host's processor, with Python's standard library alone: an agent has no other packages for sure.

A product of matrices in the interpreter is far from what a processor can do, and says how fast it runs all the same:
its clock, its caches, and who else is on it. Bandwidth is the C library's `memcpy`.
"""

from __future__ import annotations

import ctypes
import hashlib
import mmap
import os
import platform
import re
import sys
from array import array
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from operator import mul
from pathlib import Path

from workers.control.backends.host import MIB, host_loop, on_host_clock
from workers.control.backends.interface import Backend, UnavailableError, Work
from workers.control.normal import fp32, repeated
from workers.control.probes import BYTES, FLOPS, GEMM_FP32, TIMES

N = 32
"""Rows of the matrices; both lie in a first or second level cache, as objects of the interpreter."""
CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
SMALLEST_B, LARGEST_B = 64 * MIB, 128 * MIB
MEMORY_SHARE = 16

Matrix = list[list[float]]


class Stdlib(Backend):
    """One thread of the host."""

    def __init__(self, index: int = 0) -> None:
        self.name = f"stdlib {_interpreter()}"

    def work(self, probe: str) -> AbstractContextManager[Work]:
        """Return the probe; there is no memory to copy to but the host's own."""
        if probe in ("h2d", "d2h"):
            raise UnavailableError("no_device_memory: a processor works on the host's own memory")
        ready = {"gemm": _gemm, "triad": _copy, "empty_launch": _system_call, "host_loop": host_loop}
        return ready[probe]()


@contextmanager
def _gemm() -> Iterator[Work]:
    drawn = array("f", fp32()).tolist()
    left, right = _matrix(drawn[: N * N]), _matrix(drawn[N * N : 2 * N * N])
    yield Work(GEMM_FP32, on_host_clock(lambda: product(left, right)), 2 * N**3, FLOPS)


def _matrix(values: list[float]) -> Matrix:
    return [values[start : start + N] for start in range(0, N * N, N)]


def product(rows: Matrix, columns: Matrix) -> Matrix:
    """Return the product of two matrices, given by rows and by columns; the sums run in C, without bytecode."""
    return [[sum(map(mul, row, column)) for column in columns] for row in rows]


@contextmanager
def _copy() -> Iterator[Work]:
    """Give a copy between two arrays that no cache holds; counted is what is read and what is written."""
    size = copy_b(last_level_cache_b(), memory_b())
    with mmap.mmap(-1, size) as source, mmap.mmap(-1, size) as target:
        chunk = repeated(fp32(), MIB)
        for start in range(0, size, MIB):
            source[start : start + MIB] = chunk
        views = [(ctypes.c_char * size).from_buffer(part) for part in (target, source)]
        to, of = map(ctypes.addressof, views)
        memcpy = ctypes.CDLL(None).memcpy
        memcpy.argtypes, memcpy.restype = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t), ctypes.c_void_p
        try:
            yield Work("triad", on_host_clock(lambda: memcpy(to, of, size)), 2 * size, BYTES)
        finally:
            views.clear()  # a mapping that something still looks at cannot be closed


def copy_b(cache_b: int | None, memory: int | None) -> int:
    """Return how long each array is [B]: twice the last-level cache, within bounds, and 1/16 of the memory at most.

    In whole MiB, at least one, whatever the cache's size is.
    """
    size = min(max(2 * (cache_b or 0), SMALLEST_B), LARGEST_B)
    while memory is not None and size > MIB and size * MEMORY_SHARE > memory:
        size //= 2
    return max(size // MIB, 1) * MIB


@contextmanager
def _system_call() -> Iterator[Work]:
    """Give the least that a program can ask of the kernel: a processor has no queue to launch into."""
    yield Work("empty_launch", on_host_clock(os.getppid), 1, TIMES)


def last_level_cache_b() -> int | None:
    """Return the size of the first processor's largest cache [B], None where the kernel does not tell."""
    sizes = [_text(path) for path in CACHES.glob("index*/size")]
    kibibytes = [int(size[:-1]) for size in sizes if re.fullmatch(r"\d+K", size)]
    return max(kibibytes) * 1024 if kibibytes else None


def memory_b() -> int | None:
    """Return the host's memory [B], None where the kernel does not tell."""
    found = re.search(r"^MemTotal:\s+(\d+) kB$", _text(Path("/proc/meminfo")), re.MULTILINE)
    return int(found[1]) * 1024 if found else None


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _interpreter() -> str:
    """Return the interpreter's and the C library's versions, and a digest of how the interpreter was built."""
    version = ".".join(map(str, sys.version_info[:3]))
    build = hashlib.sha256(sys.version.encode()).hexdigest()[:8]
    libc = "-".join(filter(None, platform.libc_ver())) or "unknown-libc"
    return f"{sys.implementation.name}-{version}-{build} {libc}"
