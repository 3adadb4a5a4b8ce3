import struct
from statistics import fmean, stdev

import numpy as np

from tests.unit.workers.control.ptx_machine import from_bf16
from workers.control import normal


def test_numbers_are_normal_and_the_same_every_time():
    drawn = normal.numbers()
    assert drawn == normal.numbers()
    assert abs(fmean(drawn)) < 0.03
    assert 0.98 < stdev(drawn) < 1.02


def test_their_count_is_prime():
    assert all(normal.COUNT % divisor for divisor in range(2, int(normal.COUNT**0.5) + 1))


def test_formats_have_the_same_numbers_as_far_as_they_can():
    wanted = np.array(normal.numbers())
    fp32 = np.frombuffer(normal.fp32(), dtype=np.float32)
    bf16 = from_bf16(np.frombuffer(normal.bf16(), dtype=np.uint16))
    assert np.allclose(fp32, wanted, rtol=1e-6, atol=0)
    assert np.allclose(bf16, wanted, rtol=2**-8, atol=0)


def test_bf16_is_rounded_to_nearest(monkeypatch):
    monkeypatch.setattr(normal, "fp32", lambda: struct.pack("<3I", 0x3F808001, 0x3F807FFF, 0xBF80C000))
    assert struct.unpack("<3H", normal.bf16.__wrapped__()) == (0x3F81, 0x3F80, 0xBF81)


def test_a_pattern_is_repeated_to_the_length_asked_for():
    assert normal.repeated(b"abc", 7) == b"abcabca"
    assert normal.repeated(b"abc", 2) == b"ab"
