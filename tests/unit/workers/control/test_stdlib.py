import sys

import numpy as np
import pytest

from workers.control.backends import stdlib
from workers.control.backends.host import GIB, MIB
from workers.control.backends.interface import UnavailableError
from workers.control.backends.stdlib import N, Stdlib, copy_b, last_level_cache_b, memory_b, product


@pytest.mark.parametrize(
    ("probe", "name", "unit"),
    [
        ("gemm", "gemm_fp32", "FLOP/s"),
        ("triad", "triad", "B/s"),
        ("empty_launch", "empty_launch", "1/s"),
        ("host_loop", "host_loop", "1/s"),
    ],
)
def test_a_processor_runs_its_probes_and_says_how_long_they_took(monkeypatch, probe, name, unit):
    monkeypatch.setattr(stdlib, "LARGEST_B", MIB)
    monkeypatch.setattr(stdlib, "SMALLEST_B", MIB)
    with Stdlib().work(probe) as work:
        assert (work.name, work.unit) == (name, unit)
        assert work.run(2) > 0


@pytest.mark.parametrize("probe", ["h2d", "d2h"])
def test_a_processor_has_no_memory_to_copy_to(probe):
    with pytest.raises(UnavailableError, match="no_device_memory: "):
        Stdlib().work(probe)


def test_the_product_is_one():
    rows = [[1.0, 2.0], [3.0, 4.0]]
    columns = [[5.0, 7.0], [6.0, 8.0]]
    assert product(rows, columns) == (np.array(rows) @ np.array(columns).T).tolist()


def test_the_amount_of_a_product_counts_multiplications_and_additions():
    with Stdlib().work("gemm") as work:
        assert work.amount == 2 * N**3


def test_a_copy_moves_all_of_it_and_counts_both_ways(monkeypatch):
    monkeypatch.setattr(stdlib, "LARGEST_B", 2 * MIB)
    monkeypatch.setattr(stdlib, "SMALLEST_B", 2 * MIB)
    copied = []
    monkeypatch.setattr(stdlib.mmap, "mmap", lambda _, size: copied.append(Block(size)) or copied[-1])
    with Stdlib().work("triad") as work:
        work.run(1)
        assert work.amount == 2 * 2 * MIB
    source, target = (block.content for block in copied)
    assert len(source) == 2 * MIB
    assert source == target
    assert any(source)


class Block(bytearray):
    """A mapping that can still be looked at when it is closed."""

    def __init__(self, size):
        super().__init__(size)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.content = bytes(self)


@pytest.mark.parametrize(
    ("cache_b", "memory", "length_b"),
    [
        (None, None, 64 * MIB),
        (8 * MIB, 64 * GIB, 64 * MIB),
        (48 * MIB, 64 * GIB, 96 * MIB),
        (480 * MIB, 512 * GIB, 128 * MIB),
        (480 * MIB, 2 * GIB, 128 * MIB),
        (480 * MIB, 2 * GIB - 1, 64 * MIB),
        (8 * MIB, 100 * MIB, 4 * MIB),
        (34_560 * 1024, 64 * GIB, 67 * MIB),
        (34_560 * 1024, 1 * GIB, 33 * MIB),
        (None, 1, 1 * MIB),
    ],
)
def test_copies_are_larger_than_the_cache_and_small_beside_the_memory(cache_b, memory, length_b):
    assert copy_b(cache_b, memory) == length_b


def test_the_cache_is_the_largest_that_the_kernel_tells(tmp_path, monkeypatch):
    monkeypatch.setattr(stdlib, "CACHES", tmp_path)
    assert last_level_cache_b() is None
    for index, size in enumerate(("48K", "2048K", "36864K", "unknown")):
        folder = tmp_path / f"index{index}"
        folder.mkdir()
        (folder / "size").write_text(f"{size}\n")
    assert last_level_cache_b() == 36 * MIB


def test_the_memory_is_what_this_host_has():
    assert memory_b() > 64 * MIB


def test_the_name_tells_all_that_may_move_it_but_the_machine(monkeypatch):
    name = Stdlib().name
    version = ".".join(map(str, sys.version_info[:3]))
    assert name.startswith(f"stdlib {sys.implementation.name}-{version}-")
    monkeypatch.setattr(sys, "version", "the same version, built anew")
    assert Stdlib().name != name
    assert Stdlib().name.startswith(f"stdlib {sys.implementation.name}-{version}-")
