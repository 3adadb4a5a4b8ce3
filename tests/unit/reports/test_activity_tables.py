"""Rows and sentences of what DCGM told of a run's devices."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from app.integrations.dcgm import FIELDS
from app.integrations.dcgm import series as dcgm_series
from app.integrations.dcgm.device import Gpu
from app.integrations.dcgm.result import Activity, Reading
from app.reports.activity_tables import SOURCE_LABELS, TITLES, ActivityView, Said, activity_views

BEGAN = datetime(2026, 3, 1, 12, tzinfo=UTC)
WINDOWS = tuple((BEGAN + timedelta(minutes=m), BEGAN + timedelta(minutes=m, seconds=30)) for m in range(4))


def reading(metric: str, value: float | None, **told: Any) -> Reading:
    field = FIELDS[metric]
    usual: dict[str, Any] = {
        "coverage": 0.925,
        "samples": 111,
        "interval_s": 1.0,
        "field": field.names[0],
        "source": {"instance": "gpu7:9400", "gpu": "3", "job": "dcgm"},
    }
    return Reading(metric, field.unit, value, **(usual | told))


def document(*readings: Reading, **told: Any) -> dict[str, Any]:
    kept = Activity(
        Gpu("GPU-1"), "http://prometheus", WINDOWS, BEGAN, {one.metric: one for one in readings}, **told
    )
    return {**kept.document(), "asked_times": 1, "ask_again_at": None}


def view(*readings: Reading, **told: Any) -> ActivityView:
    (found,) = activity_views({"GPU-1": document(*readings, **told)}, ["GPU-1"])
    return found


def test_every_metric_has_a_title_and_every_label_of_a_source_is_shown() -> None:
    assert list(TITLES) == list(FIELDS)
    assert SOURCE_LABELS == dcgm_series.SOURCE_LABELS


def test_devices_come_in_the_order_of_the_run_and_nobody_else_does() -> None:
    told = {"GPU-2": document(), "GPU-1": document(), "GPU-9": document()}
    assert [one.name.shown for one in activity_views(told, ["GPU-1", "GPU-2", "GPU-3"])] == ["GPU-1", "GPU-2"]
    assert activity_views(None, ["GPU-1"]) == ()


def test_numbers_are_shown_in_their_units_and_in_one_order() -> None:
    found = view(
        reading("energy_j", 12_345.0),
        reading("sm_clock_hz", 1.755e9),
        reading("pcie_tx_b_s", 3.4e9),
        reading("sm_active", 0.931),
        reading("power_w", 612.5),
    )
    assert [(row.name, row.value) for row in found.rows] == [
        ("Multiprocessors active", "93.1 %"),
        ("Sent over PCIe", "3.4 GB/s"),
        ("Power", "612 W"),
        ("Energy in all", "12.3 kJ"),
        ("Clock", "1.75 GHz"),
    ]
    row = found.rows[0]
    assert (row.field, row.covered, row.samples) == (
        "DCGM_FI_PROF_SM_ACTIVE",
        "92.5 %",
        "111 samples, every 1 s",
    )
    assert found.windows == "4 invocations of 2 min"


def test_a_zero_is_a_number() -> None:
    found = view(reading("throttled", 0.0, shares={}))
    assert [(row.name, row.value, row.parts) for row in found.rows] == [("Held back", "0 %", "")]
    assert found.untold == ()


def test_reasons_to_be_held_back_are_shown_with_the_longest_first() -> None:
    found = view(reading("throttled", 0.4, shares={"hw_thermal": 0.1, "power_cap": 0.35}))
    assert found.rows[0].parts == "power cap 35.0 %, hw thermal 10.0 %"


def test_a_source_of_all_numbers_is_named_once() -> None:
    found = view(reading("power_w", 300.0), reading("util", 0.5))
    assert found.sources == (Said("", "job dcgm, instance gpu7:9400"),)


def test_of_several_sources_each_says_what_it_told() -> None:
    other = {"instance": "gpu7:9401"}
    found = view(reading("power_w", 300.0), reading("util", 0.5, source=other), reading("sm_active", 0.5))
    assert found.sources == (
        Said("Multiprocessors active, Power", "job dcgm, instance gpu7:9400"),
        Said("Utilisation", "instance gpu7:9401"),
    )


def test_the_same_note_is_said_once_with_all_that_it_is_about() -> None:
    note = "samples tell of 80 of 120 s, one every 15 s"
    found = view(
        reading("power_w", 300.0, notes=(note, "told by 2 sources")),
        reading("util", 0.5, notes=(note,)),
        notes=("the windows were moved by +12 s to Prometheus' clock",),
    )
    assert found.notes == (
        Said("", "The windows were moved by +12 s to Prometheus' clock"),
        Said("Power, Utilisation", note),
        Said("Power", "told by 2 sources"),
    )


def test_what_is_not_told_has_its_reason() -> None:
    whole = "DCGM measures it for a whole GPU only"
    found = view(
        Reading.untold(FIELDS["power_w"], whole),
        Reading.untold(FIELDS["energy_j"], whole),
        reading("sm_active", None, reason="samples tell of 3 of 120 s only, one every 60 s"),
    )
    assert found.rows == found.sources == ()
    assert found.untold == (
        Said("Multiprocessors active", "samples tell of 3 of 120 s only, one every 60 s"),
        Said("Power, Energy in all", whole),
    )


def test_nothing_at_all_is_a_reason() -> None:
    found = view(reason="http://prometheus is away", unanswered=True)
    assert (found.reason, found.rows, found.again_at) == ("http://prometheus is away", (), None)


def test_when_it_is_asked_again_is_told() -> None:
    again = "2026-03-01T12:10:00+00:00"
    early = {**document(asked_early=True), "ask_again_at": again}
    (found,) = activity_views({"GPU-1": early}, ["GPU-1"])
    assert (found.is_early, found.again_at) == (True, datetime.fromisoformat(again))


def test_what_others_named_moves_no_cursor() -> None:
    found = view(
        reading("power_w", 1.0, source={"job": "\x1b[2J\nup"}, notes=("a\x07b",)), reason="c\x1b[31md"
    )
    assert (found.sources, found.notes, found.reason) == (
        (Said("", "job up"),),
        (Said("Power", "a�b"),),
        "cd",
    )
