import pytest

from app.domain.metrics import METRICS, Assumption, metric
from app.domain.units import base_unit

LISTED = METRICS.values()


@pytest.mark.parametrize("entry", LISTED, ids=lambda entry: entry.name)
def test_entry_is_complete(entry):
    assert METRICS[entry.name] is entry
    assert entry.title[0].isupper()
    assert entry.title != entry.name
    assert entry.definition
    assert 0 <= entry.noise_floor <= 0.02


@pytest.mark.parametrize("entry", LISTED, ids=lambda entry: entry.name)
def test_entry_is_kept_in_a_base_unit(entry):
    assert base_unit(entry.unit) == entry.unit


@pytest.mark.parametrize("entry", LISTED, ids=lambda entry: entry.name)
def test_only_what_is_never_compared_has_no_better_direction(entry):
    assert (entry.better is None) == (entry.assumption is Assumption.DESCRIPTIVE)


@pytest.mark.parametrize("entry", LISTED, ids=lambda entry: entry.name)
def test_only_repeatable_metrics_are_compared_exactly_and_without_a_noise_floor(entry):
    repeatable = entry.assumption is Assumption.REPEATABLE
    assert (entry.kind == "exact") == repeatable
    assert not (repeatable and entry.noise_floor)


@pytest.mark.parametrize(
    ("name", "unit", "better", "kind"),
    [
        ("latency_p50", "s", "lower", "sampled"),
        ("latency_p90", "s", "lower", "sampled"),
        ("latency_p99", "s", "lower", "sampled"),
        ("samples_per_s", "samples/s", "higher", "sampled"),
        ("tokens_per_s", "tokens/s", "higher", "sampled"),
        ("requests_per_s", "requests/s", "higher", "sampled"),
        ("peak_memory", "B", "lower", "exact"),
        ("wall_time", "s", "lower", "sampled"),
        ("compile_s", "s", "lower", "sampled"),
        ("startup_s", "s", "lower", "sampled"),
        ("first_call_s", "s", "lower", "sampled"),
        ("cold_start_s", "s", "lower", "sampled"),
        ("recompiles", "1", "lower", "exact"),
        ("accuracy_drop", "abs", "lower", "exact"),
        ("mfu", "1", "higher", "sampled"),
        ("span_queue", "s", "lower", "sampled"),
        ("sm_active", "1", None, "sampled"),
    ],
)
def test_metric_is_found_by_its_name(name, unit, better, kind):
    entry = metric(name)
    assert (entry.unit, entry.better, entry.kind) == (unit, better, kind)


@pytest.mark.parametrize("name", ["", "latency", "LATENCY_P50", "widgets_per_s"])
def test_unknown_metric_is_none(name):
    assert metric(name) is None


def test_titles_tell_metrics_apart():
    assert len({entry.title for entry in LISTED}) == len(METRICS)
