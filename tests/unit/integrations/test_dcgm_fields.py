import csv
from pathlib import Path

import pytest

from app.integrations.dcgm.fields import BY_NAME, FIELDS, SLOWED_BY, Kind
from workers.readings.record import READINGS, THROTTLE_BITS

BLANK_INTEGERS = [9223372036854775792, 9223372036854775793, 9223372036854775794, 9223372036854775795]
BLANK_FLOATS = [140737488355328.0, 140737488355329.0, 140737488355330.0, 140737488355331.0]
DOCUMENT = (Path(__file__).parents[3] / "docs" / "dcgm.md").read_text(encoding="utf-8")
OF_DCGM_ALONE = {"gr_engine_active", "power_w", "energy_j", "throttled"}


@pytest.mark.parametrize("metric", FIELDS)
@pytest.mark.parametrize("blank", BLANK_INTEGERS)
def test_a_blank_integer_of_dcgm_is_no_value(metric, blank):
    assert not FIELDS[metric].is_value(float(blank))


@pytest.mark.parametrize("metric", [m for m, field in FIELDS.items() if field.kind is not Kind.COUNTER])
@pytest.mark.parametrize("blank", BLANK_FLOATS)
def test_a_blank_float_of_dcgm_is_no_value(metric, blank):
    assert not FIELDS[metric].is_value(blank)


@pytest.mark.parametrize("metric", FIELDS)
def test_nothing_is_negative(metric):
    assert not FIELDS[metric].is_value(-1.0)


@pytest.mark.parametrize("metric", ["power_w", "sm_clock_hz", "mem_clock_hz", "energy_j"])
def test_zero_is_what_a_device_says_that_cannot_tell(metric):
    assert not FIELDS[metric].is_value(0.0)


@pytest.mark.parametrize("metric", ["sm_active", "pcie_tx_b_s", "util", "throttled"])
def test_zero_is_a_value_of_what_may_rest(metric):
    assert FIELDS[metric].is_value(0.0)


def test_a_share_may_be_rounded_above_one_and_not_be_more():
    assert FIELDS["sm_active"].is_value(1.000001)
    assert not FIELDS["sm_active"].is_value(1.294)


def test_every_name_of_an_exporter_means_one_metric():
    assert len(BY_NAME) == sum(len(field.names) for field in FIELDS.values())


@pytest.mark.parametrize("metric", FIELDS)
def test_a_line_for_the_counters_file_has_three_columns(metric):
    name, kind, help_text = next(csv.reader([FIELDS[metric].line], skipinitialspace=True))
    assert name in BY_NAME
    assert kind in ("gauge", "counter")
    assert help_text


def test_metrics_that_agents_read_too_have_their_names():
    assert set(FIELDS) - set(READINGS) <= OF_DCGM_ALONE


def test_what_slows_a_device_down_has_the_names_that_agents_give_it():
    at_rest = {"idle", "application_clocks", "display_clock"}
    assert {bit: name for bit, name in THROTTLE_BITS.items() if name not in at_rest} == SLOWED_BY


def test_every_metric_is_documented_with_its_field():
    for metric, field in FIELDS.items():
        assert f"`{metric}`" in DOCUMENT
        assert field.names[0].rpartition("DCGM_FI_PROF_")[2] in DOCUMENT


def test_lines_in_the_document_are_those_that_a_reading_names():
    block = DOCUMENT.split("```csv\n")[1].split("```")[0]
    assert set(block.splitlines()) <= {field.line for field in FIELDS.values()}
    profiling = {field.line for field in FIELDS.values() if field.profiling}
    assert profiling <= set(block.splitlines())
