import pytest

from app.domain.metrics import METRICS, Assumption, metric
from app.domain.units import base_unit, parse_quantity, same_dimension

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
        ("hfu", "1", "higher", "sampled"),
        ("bandwidth_util", "1", "higher", "sampled"),
        ("flops_per_s", "FLOP/s", "higher", "sampled"),
        ("bytes_per_s", "B/s", "higher", "sampled"),
        ("arithmetic_intensity", "FLOP/B", None, "sampled"),
        ("energy_net_per_iter", "J", "lower", "sampled"),
        ("perf_per_watt", "units/J", "higher", "sampled"),
        ("cost_per_sample", "currency", "lower", "sampled"),
        ("scaling_efficiency", "1", "higher", "sampled"),
        ("comm_share", "1", "lower", "sampled"),
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


BUDGETS = {
    "s": "50 ms",
    "1/s": "2 k requests/s",
    "samples/s": "3 k samples/s",
    "tokens/s": "12 ktokens/s",
    "requests/s": "90 requests/s",
    "FLOP/s": "3.5 TFLOP/s",
    "B/s": "800 GB/s",
    "FLOP/B": "40 FLOP/B",
    "1": "40 %",
    "J": "1.2 kJ",
    "units/J": "3 samples/J",
    "currency": "0.02 EUR",
    "B": "2 GiB",
    "abs": None,
}
"""A limit for each unit of the catalogue; None where only a plain number is one."""


@pytest.mark.parametrize("entry", LISTED, ids=lambda entry: entry.name)
def test_budget_can_be_written_in_the_unit_of_the_metric(entry):
    limit = BUDGETS[entry.unit]
    if limit is not None:
        assert same_dimension(parse_quantity(limit).unit, entry.unit)


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("energy_per_iter", "300 W"),
        ("latency_p50", "1.2 kJ"),
        ("mfu", "3.5 TFLOP/s"),
        ("perf_per_watt", "40 J"),
        ("cost_per_sample", "1 s"),
        ("bytes_per_s", "800 GB"),
        ("tokens_per_s", "5 samples/s"),
    ],
)
def test_budget_in_another_kind_of_unit_does_not_fit(name, limit):
    assert not same_dimension(parse_quantity(limit).unit, metric(name).unit)
