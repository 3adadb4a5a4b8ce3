import json

import pytest

from workers.measuring.commands import ResultFileError, measurements, read_lines
from workers.protocol import Value

RATE = {"metric": "tokens_per_s", "value": 10.0, "unit": "tokens/s", "better": "higher"}


def lines_of(path, *lines):
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return read_lines(path.parent, path)


def measured(path, *lines):
    return measurements(lines_of(path, *lines), "serving")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "result.jsonl"


def test_a_program_that_writes_nothing_has_no_lines(path):
    assert read_lines(path.parent, path) is None
    path.write_text("\n \n")
    assert read_lines(path.parent, path) is None


def test_the_value_of_a_metric_is_the_median_of_its_lines(path):
    (case,) = measured(path, RATE, RATE | {"value": 40.0}, RATE | {"value": 20.0})
    assert case.values == [Value(metric="tokens_per_s", value=20.0, unit="tokens/s", better="higher")]
    assert (case.benchmark, case.params, case.clock, case.status) == ("serving", {}, "self", "ok")


def test_lines_may_be_about_several_cases(path):
    small, large = ({"benchmark": "decode", "params": {"batch": size}} for size in (1, 32))
    cases = measured(path, RATE | small, RATE | large, RATE | small, RATE)
    assert [(case.benchmark, case.params) for case in cases] == [
        ("decode", {"batch": 1}),
        ("decode", {"batch": 32}),
        ("serving", {}),
    ]


@pytest.mark.parametrize("phase", ["warmup", "load", ""])
def test_lines_of_another_phase_are_left_out(path, phase):
    (case,) = measured(path, RATE | {"value": 1000.0, "phase": phase}, RATE | {"phase": "measure"})
    assert case.values[0].value == 10.0


def test_a_file_with_nothing_of_the_measuring_phase_is_refused(path):
    with pytest.raises(ResultFileError, match=r"^result_parse_error: no line"):
        lines_of(path, RATE | {"phase": "warmup"})


def test_batches_give_the_median_latency_of_an_iteration(path):
    (case,) = measured(
        path, *({"batch": n, "k": 4, "host_ns": ns} for n, ns in enumerate((4000, 8000, 40000)))
    )
    assert case.values == [Value(metric="latency_p50", value=2e-6, unit="s", better="lower")]
    assert (case.k, case.batches.host_ns) == (4, [4000, 8000, 40000])


def test_batches_of_different_sizes_are_kept_as_times_of_one_iteration(path):
    (case,) = measured(path, {"batch": 0, "k": 2, "host_ns": 200}, {"batch": 1, "k": 4, "host_ns": 400})
    assert (case.k, case.batches.host_ns) == (1, [100, 100])


def test_device_times_are_kept_where_every_batch_has_one(path):
    whole = [{"batch": n, "host_ns": 200, "device_ns": 150} for n in range(2)]
    assert measured(path, *whole)[0].batches.device_ns == [150, 150]
    assert measured(path, *whole, {"batch": 2, "host_ns": 200})[0].batches.device_ns == []


def test_a_latency_of_the_programs_own_is_not_doubled(path):
    own = {"metric": "latency_p50", "value": 3.0, "unit": "s", "better": "lower"}
    (case,) = measured(path, own, {"batch": 0, "host_ns": 5})
    assert [value.value for value in case.values] == [3.0]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "line 2 is no JSON"),
        ("[" * 100_000, "line 2 is no JSON"),
        ('"text"', "line 2"),
        (RATE | {"value": "10"}, "line 2: value"),
        (RATE | {"value": True}, "line 2: value"),
        (RATE | {"better": "more"}, "line 2: better"),
        ({"metric": "x", "value": 1.0, "better": "lower"}, "line 2: unit: Field required"),
        ({"value": 1.0, "unit": "s", "better": "lower"}, "line 2: metric"),
        (RATE | {"params": {"sizes": [1, 2]}}, "line 2: params"),
        ({"batch": 0, "host_ns": 0}, "line 2: host_ns"),
        ({"batch": 0, "host_ns": 1, "k": 0}, "line 2: k"),
    ],
)
def test_a_malformed_line_is_named(path, line, problem):
    with pytest.raises(ResultFileError, match=f"^result_parse_error: {problem}"):
        lines_of(path, RATE, line)


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity"])
def test_a_value_that_is_not_finite_is_invalid(path, value):
    with pytest.raises(ResultFileError, match=r"^invalid_value: line 1: x is"):
        lines_of(path, RATE | {"metric": "x", "value": float(value)})


def test_a_metric_that_changes_its_unit_is_refused(path):
    with pytest.raises(ResultFileError, match="tokens_per_s changes its unit"):
        measured(path, RATE, RATE | {"unit": "ktokens/s"})
