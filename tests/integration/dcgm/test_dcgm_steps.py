"""What a real Prometheus gives of two hours of GPUs in steps of five minutes: each number follows from the script."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import isnan

import pytest

from app.domain.device_use import Seen
from app.integrations.dcgm import Gpu, Prometheus, seen_in_steps
from tests.factories.own_metrics import Over, Series
from tests.integration.dcgm.world import remembering

LASTS, EVERY = timedelta(hours=2), timedelta(seconds=15)
BLANK = 9223372036854775794.0
HOUR, STEP = 3600.0, 300.0
OLD, NEW, HOLED, DIVIDED, POWERED, AWAY = (f"GPU-{n}1111111-aaaa-bbbb" for n in range(6))
INSTANCE, LOST, SHARED = "MIG-71111111", "MIG-81111111", f"MIG-{DIVIDED}/9/0"


def then(before: float | None, after: float | None, at: float = HOUR) -> Over:
    """One value until a moment, and another from then on."""
    return lambda elapsed: before if elapsed < at else after


def told(
    uuid: str, label: str = "UUID", *, labels: dict[str, str] | None = None, **fields: Over
) -> Iterator[Series]:
    """What an exporter tells of a GPU; what is not told is left out."""
    for name, over in fields.items():
        yield Series(f"DCGM_FI_{name}", {label: uuid, "Hostname": "node-a", **(labels or {})}, over)


def script() -> Iterator[Series]:
    """Five GPUs: with DCGM 3's fields and a pod that comes, with DCGM 4's, with holes, divided, and without counter."""
    yield from told(
        OLD,
        DEV_GPU_UTIL=then(0, None),
        PROF_GR_ENGINE_ACTIVE=lambda _: 0.5,
        DEV_TOTAL_ENERGY_CONSUMPTION=then_counted(60_000, None),
    )
    for pod in ("a", "b"):  # they share the GPU, whose numbers are repeated
        yield from told(
            OLD,
            labels={"pod": pod},
            DEV_GPU_UTIL=then(None, 90),
            DEV_TOTAL_ENERGY_CONSUMPTION=then_counted(None, 60_000),
        )
    yield from told(
        NEW,
        "gpu_uuid",
        PROF_GR_ENGINE_UTIL_RATIO=lambda _: 0.25,
        DEV_BOARD_POWER_WATTS=then(100.0, 140.0, 150.0),
    )
    yield from told(
        HOLED,
        DEV_GPU_UTIL=lambda elapsed: (
            None if 1800 <= elapsed < 3600 else BLANK if 3600 <= elapsed < 3650 else 1
        ),
        DEV_TOTAL_ENERGY_CONSUMPTION=lambda elapsed: 100_000 * (elapsed + (5e6 if elapsed < 5400 else -5400)),
    )
    for part, share in (("7", 0.3), ("8", 1.29), ("9", 0.9)):
        labels = {"GPU_I_ID": part, "GPU_I_PROFILE": "1g.10gb"}
        yield from told(
            DIVIDED,
            labels=labels,
            PROF_GR_ENGINE_ACTIVE=lambda _, its=share: its,
            DEV_POWER_USAGE=lambda _: 300.0,
        )
    yield from told(
        POWERED,
        DEV_GPU_UTIL=lambda _: 2,
        DEV_TOTAL_ENERGY_CONSUMPTION=lambda _: 7e6,  # stands still
        DEV_POWER_USAGE=lambda elapsed: 60.0 if elapsed % 30 < 15 else 62.0,
    )


def then_counted(before: float | None, after: float | None) -> Over:
    """A counter of millijoules at so many milliwatts; it goes on under other labels."""
    return lambda elapsed: None if (now := then(before, after)(elapsed)) is None else 5e9 + now * elapsed


@dataclass
class World:
    """A Prometheus that remembers the two hours."""

    url: str
    began: float

    def tells(self, *gpus: Gpu, after_s: float = 2 * HOUR) -> dict[str, Seen]:
        """Return what it tells of the steps from the script's beginning on."""
        found = seen_in_steps(Prometheus(self.url), gpus, self.began, self.began + after_s)
        assert found.reason is None
        return dict(found.seen)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    yesterday = (datetime.now(UTC) - timedelta(days=1)).replace(minute=0, second=0, microsecond=0)
    # Samples lie between the ends of steps, as nearly all do.
    with remembering(tmp_path_factory.mktemp("steps"), script(), yesterday + EVERY / 2, LASTS, EVERY) as url:
        yield World(url, yesterday.timestamp())


def only(world: World, gpu: Gpu) -> Seen:
    (its,) = world.tells(gpu).values()
    return its


def test_a_busy_hour_after_an_idle_one_and_the_counters_rise(world: World) -> None:
    its = only(world, Gpu.named(OLD))
    assert (its.start, its.step_s) == (world.began, STEP)
    assert list(its.busy) == pytest.approx(12 * [0.0] + 12 * [0.9])
    assert its.counter_j is not None
    rises = [after - before for before, after in zip(its.counter_j, its.counter_j[1:], strict=False)]
    assert rises == pytest.approx(23 * [60 * STEP])
    assert its.power is None


def test_other_labels_and_names_are_asked_for_where_the_usual_ones_tell_nothing(world: World) -> None:
    its = only(world, Gpu.named(NEW))
    assert list(its.busy) == pytest.approx(24 * [0.25])
    assert its.counter_j is None
    assert its.power is not None
    assert [watts[0] for watts in its.power] == pytest.approx([120.0, 100.0, 140.0])
    assert [watts[1] for watts in its.power] == pytest.approx([140.0, 140.0, 140.0])


def test_holes_and_blanks_are_not_known_and_a_counter_that_began_anew_falls(world: World) -> None:
    its = only(world, Gpu.named(HOLED))
    assert [n for n, share in enumerate(its.busy) if isnan(share)] == list(range(6, 13))
    assert its.counter_j is not None
    assert [n for n in range(1, 24) if its.counter_j[n] < its.counter_j[n - 1]] == [18]


def test_of_an_instance_its_share_is_told_and_no_energy_and_of_the_whole_of_a_divided_gpu_nothing(
    world: World,
) -> None:
    named = [
        Gpu.named(INSTANCE, parent=DIVIDED, instance=7),
        Gpu.named("MIG-impossible", parent=DIVIDED, instance=8),
        Gpu.named(LOST),
        Gpu.named(DIVIDED),
    ]
    seen = world.tells(*named)
    assert list(seen) == [INSTANCE]
    assert list(seen[INSTANCE].busy) == pytest.approx(24 * [0.3])
    assert (seen[INSTANCE].counter_j, seen[INSTANCE].power) == (None, None)


def test_compute_instances_that_share_an_instance_are_not_told_apart(world: World) -> None:
    one, other = Gpu.named(SHARED), Gpu.named(f"MIG-{DIVIDED}/9/1")
    assert list(world.tells(one)) == [SHARED]
    assert seen_in_steps(Prometheus(world.url), [one, other], world.began, world.began + HOUR).seen == {}


def test_power_takes_the_place_of_a_counter_that_stands_still(world: World) -> None:
    its = only(world, Gpu.named(POWERED))
    assert its.counter_j is None
    assert its.power is not None
    assert [watts[5] for watts in its.power] == pytest.approx([61.0, 60.0, 62.0])


def test_many_devices_are_asked_for_some_at_a_time_and_those_that_nobody_knows_are_left_out(
    world: World,
) -> None:
    others = [Gpu.named(f"GPU-{n:08d}") for n in range(50)]
    assert set(world.tells(*others, Gpu.named(OLD), Gpu.named(NEW), after_s=HOUR)) == {OLD, NEW}


def test_only_whole_steps_are_asked_for(world: World) -> None:
    assert len(world.tells(Gpu.named(OLD), after_s=HOUR + 299)[OLD].busy) == 12
    assert world.tells(Gpu.named(OLD), after_s=299) == {}


def test_what_nobody_tells_of_is_said(world: World) -> None:
    found = seen_in_steps(Prometheus(world.url), [Gpu.named(AWAY)], world.began, world.began + HOUR)
    assert found.seen == {}
    assert (
        found.reason == "Prometheus has nothing of these GPUs from this time: not scraped, or no longer kept"
    )
    assert not found.is_unanswered
