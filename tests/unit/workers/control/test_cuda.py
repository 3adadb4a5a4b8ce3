"""The backend of NVIDIA devices against a double of their driver, which sees its calls as the real one would."""

import gc

import pytest

from tests.unit.workers.control.fake_driver import COPY_B_PER_S, LAUNCH_S, FakeDriver
from workers.control.backends.cuda import BF16_N, FP32_N, SCALE, Cuda
from workers.control.backends.driver import PROTOTYPES, Driver
from workers.control.backends.host import COPY_B, GIB, MIB, stream_b
from workers.control.backends.interface import UnavailableError
from workers.control.probes import FULL


def opened(**device):
    fake = FakeDriver(**device)
    return fake, Cuda(0, Driver(fake))


def test_every_probe_gives_back_all_that_it_took():
    fake, backend = opened()
    for probe in FULL:
        with backend.work(probe) as work:
            gc.collect()
            assert work.run(3) > 0
        assert fake.held == {"contexts": 1}
    backend.close()
    assert fake.held == {}
    assert fake.starts == 1


@pytest.mark.parametrize(
    ("device", "name", "n", "size", "block"),
    [
        ({"capability": 9, "multiprocessors": 132}, "gemm_bf16", BF16_N, 2, (128, 128)),
        ({"capability": 8, "multiprocessors": 8}, "gemm_bf16", BF16_N // 2, 2, (128, 128)),
        ({"capability": 7, "multiprocessors": 80}, "gemm_fp32", FP32_N, 4, (128, 64)),
        ({"capability": 5, "multiprocessors": 1}, "gemm_fp32", FP32_N // 2, 4, (128, 64)),
    ],
)
def test_the_product_is_as_large_and_as_fine_as_the_device_can_do(device, name, n, size, block):
    fake, backend = opened(**device)
    with backend.work("gemm") as work:
        assert (work.name, work.amount, work.unit) == (name, 2 * n**3, "FLOP/s")
        held = [fake.memory[address] for address in fake.memory]
        assert held == [size * n * n, size * n * n, 4 * n * n]
        addresses = list(fake.memory)
        assert work.run(4) == pytest.approx(4 * LAUNCH_S)
    launched = set(map(str, fake.launches))
    assert len(launched) == 1
    assert len(fake.launches) == 4
    first = fake.launches[0]
    assert first.kernel == name
    assert first.grid == (n // block[0], n // block[1], 1)
    assert first.block == (128, 1, 1)
    assert first.arguments == dict(zip("abc", addresses, strict=True))


def test_triad_streams_arrays_that_follow_from_the_memory():
    fake, backend = opened(memory_b=8 * GIB)
    with backend.work("triad") as work:
        assert list(fake.memory.values()) == [128 * MIB] * 3
        assert (work.amount, work.unit) == (3 * 128 * MIB, "B/s")
        out, left, right = fake.memory
        left, right, out = sorted((out, left, right))
        work.run(1)
    arguments = fake.launches[0].arguments
    assert arguments == {"out": out, "left": left, "right": right, "scale": SCALE}
    assert fake.launches[0].grid == (128 * MIB // 16 // 256, 1, 1)
    assert fake.launches[0].block == (256, 1, 1)


@pytest.mark.parametrize("direction", ["h2d", "d2h"])
def test_copies_go_one_way_through_memory_that_stays_in_place(direction):
    fake, backend = opened()
    with backend.work(direction) as work:
        fake.copies.clear()
        assert work.run(2) == pytest.approx(2 * COPY_B / COPY_B_PER_S, rel=1e-5)
    assert fake.copies == [(direction, COPY_B)] * 2
    assert (work.amount, work.unit) == (COPY_B, "B/s")


def test_an_empty_launch_is_timed_by_the_host_with_all_launches_done():
    fake, backend = opened()
    with backend.work("empty_launch") as work:
        assert work.run(5) > 0
    assert [(one.kernel, one.grid, one.block, one.arguments) for one in fake.launches] == [
        ("empty", (1, 1, 1), (1, 1, 1), {})
    ] * 5


def test_memory_is_filled_to_the_last_byte_from_one_transfer():
    fake, backend = opened()
    with backend.work("h2d"):
        filled = [size for kind, size in fake.copies if kind in ("fill", "double")]
    assert sum(filled) == COPY_B
    assert [kind for kind, _ in fake.copies].count("fill") == 1


def test_a_device_without_enough_memory_says_so_and_keeps_nothing():
    fake, backend = opened(memory_b=100 * MIB)
    with pytest.raises(UnavailableError, match="cuMemAlloc_v2 failed with CUDA_ERROR_OUT_OF_MEMORY"):
        backend.work("triad").__enter__()
    assert fake.held == {"contexts": 1}


def test_an_error_that_the_driver_has_no_name_for_is_told_by_its_number():
    with pytest.raises(UnavailableError, match="cuDeviceGet failed with status 101"):
        Cuda(1, Driver(FakeDriver()))


def test_without_a_driver_the_reason_names_the_library(monkeypatch):
    monkeypatch.setattr("workers.control.backends.driver.LIBRARY", "libnothing.so.1")
    with pytest.raises(UnavailableError, match=r"no_driver: libnothing\.so\.1 cannot be loaded"):
        Driver()


def test_a_driver_without_one_of_the_functions_is_refused_by_name():
    fake = FakeDriver()
    del fake._functions["cuLaunchKernel"]
    with pytest.raises(UnavailableError, match="has no cuLaunchKernel"):
        Driver(fake)


def test_the_double_has_every_function_with_the_arguments_that_the_kit_gives():
    functions = FakeDriver()._functions
    assert functions.keys() == PROTOTYPES.keys()
    for name, takes in PROTOTYPES.items():
        assert len(functions[name].argtypes or ()) == len(takes), name


@pytest.mark.parametrize(
    ("memory_b", "length_b"),
    [
        (2 * GIB, 64 * MIB),
        (int(5.8 * GIB), 64 * MIB),
        (int(7.4 * GIB), 128 * MIB),
        (24 * GIB, 128 * MIB),
        (int(31.7 * GIB), 256 * MIB),
        (140 * GIB, 256 * MIB),
    ],
)
def test_arrays_are_larger_on_larger_devices_whatever_the_driver_keeps_for_itself(memory_b, length_b):
    assert stream_b(memory_b) == length_b
    assert 10 * 3 * length_b <= memory_b or memory_b < 7 * GIB
