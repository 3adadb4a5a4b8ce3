"""The numbers that probes work on: normal ones, always the same, in the formats that devices take.

What a chip draws, and with it its clock, depends on the bits that change; zeros would be a lighter load than any model.
"""

from __future__ import annotations

import random
from array import array
from functools import cache

SEED = 20260101
COUNT = 16_381
"""A prime, so that no row of a matrix is like the one above it when the numbers are repeated."""


def numbers(count: int = COUNT) -> list[float]:
    """Return the first of them: mean 0, variance 1."""
    generator = random.Random(SEED)
    return [generator.gauss(0.0, 1.0) for _ in range(count)]


@cache
def fp32() -> bytes:
    """Return all of them, four bytes each."""
    return array("f", numbers()).tobytes()


@cache
def bf16() -> bytes:
    """Return all of them in bf16: the upper half of fp32, rounded to nearest."""
    words = memoryview(fp32()).cast("I")
    return array("H", ((word + 0x8000) >> 16 for word in words)).tobytes()


def repeated(pattern: bytes, size: int) -> bytes:
    """Return `size` bytes of the pattern over and over."""
    return (pattern * (size // len(pattern) + 1))[:size]
