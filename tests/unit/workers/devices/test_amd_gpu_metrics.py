import pytest

from tests.factories.amdgpu import table
from workers.devices.amd.gpu_metrics import BACKWARDS, Cycles, Residencies, read_metrics


def looked(*counts, names=("ppt",)):
    residencies = Residencies()
    for second, (total, held) in enumerate(counts):
        spent = residencies.look(second * 10**9, Cycles(total, dict.fromkeys(names, held)))
    return spent["ppt"], residencies.reasons


def test_counters_that_wrap_go_on():
    assert looked((2**32 - 500, 2**32 - 100), (500, 150)) == (250_000_000, ["ppt"])


def test_counters_that_begin_anew_add_no_time():
    assert looked((5000, 400), (1000, 0)) == (0, [])
    assert looked((5000, 400), (1000, 0), (2000, 500)) == (500_000_000, ["ppt"])
    assert looked((0, 0), (BACKWARDS, BACKWARDS)) == (0, [])


def test_a_table_that_did_not_move_adds_no_time_and_keeps_the_reasons():
    assert looked((1000, 0), (2000, 500), (2000, 500)) == (500_000_000, ["ppt"])
    assert looked((1000, 0), (1000, 0)) == (0, None)


@pytest.mark.parametrize(
    ("raw", "energy_j", "reasons"),
    [
        (table(80, 1, 0, status=("I", 68, 0)), None, []),
        (table(96, 1, 1, status=("I", 68, 4), energy=("Q", 24, 2**16)), None, ["throttled"]),
        (table(104, 1, 2, hbm=("H", 88, 40), energy=("Q", 24, 2**16)), 1.0, None),
        (table(120, 1, 3, status=("I", 68, 4), causes=("Q", 112, 1 << 36 | 1)), None, ["ppt", "thermal"]),
        (table(120, 1, 3, status=("I", 68, 4)), None, ["throttled"]),
        (table(120, 1, 3, causes=("Q", 112, 0)), None, []),
        (table(288, 1, 4, energy=("Q", 24, 2**15), status=("I", 40, 0)), 0.5, None),
        (table(360, 1, 5, energy=("Q", 88, 2**15), status=("I", 104, 0)), 0.5, None),
        (table(384, 1, 6, energy=("Q", 88, 2**15)), 0.5, None),
        (table(1664, 1, 6, energy=("Q", 16, 2**15)), 0.5, None),
        (table(2208, 1, 7, energy=("Q", 24, 2**15)), 0.5, None),
        (table(3872, 1, 8, energy=("Q", 24, 2**15)), 0.5, None),
    ],
)
def test_tables_of_each_version_tell_energy_and_reasons_where_they_have_them(raw, energy_j, reasons):
    metrics = read_metrics(raw)
    assert (metrics.energy_j, metrics.throttle_reasons) == (energy_j, reasons)


@pytest.mark.parametrize(
    ("size", "content", "clocks", "cycles"),
    [(384, 6, 336, 104), (1664, 6, 264, 32), (2208, 7, 296, 40), (3872, 8, 296, 40)],
)
def test_tables_of_newer_versions_count_cycles(size, content, clocks, cycles):
    raw = table(
        size, 1, content, total=("I", cycles, 9), ppt=("I", cycles + 8, 4), clock=("H", clocks + 14, 1500)
    )
    metrics = read_metrics(raw)
    assert metrics.cycles == Cycles(9, {"ppt": 4})
    assert metrics.sm_clock_hz == 1.5e9


@pytest.mark.parametrize(
    "raw",
    [b"", b"\x01", table(120, 1, 3)[:100], table(128, 1, 3), table(120, 2, 3), table(400, 1, 9), bytes(4)],
)
def test_a_table_that_is_cut_or_of_another_version_is_left_alone(raw):
    assert read_metrics(raw) is None
