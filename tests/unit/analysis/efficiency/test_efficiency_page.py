"""`docs/efficiency.md` says what the code does: constants, notes, classes and the list of devices."""

import re
from pathlib import Path

import pytest

from app.accelerators.catalogue import ACCELERATORS
from app.analysis.efficiency import bottleneck, cost, energy, hardware, scaling, utilisation
from app.analysis.efficiency.bottleneck import BottleneckKind
from app.domain.derived import NOT_VERIFIED
from app.domain.hardware import Source
from app.domain.metrics import METRICS
from app.store.repositories.jobs import NEWEST

PAGE = (Path(__file__).parents[4] / "docs" / "efficiency.md").read_text(encoding="utf-8")
DEVICES = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.split("| model | figures are of")[1].split("\n\n")[0].splitlines()[2:]
]


def test_every_accelerator_is_listed_with_what_was_compared():
    assert [row[0] for row in DEVICES] == list(ACCELERATORS)
    for name, row_is, checked, unverified in DEVICES:
        entry = ACCELERATORS[name]
        assert row_is.split(" = ")[0] == entry.row
        assert (" = " in row_is) == (entry.parts != (1,))
        assert all(str(parts) in row_is for parts in entry.parts)
        assert checked == entry.checked
        names = {"–": set(), "all": set(entry.figures)}.get(unverified, set(unverified.split(", ")))
        assert names == entry.unverified


@pytest.mark.parametrize(
    "code",
    [
        *(utilisation.BEYOND_PEAK, utilisation.BEYOND_STEP, utilisation.UNKNOWN_PEAK, NOT_VERIFIED),
        *(energy.ENERGY_WINDOW_SHORT, energy.BELOW_IDLE, energy.COUNTER_WENT_BACK),
        *(scaling.SCALING_MODE_MISSING, cost.NO_PRICE),
    ],
)
def test_every_note_is_explained(code):
    assert f"`{code}`" in PAGE


@pytest.mark.parametrize("kind", BottleneckKind)
def test_every_class_of_bottleneck_has_its_rule(kind):
    assert re.search(rf"^\| \d \| `{kind}` \|", PAGE, re.MULTILINE)


def test_two_device_classes_are_compared_by_what_the_page_says():
    assert ", ".join(f"`{name}`" for name in hardware.SPEEDS) in PAGE
    assert [name for name in hardware.COSTS if f"`{name}`" not in PAGE] == []
    assert [source for source in Source if f"`{source}`" not in PAGE] == []
    assert f"the project's {NEWEST} newest jobs" in PAGE


def test_constants_are_those_of_the_code():
    assert f"below {energy.MIN_WINDOW_S:g} s" in PAGE
    assert f"above {1 + utilisation.PEAK_TOLERANCE:g}" in PAGE
    assert f"at least {100 * bottleneck.LOST_TIME:g} % of the step" in PAGE
    assert f"{1 / (1 - bottleneck.LOST_TIME):g} times as fast" in PAGE
    assert f"for at least {100 * bottleneck.THROTTLED_TIME:g} % of the time" in PAGE
    assert f"below {100 * bottleneck.FULL_CLOCK:g} % of the highest" in PAGE
    assert f"is at least {100 * bottleneck.NEAR_ROOF:g} %" in PAGE


def test_every_metric_of_efficiency_has_its_formula():
    wanted = """mfu hfu bandwidth_util flops_per_s bytes_per_s arithmetic_intensity energy_per_iter
        energy_net_per_iter perf_per_watt scaling_efficiency cost_per_million_tokens cost_per_sample
        input_wait_share comm_share""".split()
    assert set(wanted) <= METRICS.keys()
    assert [name for name in wanted if f"`{name}`" not in PAGE] == []
