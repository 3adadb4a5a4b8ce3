"""What a real Prometheus gives of exporters that follow a script: every number here is one that the script said."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from app.integrations.dcgm import FIELDS, Activity, Gpu, Prometheus, Reading, device_activity
from tests.integration.dcgm.world import Exporter, begin, exposition, prometheus, scraping, serving

BUSY_FROM, BUSY_TO = 2.5, 6.2
GONE_FROM, GONE_TO = 3.0, 4.5
BEGAN_ANEW = 5.0
LASTS = 6.8
SEEN = (0.2, 6.4)
INTERVAL_S = 0.25

GPU = "GPU-11111111-aaaa-bbbb-cccc-000000000001"
FLAKY = "GPU-22222222-aaaa-bbbb-cccc-000000000002"
DIVIDED = "GPU-33333333-aaaa-bbbb-cccc-000000000003"
OLD = "GPU-44444444-aaaa-bbbb-cccc-000000000004"


def labels(gpu: int, uuid: str, **more: str) -> dict[str, str]:
    """Return dcgm-exporter's labels of a GPU."""
    return {
        "gpu": str(gpu),
        "UUID": uuid,
        "pci_bus_id": f"00000000:0{gpu}:00.0",
        "device": f"nvidia{gpu}",
        "modelName": "NVIDIA Pretend 80GB",
        "Hostname": "node-a",
        **more,
    }


def main_exporter(elapsed: float) -> str:
    """Tell of three GPUs; a pod comes to the first one, the second one is gone for a while, the third is divided."""
    return a_whole_gpu(elapsed) + a_flaky_gpu(elapsed) + a_divided_gpu()


def a_whole_gpu(elapsed: float) -> str:
    busy = BUSY_FROM <= elapsed < BUSY_TO
    pod = {"pod": "bench-1", "namespace": "ml", "container": "main"} if elapsed > BUSY_FROM + 1.7 else {}
    return exposition(
        labels(0, GPU, **pod),
        DCGM_FI_PROF_SM_ACTIVE=0.8 if busy else 0.1,
        DCGM_FI_PROF_SM_OCCUPANCY=0.4 if busy else 0.05,
        DCGM_FI_PROF_PIPE_TENSOR_ACTIVE=0.5 if busy else 0.0,
        DCGM_FI_PROF_DRAM_ACTIVE=0.25 if busy else 0.0,
        DCGM_FI_PROF_GR_ENGINE_ACTIVE=0.9 if busy else 0.1,
        DCGM_FI_PROF_PCIE_TX_BYTES=2_000_000_000 if busy else 1_000,
        DCGM_FI_PROF_PCIE_RX_BYTES=3_000_000_000 if busy else 1_000,
        DCGM_FI_DEV_POWER_USAGE=300.0 if busy else 60.0,
        DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION=5_000_000_000 + int(elapsed * 300_000),
        DCGM_FI_DEV_GPU_UTIL=95 if busy else 10,
        DCGM_FI_DEV_SM_CLOCK=1410 if busy else 210,
        DCGM_FI_DEV_MEM_CLOCK=1593,
        DCGM_FI_DEV_CLOCK_THROTTLE_REASONS=0x4 if busy else 0x1,
    )


def a_flaky_gpu(elapsed: float) -> str:
    if GONE_FROM <= elapsed < GONE_TO:
        return ""
    since = elapsed - BEGAN_ANEW if elapsed >= BEGAN_ANEW else elapsed + 1_000
    return exposition(
        labels(1, FLAKY),
        DCGM_FI_DEV_POWER_USAGE=150.0,
        DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION=int(since * 150_000),
    )


def a_divided_gpu() -> str:
    parts = {"7": 0.6, "8": 0.2}
    return "".join(
        exposition(
            labels(2, DIVIDED, GPU_I_PROFILE="1g.10gb", GPU_I_ID=instance),
            DCGM_FI_PROF_SM_ACTIVE=share,
            DCGM_FI_DEV_POWER_USAGE=240.0,
        )
        for instance, share in parts.items()
    )


def spare_exporter(elapsed: float) -> str:
    """Tell of the first GPU, too, and more; and of one by an old label and with blanks."""
    busy = BUSY_FROM <= elapsed < BUSY_TO
    first = exposition(
        labels(0, GPU),
        DCGM_FI_PROF_SM_ACTIVE=0.6 if busy else 0.1,
        DCGM_FI_PROF_NVLINK_TX_BYTES=40_000_000_000,
    )
    old = {"gpu": "3", "uuid": OLD}
    return first + exposition(
        old,
        DCGM_FI_PROF_SM_UTIL_RATIO=float("nan"),
        DCGM_FI_PROF_DRAM_UTIL_RATIO=140737488355328.0,
        DCGM_FI_DEV_BOARD_POWER_WATTS=75.5,
    )


@dataclass
class World:
    """A Prometheus that has seen the whole script."""

    server: Prometheus
    began: float

    def window(self, start: float, end: float) -> tuple[datetime, datetime]:
        """Return the part of the script between these seconds."""
        began = datetime.fromtimestamp(self.began, UTC)
        return began + timedelta(seconds=start), began + timedelta(seconds=end)

    def tells(self, gpu: Gpu, *windows: tuple[float, float], **more: float) -> Activity:
        """Return what is told of the device in these parts of the script."""
        return device_activity(self.server, gpu, [self.window(*window) for window in windows], **more)

    def reading(self, metric: str, uuid: str, *windows: tuple[float, float]) -> Reading:
        """Return one reading of a whole GPU."""
        return self.tells(Gpu.named(uuid), *windows).readings[metric]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Run the script once."""
    main, spare = Exporter(main_exporter), Exporter(spare_exporter)
    with ExitStack() as stack:
        jobs = {
            "dcgm": (stack.enter_context(serving(main)), f"{INTERVAL_S * 1000:.0f}ms"),
            "spare": (stack.enter_context(serving(spare)), "500ms"),
        }
        port, _ = stack.enter_context(prometheus(tmp_path_factory.mktemp("prometheus"), scraping(**jobs)))
        began = begin(main, spare)
        time.sleep(LASTS)
        yield World(Prometheus(f"http://127.0.0.1:{port}"), began)


IDLE = (0.05, BUSY_FROM - 0.3)
RUN = (BUSY_FROM + 0.1, BUSY_TO - 0.3)
"""With time to spare: a scrape has the moment at which it began, and the exporter answers it a little later."""


def test_every_metric_of_a_run_is_what_the_exporter_said(world: World):
    told = world.tells(Gpu.named(GPU), RUN)
    assert told.reason is None
    assert set(told.readings) == set(FIELDS)
    values = {metric: one.value for metric, one in told.readings.items()}
    assert values.pop("energy_j") == pytest.approx(300 * told.readings["energy_j"].covered_s, rel=0.03)
    assert values == {
        "sm_active": pytest.approx(0.8),
        "sm_occupancy": pytest.approx(0.4),
        "tensor_active": pytest.approx(0.5),
        "dram_active": pytest.approx(0.25),
        "gr_engine_active": pytest.approx(0.9),
        "pcie_tx_b_s": pytest.approx(2e9),
        "pcie_rx_b_s": pytest.approx(3e9),
        "nvlink_tx_b_s": pytest.approx(40e9),
        "nvlink_rx_b_s": None,
        "power_w": pytest.approx(300),
        "util": pytest.approx(0.95),
        "sm_clock_hz": pytest.approx(1.41e9),
        "mem_clock_hz": pytest.approx(1.593e9),
        "throttled": 1.0,
    }
    assert told.readings["throttled"].shares == {"power_cap": 1.0}


def test_a_reading_says_how_much_of_the_run_it_tells_of_and_who_said_it(world: World):
    one = world.reading("power_w", GPU, RUN)
    assert one.interval_s == pytest.approx(INTERVAL_S, abs=0.02)
    assert one.samples == pytest.approx(14, abs=4)
    assert one.coverage >= 0.7
    assert one.field == "DCGM_FI_DEV_POWER_USAGE"
    assert one.source["job"] == "dcgm"
    assert one.source["Hostname"] == "node-a"
    assert one.source["instance"].startswith("127.0.0.1:")
    assert one.notes == ()


def test_what_the_device_did_before_the_run_stays_out_of_it(world: World):
    assert world.reading("sm_active", GPU, IDLE).value == pytest.approx(0.1)


def test_several_windows_are_averaged_by_their_time(world: World):
    one = world.reading("power_w", GPU, IDLE, RUN)
    idle = world.reading("power_w", GPU, IDLE).covered_s
    busy = world.reading("power_w", GPU, RUN).covered_s
    assert one.covered_s == pytest.approx(idle + busy)
    assert one.value == pytest.approx((60 * idle + 300 * busy) / (idle + busy))


def test_a_pod_that_comes_to_the_gpu_makes_no_gap(world: World):
    middle = (BUSY_FROM + 0.7, BUSY_FROM + 2.7)
    assert world.reading("power_w", GPU, middle).coverage >= 0.7
    assert len({row["metric"].get("pod") for row in rows(world, "DCGM_FI_DEV_POWER_USAGE")}) == 2


def rows(world: World, field: str) -> list[dict]:
    with world.server.look_up() as look_up:
        return look_up.samples(f'{field}{{UUID="{GPU}"}}', world.began, world.began + LASTS)


def test_of_two_exporters_the_one_with_more_samples_is_used_and_the_other_is_named(world: World):
    one = world.reading("sm_active", GPU, RUN)
    assert one.source["job"] == "dcgm"
    assert one.notes[0].startswith("told by 2 sources; the one with the most samples is used: job dcgm, ")
    assert one.notes[1].startswith("another source says 0.6 1: job spare, ")


def test_what_only_the_other_exporter_tells_is_taken_from_there(world: World):
    one = world.reading("nvlink_tx_b_s", GPU, RUN)
    assert one.source["job"] == "spare"
    assert one.interval_s == pytest.approx(0.5, abs=0.03)


def test_a_field_that_is_not_exported_comes_with_its_line_for_the_counters_file(world: World):
    one = world.reading("nvlink_rx_b_s", GPU, RUN)
    assert one.value is None
    assert "DCGM_FI_PROF_NVLINK_RX_BYTES, gauge, " in one.reason


def test_scrapes_that_are_missing_are_said_beside_the_number(world: World):
    one = world.reading("power_w", FLAKY, SEEN)
    assert one.value == pytest.approx(150)
    assert one.coverage == pytest.approx((6.2 - (GONE_TO - GONE_FROM)) / 6.2, abs=0.13)
    assert "samples tell of" in one.notes[0]


def test_a_run_in_the_gap_has_no_number(world: World):
    one = world.reading("power_w", FLAKY, (GONE_FROM + 0.1, GONE_TO - 0.4))
    assert one.value is None
    assert one.reason.startswith("samples tell of 0 of 1 s only")


def test_energy_across_a_gap_and_a_counter_that_began_anew(world: World):
    one = world.reading("energy_j", FLAKY, SEEN)
    assert one.notes[0].startswith("the counter began anew once")
    assert one.value == pytest.approx(150 * one.covered_s, rel=0.05)
    assert one.covered_s == pytest.approx(6.2 - INTERVAL_S, abs=0.5)


@pytest.mark.parametrize(("instance", "share"), [(7, 0.6), (8, 0.2)])
def test_an_instance_of_a_divided_gpu_has_its_own_numbers_and_none_of_the_whole(
    world: World, instance: int, share: float
):
    told = world.tells(Gpu.named(f"MIG-{DIVIDED}/{instance}/0"), RUN)
    assert told.readings["sm_active"].value == pytest.approx(share)
    assert told.readings["sm_active"].source["GPU_I_ID"] == str(instance)
    assert told.readings["power_w"].value is None
    assert "for a whole GPU only" in told.readings["power_w"].reason


def test_a_divided_gpu_as_a_whole_has_no_numbers_of_its_instances(world: World):
    told = world.tells(Gpu.named(DIVIDED), RUN)
    assert told.readings == {}
    assert told.reason == "dcgm-exporter tells of this GPU as MIG instances only, GPU_I_ID 7, 8"


def test_an_instance_that_is_not_told_is_not_replaced_by_another(world: World):
    told = world.tells(Gpu.named("MIG-new", parent=DIVIDED, instance=9), RUN)
    assert (
        told.reason == "dcgm-exporter tells of this GPU without its instance 9; instances that it tells: 7, 8"
    )


def test_old_labels_new_field_names_and_blanks(world: World):
    told = world.tells(Gpu.named(OLD), RUN)
    assert told.readings["power_w"].value == pytest.approx(75.5)
    assert told.readings["power_w"].field == "DCGM_FI_DEV_BOARD_POWER_WATTS"
    assert told.readings["sm_active"].value is None
    assert told.readings["dram_active"].value is None
    assert "none of " in told.readings["dram_active"].reason


def test_windows_of_an_agent_whose_clock_is_ahead_are_moved(world: World):
    late = (RUN[0] + 100, RUN[1] + 100)
    told = world.tells(Gpu.named(GPU), late, agent_ahead_s=100.0)
    assert told.moved.by_s == pytest.approx(-100, abs=0.2)
    assert told.readings["sm_active"].value == pytest.approx(0.8)
    assert told.notes[0].startswith("the windows were moved by -1")


def test_clocks_that_agree_are_not_worth_a_note(world: World):
    told = world.tells(Gpu.named(GPU), RUN, agent_ahead_s=0.0)
    assert abs(told.moved.by_s) < INTERVAL_S
    assert told.notes == ()


def test_a_device_that_nobody_tells_of(world: World):
    told = world.tells(Gpu.named("GPU-nobody"), RUN)
    assert told.reason == "dcgm-exporter tells of other devices at this time (5), and not of GPU-nobody"


def test_a_time_that_nobody_tells_of(world: World):
    told = world.tells(Gpu.named(GPU), (-7200.0, -7100.0))
    assert told.reason.startswith("Prometheus has nothing of dcgm-exporter from this time")


def test_a_window_of_more_seconds_than_a_range_query_has_points(world: World):
    one = world.reading("power_w", GPU, (-12_000.0, LASTS))
    assert one.value is None
    assert one.samples > 10
    assert one.reason.endswith(" of 12,007 s only, one every 0.25 s")


def test_windows_shorter_than_the_scrape_interval_have_no_number(world: World):
    one = world.reading("power_w", GPU, (2.0, 2.2), (3.0, 3.2))
    assert one.value is None
    assert one.reason.startswith("windows of 0.2 s are too short for samples every 0.25 s")


def test_a_run_that_is_asked_for_before_it_was_scraped_says_so(world: World):
    now = time.time() - world.began
    assert world.tells(Gpu.named(GPU), (1.0, now + 60)).asked_early
    assert not world.tells(Gpu.named(GPU), RUN).asked_early
