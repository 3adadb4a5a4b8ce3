import pytest

from app.integrations.dcgm.fields import FIELDS
from app.integrations.dcgm.reading import reading
from app.integrations.dcgm.series import Source


def told(metric, *values, interval=10.0, start=0.0, name=None, **labels):
    samples = [
        (start + interval * place, value) for place, value in enumerate(values, 1) if value is not None
    ]
    return Source(name or FIELDS[metric].names[0], {"job": "dcgm", **labels}, samples)


def read(metric, *sources, windows=((0.0, 100.0),)):
    return reading(FIELDS[metric], sources, windows)


def test_a_level_is_the_mean_over_the_window():
    one = read("power_w", told("power_w", *[100.0] * 5, *[200.0] * 5))
    assert (one.value, one.unit) == (150, "W")
    assert (one.coverage, one.covered_s, one.samples, one.interval_s) == (1, 100, 10, 10)
    assert one.notes == ()
    assert one.reason is None


@pytest.mark.parametrize(
    ("metric", "exported", "value"),
    [
        ("util", 91, 0.91),
        ("sm_clock_hz", 1410, 1.41e9),
        ("pcie_tx_b_s", 175084, 175084),
        ("sm_active", 0.5, 0.5),
    ],
)
def test_units_are_base_units(metric, exported, value):
    assert read(metric, told(metric, *[exported] * 10)).value == pytest.approx(value)


def test_energy_is_what_the_counter_rose_by_in_the_time_that_is_covered():
    one = read("energy_j", told("energy_j", *[5_000_000 + 2_500_000 * k for k in range(12)]))
    assert one.covered_s == 90
    assert one.value == pytest.approx(250 * 90)


def test_a_gap_costs_a_level_its_time_and_a_counter_nothing():
    values = [100.0 * k for k in range(1, 12)]
    values[3:6] = [None] * 3
    assert read("power_w", told("power_w", *values)).covered_s == 70
    energy = read("energy_j", told("energy_j", *values))
    assert energy.covered_s == 90
    assert energy.value == pytest.approx(0.9)


def test_a_counter_that_began_anew_is_noted_and_its_span_left_out():
    one = read(
        "energy_j", told("energy_j", 900e3, 1000e3, 1100e3, 50e3, 150e3, 250e3, 30e3, 130e3, 230e3, 330e3)
    )
    assert one.value == pytest.approx(700)
    assert one.covered_s == 70
    assert one.notes[0].startswith("the counter began anew 2 times;")


def test_a_counter_that_stands_still_is_no_counter():
    one = read("energy_j", told("energy_j", *[77.0] * 10))
    assert one.value is None
    assert one.reason == "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION stands still"


def test_a_rate_under_which_a_counter_hides_is_refused():
    one = read("pcie_tx_b_s", told("pcie_tx_b_s", *[1000.0 * k for k in range(1, 12)]))
    assert one.value is None
    assert one.reason.startswith("DCGM_FI_PROF_PCIE_TX_BYTES rises from sample to sample as a counter does")


def test_a_level_may_rise_all_the_time():
    assert read("power_w", told("power_w", *range(100, 112))).value is not None


def test_blanks_are_left_out_and_noted():
    one = read("sm_active", told("sm_active", *[0.5] * 9, 140737488355328.0))
    assert one.value == pytest.approx(0.5)
    assert one.covered_s == 90
    assert one.notes == ("1 of 10 samples are DCGM's blanks or impossible, and left out",)


def test_blanks_alone_give_no_number():
    one = read("power_w", told("power_w", *[0.0] * 10))
    assert one.value is None
    assert one.reason == "none of 10 samples is a value of DCGM_FI_DEV_POWER_USAGE: the last is 0"


def test_between_half_and_four_fifths_a_note_says_how_much_is_covered():
    one = read("power_w", told("power_w", *[100.0] * 7, None, None, None))
    assert one.value == 100
    assert one.coverage == pytest.approx(0.7)
    assert one.notes == ("samples tell of 70 of 100 s, one every 10 s",)


def test_below_half_there_is_no_number():
    one = read("power_w", told("power_w", *[100.0] * 4, *[None] * 6))
    assert one.value is None
    assert one.coverage == pytest.approx(0.4)
    assert one.reason == "samples tell of 40 of 100 s only, one every 10 s"


def test_windows_shorter_than_two_samples_have_no_number():
    one = read("power_w", told("power_w", *[100.0] * 20), windows=((12.0, 19.0), (43.0, 49.0)))
    assert one.value is None
    assert one.reason == "windows of 7 s are too short for samples every 10 s"


def test_a_single_sample_gives_no_number():
    one = read("power_w", told("power_w", 100.0))
    assert one.value is None
    assert one.reason == "Prometheus has a single sample near the windows"


def test_values_that_the_exporter_renews_seldom_count_from_one_renewal_to_the_next():
    values = [value for value in (0.1, 0.9, 0.3, 0.8, 0.2, 0.7, 0.4) for _ in range(3)]
    one = read("sm_active", told("sm_active", *values, interval=10.0), windows=((40.0, 190.0),))
    assert one.interval_s == 30
    assert one.notes[0] == (
        "the exporter renews its values every 30 s (its option `-c`), though it is scraped every 10 s"
    )
    assert one.value == pytest.approx((0.3 + 0.8 + 0.2 + 0.7 + 0.4) / 5)


def test_slowing_down_is_a_share_of_time_with_its_reasons():
    one = read("throttled", told("throttled", *[0x1] * 5, *[0x4] * 3, 0x24, 0x0))
    assert one.value == pytest.approx(0.4)
    assert one.shares == {"power_cap": pytest.approx(0.4), "sw_thermal": pytest.approx(0.1)}


def test_clocks_that_were_asked_for_slow_nothing_down():
    one = read("throttled", told("throttled", *[0x2 | 0x1 | 0x100] * 10))
    assert (one.value, one.shares) == (0, {})


def test_of_two_sources_the_one_with_more_samples_in_the_window_is_used():
    many = told("power_w", *[100.0] * 20, interval=5.0, instance="a")
    far = told("power_w", *[900.0] * 40, interval=5.0, start=200.0, instance="far")
    one = read("power_w", told("power_w", *[101.0] * 10, instance="b"), many, far)
    assert one.value == 100
    assert one.source["instance"] == "a"
    assert one.notes == ("told by 3 sources; the one with the most samples is used: job dcgm, instance a",)


def test_sources_that_disagree_are_both_told():
    one = read(
        "power_w",
        told("power_w", *[100.0] * 10, instance="a"),
        told("power_w", *[110.0] * 9, instance="b"),
    )
    assert one.value == 100
    assert one.notes[1] == "another source says 110 W: job dcgm, instance b"


def test_energies_of_different_coverage_are_no_disagreement():
    coarse = told("energy_j", *[1e6 * k for k in range(1, 40)], interval=13.0, instance="b")
    one = read("energy_j", told("energy_j", *[1e6 / 1.3 * k for k in range(1, 40)], instance="a"), coarse)
    assert one.covered_s == 90
    assert len(one.notes) == 1


def test_what_happened_outside_the_windows_is_not_noted():
    counter = [1e6 * k for k in range(20, 30)] + [1e6 * k for k in range(1, 30)]
    assert read("energy_j", told("energy_j", *counter), windows=((150.0, 300.0),)).notes == ()
    levels = [0.0, 0.0, *[100.0] * 20, 0.0]
    assert read("power_w", told("power_w", *levels), windows=((30.0, 130.0),)).notes == ()


def test_a_source_without_a_number_gives_way_to_one_that_has_one():
    blank = told("power_w", *[0.0] * 50, interval=2.0, instance="a")
    one = read("power_w", blank, told("power_w", *[100.0] * 10, instance="b"))
    assert one.value == 100
    assert one.source["instance"] == "b"


def test_moments_with_two_numbers_are_noted():
    source = Source(
        "DCGM_FI_DEV_POWER_USAGE",
        {},
        [(10.0 * k, 100.0) for k in range(1, 11)],
        contradictions=[15.0, 25.0, 205.0],
    )
    assert read("power_w", source).notes == ("at 2 moments the exporter told two numbers; they are left out",)
