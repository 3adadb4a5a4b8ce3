import json
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest

from app.domain.errors import UnavailableError
from app.integrations.dcgm import FIELDS, Gpu, device_activity
from app.integrations.dcgm.activity import MARGIN_S
from app.integrations.dcgm.fields import BY_NAME
from app.integrations.dcgm.server import Clock

GPU = Gpu.named("GPU-1")
BEGAN = datetime(2026, 3, 1, 12, tzinfo=UTC)
AT = BEGAN.timestamp()


class FakePrometheus:
    """Answers from fixed values per field, sampled every ten seconds for ten minutes around the beginning."""

    url = "http://prometheus"

    def __init__(self, clock=Clock(0.0, 0.001), label="UUID", notes=(), devices=(), error=None, **fields):  # noqa: B008
        self.fields = fields
        self.label = label
        self.notes = notes
        self.asked = []
        self._clock = clock
        self._devices = list(devices)
        self._error = error

    @contextmanager
    def look_up(self):
        if self._error:
            raise UnavailableError(self._error)
        yield self

    def clock(self):
        return self._clock

    def samples(self, selector, start, end):
        self.asked.append((start - AT, end - AT))
        if f',{self.label}="' not in selector:
            return []
        moments = [AT + 10 * k for k in range(-30, 31) if start <= AT + 10 * k <= end]
        return [
            {
                "metric": {"__name__": name, "job": "dcgm"},
                "values": [[m, str(self.value(name, m))] for m in moments],
            }
            for name in self.fields
        ]

    def value(self, name, moment):
        told = self.fields[name]
        return told(moment - AT) if callable(told) else told

    def devices(self, names, start, end):
        return self._devices


def minutes(*pairs):
    return [(BEGAN + timedelta(minutes=start), BEGAN + timedelta(minutes=end)) for start, end in pairs]


def test_every_metric_has_a_reading_or_a_reason():
    told = device_activity(FakePrometheus(DCGM_FI_DEV_POWER_USAGE=300.0), GPU, minutes((0, 2)))
    assert list(told.readings) == list(FIELDS)
    assert told.readings["power_w"].value == 300
    assert all(one.reason for metric, one in told.readings.items() if metric != "power_w")


def test_a_field_that_is_not_in_the_usual_counters_file_comes_with_its_line():
    told = device_activity(FakePrometheus(DCGM_FI_DEV_POWER_USAGE=300.0), GPU, minutes((0, 2)))
    assert told.readings["sm_active"].reason == (
        "dcgm-exporter tells no DCGM_FI_PROF_SM_ACTIVE of this device; the line for its counters file is: "
        "DCGM_FI_PROF_SM_ACTIVE, gauge, Share of cycles in which a multiprocessor has a warp."
    )


def test_windows_are_asked_for_with_a_margin_and_far_ones_apart():
    server = FakePrometheus(DCGM_FI_DEV_POWER_USAGE=300.0)
    device_activity(server, GPU, minutes((0, 1), (2, 3), (60, 61)))
    assert server.asked == [(-MARGIN_S, 180 + MARGIN_S), (3600 - MARGIN_S, 3660 + MARGIN_S)]


@pytest.mark.parametrize(("label", "questions"), [("UUID", 1), ("uuid", 2), ("gpu_uuid", 3)])
def test_other_labels_are_tried_when_the_usual_one_gives_nothing(label, questions):
    server = FakePrometheus(label=label, DCGM_FI_DEV_POWER_USAGE=300.0)
    assert device_activity(server, GPU, minutes((0, 2))).readings["power_w"].value == 300
    assert len(server.asked) == questions


def after_two_minutes(seconds):
    return 300.0 if seconds > 120 else 50.0


def test_windows_by_a_clock_that_is_ahead_are_moved_back():
    server = FakePrometheus(Clock(0.0, 0.002), DCGM_FI_DEV_POWER_USAGE=after_two_minutes)
    told = device_activity(server, GPU, minutes((2, 4)), agent_ahead_s=120.0)
    assert told.readings["power_w"].value == 50
    assert (told.moved.by_s, told.moved.within_s) == (-120, 0.002)
    assert told.notes == ("the windows were moved by -120 s to Prometheus' clock",)


def test_both_clocks_count():
    server = FakePrometheus(Clock(-60.0, 0.0), DCGM_FI_DEV_POWER_USAGE=after_two_minutes)
    told = device_activity(server, GPU, minutes((4, 5)), agent_ahead_s=120.0)
    assert told.moved.by_s == -180
    assert told.readings["power_w"].value == 50


def test_a_difference_within_a_sample_is_corrected_without_a_note():
    server = FakePrometheus(Clock(4.0, 0.0), DCGM_FI_DEV_POWER_USAGE=300.0)
    told = device_activity(server, GPU, minutes((0, 2)), agent_ahead_s=0.0)
    assert told.moved.by_s == 4
    assert told.notes == ()


def test_windows_stay_where_the_agents_clock_is_not_known_and_a_large_difference_is_noted():
    server = FakePrometheus(Clock(-75.0, 0.0), DCGM_FI_DEV_POWER_USAGE=300.0)
    told = device_activity(server, GPU, minutes((0, 2)))
    assert told.moved is None
    assert told.notes == (
        "Prometheus' clock is 75 s behind the service's, and the agent's is not known; "
        "the windows were taken as they are",
    )


def test_windows_stay_where_prometheus_clock_is_not_known():
    server = FakePrometheus(None, DCGM_FI_DEV_POWER_USAGE=300.0)
    told = device_activity(server, GPU, minutes((0, 2)), agent_ahead_s=50.0)
    assert told.moved is None
    assert told.notes == ("Prometheus' clock is not known; the windows were taken as they are",)


def test_zeros_of_a_busy_device_are_taken_back():
    server = FakePrometheus(
        DCGM_FI_PROF_SM_ACTIVE=0.0,
        DCGM_FI_PROF_PCIE_TX_BYTES=0.0,
        DCGM_FI_DEV_GPU_UTIL=97,
        DCGM_FI_DEV_POWER_USAGE=300.0,
    )
    readings = device_activity(server, GPU, minutes((0, 2))).readings
    assert readings["sm_active"].value is None
    assert readings["pcie_tx_b_s"].value is None
    assert readings["sm_active"].reason == (
        "profiling fields are 0 while DCGM_FI_DEV_GPU_UTIL says 97%: "
        "the exporter has lost the profiling counters"
    )
    assert readings["power_w"].value == 300


@pytest.mark.parametrize(
    "others",
    [
        {"DCGM_FI_DEV_GPU_UTIL": 0, "DCGM_FI_PROF_GR_ENGINE_ACTIVE": 0.0},
        {"DCGM_FI_DEV_GPU_UTIL": 97, "DCGM_FI_PROF_GR_ENGINE_ACTIVE": 0.9},
        {"DCGM_FI_DEV_GPU_UTIL": 97},
        {"DCGM_FI_PROF_GR_ENGINE_ACTIVE": 0.0},
    ],
    ids=[
        "an idle device",
        "the engine is busy",
        "of the engine nothing is known",
        "of the device nothing is known",
    ],
)
def test_zeros_stand_where_nothing_speaks_against_them(others):
    server = FakePrometheus(DCGM_FI_PROF_PIPE_TENSOR_ACTIVE=0.0, **others)
    assert device_activity(server, GPU, minutes((0, 2))).readings["tensor_active"].value == 0


def test_an_instance_gets_no_number_of_its_gpu():
    server = FakePrometheus(**{name: 0.5 for name, field in BY_NAME.items() if field.of_instance})
    told = device_activity(server, Gpu.named("MIG-GPU-1/7/0"), minutes((0, 2)))
    assert told.readings["sm_active"].value == 0.5
    for metric in ("power_w", "energy_j", "pcie_tx_b_s", "nvlink_rx_b_s", "util", "sm_clock_hz", "throttled"):
        assert told.readings[metric].reason == (
            "DCGM measures it for a whole GPU only, and repeats it for each instance"
        )


def test_numbers_of_an_instance_are_noted_to_be_of_all_its_compute_instances():
    server = FakePrometheus(DCGM_FI_PROF_SM_ACTIVE=0.5)
    assert device_activity(server, Gpu.named("MIG-GPU-1/7/2"), minutes((0, 2))).notes == (
        "the numbers are of the whole GPU instance, with all its compute instances",
    )


@pytest.mark.parametrize(
    ("gpu", "devices", "reason"),
    [
        (
            GPU,
            [],
            "Prometheus has nothing of dcgm-exporter from this time: it is not scraped, or no longer kept",
        ),
        (GPU, [{"UUID": "GPU-2"}], "dcgm-exporter tells of other devices at this time (1), and not of GPU-1"),
        (
            GPU,
            [{"UUID": "GPU-1", "GPU_I_ID": "7"}],
            "dcgm-exporter tells of this GPU as MIG instances only, GPU_I_ID 7",
        ),
        (
            GPU,
            [{"UUID": "GPU-1"}],
            "dcgm-exporter tells of this GPU, but none of the fields that are asked for",
        ),
        (
            Gpu.named("MIG-x", parent="GPU-1", instance=7),
            [{"UUID": "GPU-1"}],
            "dcgm-exporter tells of this GPU without its instance 7; instances that it tells: none",
        ),
        (Gpu.named("MIG-x"), [{"UUID": "GPU-1"}], "which instance of which GPU MIG-x is, is not known"),
        (Gpu.named("MIG-x", parent="GPU-1"), [], "which instance of which GPU MIG-x is, is not known"),
    ],
)
def test_why_there_is_nothing(gpu, devices, reason):
    server = FakePrometheus(label="nobody's", devices=[{"metric": labels} for labels in devices])
    told = device_activity(server, gpu, minutes((0, 2)))
    assert told.reason == reason
    assert told.readings == {}


def test_a_server_that_is_away_is_a_reason():
    told = device_activity(FakePrometheus(error="http://prometheus is away"), GPU, minutes((0, 2)))
    assert told.reason == "http://prometheus is away"
    assert told.unanswered
    assert told.readings == {}


@pytest.mark.parametrize("windows", [[], minutes((2, 2)), minutes((3, 1))])
def test_nothing_is_asked_for_no_time(windows):
    server = FakePrometheus()
    assert device_activity(server, GPU, windows).reason == "nothing was measured: there is no window"
    assert server.asked == []


def test_nothing_is_asked_for_more_time_than_a_run_has():
    server = FakePrometheus()
    told = device_activity(server, GPU, [(datetime(1970, 1, 2, tzinfo=UTC), BEGAN)])
    assert told.reason == "windows of 20,512 days are more than any run has"
    assert server.asked == []


def test_nothing_is_asked_for_a_name_that_would_change_the_question():
    server = FakePrometheus()
    told = device_activity(server, Gpu.named('GPU-1"} or up{x="'), minutes((0, 2)))
    assert "is no name of a device" in told.reason
    assert server.asked == []


def test_windows_without_a_time_zone_are_a_mistake():
    bare = datetime(2026, 3, 1, 12)  # noqa: DTZ001
    with pytest.raises(ValueError, match="time zones"):
        device_activity(FakePrometheus(), GPU, [(bare, bare + timedelta(minutes=1))])


def test_what_prometheus_warns_of_is_passed_on():
    server = FakePrometheus(notes=["partial response"], DCGM_FI_DEV_POWER_USAGE=300.0)
    assert device_activity(server, GPU, minutes((0, 2))).notes == ("Prometheus warns: partial response",)


@pytest.mark.parametrize(("minutes_ago", "early"), [(0.1, True), (1, False)])
def test_a_window_whose_end_was_not_scraped_yet_is_asked_for_early(monkeypatch, minutes_ago, early):
    class Now(datetime):
        @classmethod
        def now(cls, tz=None):
            return BEGAN + timedelta(minutes=2 + minutes_ago)

    monkeypatch.setattr("app.integrations.dcgm.activity.datetime", Now)
    server = FakePrometheus(DCGM_FI_DEV_POWER_USAGE=300.0)
    assert device_activity(server, GPU, minutes((0, 2))).asked_early is early


def test_what_comes_back_can_be_kept_as_json():
    server = FakePrometheus(DCGM_FI_DEV_POWER_USAGE=300.0, DCGM_FI_DEV_CLOCK_THROTTLE_REASONS=0x4)
    told = device_activity(server, GPU, minutes((0, 2)), agent_ahead_s=0.0)
    document = json.loads(json.dumps(told.document(), allow_nan=False))
    assert document["device"] == {"uuid": "GPU-1", "gpu_uuid": None, "gpu_instance": None}
    assert document["server"] == "http://prometheus"
    assert document["windows"] == [["2026-03-01T12:00:00+00:00", "2026-03-01T12:02:00+00:00"]]
    assert document["moved"] == {"by_s": 0.0, "within_s": 0.001}
    assert document["reason"] is None
    assert document["unanswered"] is False
    assert document["readings"]["power_w"] == {
        "unit": "W",
        "value": 300.0,
        "coverage": 1.0,
        "covered_s": 120.0,
        "samples": 12,
        "interval_s": 10.0,
        "field": "DCGM_FI_DEV_POWER_USAGE",
        "source": {"job": "dcgm"},
        "shares": None,
        "notes": [],
        "reason": None,
    }
    assert document["readings"]["throttled"]["shares"] == {"power_cap": 1.0}
