import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.errors import PayloadError
from app.formats.results_payload import MAX_RESULTS, MAX_VALUES, ResultsPayload, read_payload

DOCS = Path(__file__).parents[3] / "docs" / "api-results.md"
NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
RESULT = {
    "benchmark": "resize",
    "params": {"batch": 32, "dtype": "bf16"},
    "metric": "latency_p50",
    "unit": "ms",
    "better": "lower",
    "values": [1.1, 1.2, 1.3],
}
PAYLOAD = {
    "project": "acme/vision",
    "commit": "4F" * 20,
    "parent": "ab" * 20,
    "branch": "main",
    "time": "2026-11-20T09:30:00+01:00",
    "device_class": "nvidia-h100-sxm5-80gb",
    "environment": {"driver": "570.86", "gpus": [{"name": "H100"}]},
    "results": [RESULT],
}
LEAVE_OUT = object()


def read(document: object) -> ResultsPayload:
    return read_payload(json.dumps(document).encode(), now=NOW)


def problems_of(document: object) -> list[tuple[str, str]]:
    with pytest.raises(PayloadError) as refused:
        read(document)
    return [(problem.path, problem.code) for problem in refused.value.problems]


def payload_with(**changes: object) -> dict[str, object]:
    return {key: value for key, value in (PAYLOAD | changes).items() if value is not LEAVE_OUT}


def result_with(**changes: object) -> dict[str, object]:
    return payload_with(results=[{k: v for k, v in (RESULT | changes).items() if v is not LEAVE_OUT}])


def test_good_document_is_read_in_base_units():
    payload = read(PAYLOAD)
    assert payload.project == "acme/vision"
    assert payload.commit == "4f" * 20
    assert payload.parent == "ab" * 20
    assert payload.time == datetime(2026, 11, 20, 8, 30, tzinfo=UTC)
    assert payload.environment == PAYLOAD["environment"]
    assert payload.flags == ()
    (result,) = payload.results
    assert (result.benchmark, result.params, result.metric) == ("resize", RESULT["params"], "latency_p50")
    assert (result.unit, result.better, result.values) == ("s", "lower", (0.0011, 0.0012, 0.0013))
    assert result.flags == ()


@pytest.mark.parametrize("key", ["parent", "branch", "time", "environment"])
def test_optional_key_may_be_null_or_left_out(key):
    assert read(payload_with(**{key: None})) == read(payload_with(**{key: LEAVE_OUT}))


def test_params_may_be_left_out():
    assert read(result_with(params=LEAVE_OUT)).results[0].params == {}


def test_values_in_a_base_unit_are_kept_bit_for_bit():
    values = (0.1, 1 / 3, 5e-324, 1e300)
    assert read(result_with(unit="s", values=values)).results[0].values == values


def test_values_keep_their_order():
    assert read(result_with(unit="s", values=[3, 1, 2])).results[0].values == (3.0, 1.0, 2.0)


BAD_PAYLOADS = [
    ("a list", [], "body", "bad_type"),
    ("project missing", payload_with(project=LEAVE_OUT), "project", "missing"),
    ("project null", payload_with(project=None), "project", "bad_type"),
    ("project empty", payload_with(project=""), "project", "bad_length"),
    ("project of 256 bytes", payload_with(project="ä" * 128), "project", "bad_length"),
    ("project with a line feed", payload_with(project="a\nb"), "project", "bad_character"),
    ("project with an override", payload_with(project="a\u202eb"), "project", "bad_character"),
    ("project with an isolate", payload_with(project="a\u2066b"), "project", "bad_character"),
    ("project decomposed", payload_with(project="a\u0308"), "project", "not_nfc"),
    ("commit missing", payload_with(commit=LEAVE_OUT), "commit", "missing"),
    ("commit short", payload_with(commit="abc1234"), "commit", "bad_commit"),
    ("commit of 41 digits", payload_with(commit="a" * 41), "commit", "bad_commit"),
    ("commit not hexadecimal", payload_with(commit="g" * 40), "commit", "bad_commit"),
    ("commit in other digits", payload_with(commit="٣" * 40), "commit", "bad_commit"),
    ("commit a number", payload_with(commit=1), "commit", "bad_commit"),
    ("parent short", payload_with(parent="abc"), "parent", "bad_commit"),
    ("parent the commit", payload_with(parent="4f" * 20), "parent", "bad_commit"),
    ("branch a number", payload_with(branch=5), "branch", "bad_type"),
    ("time without offset", payload_with(time="2026-11-20T09:30:00"), "time", "bad_time"),
    ("time a date", payload_with(time="2026-11-20"), "time", "bad_time"),
    ("time no time", payload_with(time="yesterday"), "time", "bad_time"),
    ("time a number", payload_with(time=1_700_000_000), "time", "bad_time"),
    (
        "time that UTC has in 1969",
        payload_with(time="1970-01-01T00:00:00+14:00"),
        "time",
        "bad_time",
    ),
    ("time beyond all years", payload_with(time="9998-12-31T23:00:00-05:00"), "time", "bad_time"),
    ("time before all commits", payload_with(time="0001-01-01T00:00:00+23:59"), "time", "bad_time"),
    ("time after all clocks", payload_with(time="9999-12-31T23:59:59-23:59"), "time", "bad_time"),
    ("device class missing", payload_with(device_class=LEAVE_OUT), "device_class", "missing"),
    ("environment text", payload_with(environment="linux"), "environment", "bad_type"),
    ("unknown key", payload_with(comit="x"), "comit", "unknown_key"),
    ("results missing", payload_with(results=LEAVE_OUT), "results", "missing"),
    ("results empty", payload_with(results=[]), "results", "bad_type"),
    ("results an object", payload_with(results={}), "results", "bad_type"),
    ("results too many", payload_with(results=[0] * (MAX_RESULTS + 1)), "results", "too_many"),
    ("result a number", payload_with(results=[1]), "results[0]", "bad_type"),
    ("benchmark missing", result_with(benchmark=LEAVE_OUT), "results[0].benchmark", "missing"),
    ("unknown key of a result", result_with(value=1), "results[0].value", "unknown_key"),
    ("metric with a NUL", result_with(metric="a\x00"), "results[0].metric", "bad_character"),
    ("params a list", result_with(params=[]), "results[0].params", "bad_type"),
    ("param a list", result_with(params={"a": [1]}), "results[0].params.a", "bad_type"),
    ("param an object", result_with(params={"a": {}}), "results[0].params.a", "bad_type"),
    ("param without a name", result_with(params={"": 1}), 'results[0].params[""]', "bad_length"),
    ("param of bad text", result_with(params={"a b": "\x7f"}), 'results[0].params["a b"]', "bad_character"),
    ("params too many", result_with(params={str(i): i for i in range(33)}), "results[0].params", "too_many"),
    (
        "params too long",
        result_with(params={f"p{i}": "x" * 250 for i in range(8)}),
        "results[0].params",
        "too_long",
    ),
    ("unit empty", result_with(unit=""), "results[0].unit", "bad_length"),
    ("unit null", result_with(unit=None), "results[0].unit", "bad_type"),
    ("project of no address", payload_with(project="acme/../vision"), "project", "bad_value"),
    ("project that is no address", payload_with(project=".."), "project", "bad_value"),
    ("better wrong", result_with(better="smaller"), "results[0].better", "bad_value"),
    ("better unhashable", result_with(better=[]), "results[0].better", "bad_value"),
    ("values missing", result_with(values=LEAVE_OUT), "results[0].values", "missing"),
    ("values empty", result_with(values=[]), "results[0].values", "bad_type"),
    ("values a number", result_with(values=1.0), "results[0].values", "bad_type"),
    ("values too many", result_with(values=[1] * (MAX_VALUES + 1)), "results", "too_many"),
    ("value true", result_with(values=[1, True]), "results[0].values[1]", "not_a_number"),
    ("value text", result_with(values=["1"]), "results[0].values[0]", "not_a_number"),
    ("value null", result_with(values=[None]), "results[0].values[0]", "not_a_number"),
    ("value NaN", result_with(values=[1, float("nan")]), "results[0].values[1]", "not_finite"),
    ("value infinite", result_with(values=[float("inf")]), "results[0].values[0]", "not_finite"),
    ("value an integer of 400 digits", result_with(values=[10**400]), "results[0].values[0]", "out_of_range"),
    ("value too large", result_with(unit="s", values=[-1.1e300]), "results[0].values[0]", "out_of_range"),
    (
        "value too large in base",
        result_with(unit="TiB", values=[1e299]),
        "results[0].values[0]",
        "out_of_range",
    ),
    ("negative time", result_with(values=[1.0, -0.5]), "results[0].values[1]", "negative"),
    ("negative memory", result_with(unit="MiB", values=[-1]), "results[0].values[0]", "negative"),
    ("negative energy", result_with(unit="mJ", values=[-1]), "results[0].values[0]", "negative"),
    (
        "negative energy of a token",
        result_with(unit="J/token", values=[-1]),
        "results[0].values[0]",
        "negative",
    ),
]


@pytest.mark.parametrize(
    ("document", "path", "code"), [row[1:] for row in BAD_PAYLOADS], ids=[row[0] for row in BAD_PAYLOADS]
)
def test_bad_document_is_refused_with_path_and_code(document, path, code):
    assert problems_of(document) == [(path, code)]


def test_all_problems_are_listed_in_one_answer():
    results = [RESULT | {"better": "up"}, RESULT | {"values": [True, -1, "x"], "unit": ""}]
    assert problems_of(payload_with(comit="x", commit=LEAVE_OUT, results=results)) == [
        ("comit", "unknown_key"),
        ("commit", "missing"),
        ("results[0].better", "bad_value"),
        ("results[1].unit", "bad_length"),
        ("results[1].values[0]", "not_a_number"),
        ("results[1].values[2]", "not_a_number"),
    ]


def test_no_more_than_fifty_problems_are_listed():
    assert len(problems_of(result_with(values=[None] * 1000))) == 50


def test_unknown_key_is_answered_with_the_nearest_right_one():
    with pytest.raises(PayloadError, match='did you mean "device_class"'):
        read(payload_with(deviceclass="x"))


def test_same_series_twice_in_one_post_is_refused_whatever_the_order_of_params():
    again = RESULT | {"params": {"dtype": "bf16", "batch": 32}, "values": [9]}
    assert problems_of(payload_with(results=[RESULT, again])) == [("results[1]", "duplicate_result")]


@pytest.mark.parametrize(
    "change", [{"benchmark": "crop"}, {"metric": "latency_p99"}, {"params": {}}, {"params": {"batch": "32"}}]
)
def test_results_that_differ_in_benchmark_metric_or_params_are_both_taken(change):
    assert len(read(payload_with(results=[RESULT, RESULT | change])).results) == 2


@pytest.mark.parametrize("value", ["", "x", 0, -1.5, True, None, 2**70])
def test_param_may_be_any_scalar(value):
    assert read(result_with(params={"p": value})).results[0].params == {"p": value}


def test_quantities_that_may_be_negative_are_taken():
    assert read(result_with(unit="°C", values=[-3.5])).results[0].values == (-3.5,)


@pytest.mark.parametrize(
    ("values", "flags"),
    [
        ([0, 0.0], ("all_zero",)),
        ([0], ("all_zero",)),
        ([2.5, 2.5, 2.5], ("constant",)),
        ([2.5], ()),
        ([2**53], ()),
        ([1, 2**53 + 1], ("integer_above_2_53",)),
        ([2**60, 2**60], ("constant", "integer_above_2_53")),
        ([float(2**60), 1.0], ()),
    ],
)
def test_doubtful_sample_is_kept_and_flagged(values, flags):
    result = read(result_with(unit="s", values=values)).results[0]
    assert result.values == tuple(map(float, values))
    assert result.flags == flags


@pytest.mark.parametrize(
    ("offset", "flags"),
    [
        (timedelta(), ()),
        (timedelta(minutes=5), ()),
        (timedelta(minutes=5, seconds=1), ("client_time",)),
        (timedelta(days=-30), ()),
        (timedelta(days=-30, seconds=-1), ("client_time",)),
    ],
)
def test_time_far_from_the_services_is_flagged_and_not_refused(offset, flags):
    payload = read(payload_with(time=(NOW + offset).isoformat()))
    assert payload.flags == flags
    assert payload.time == NOW + offset


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["lower", "ms", "4f" * 20, "2026-11-20T09:30:00Z"])
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*PAYLOAD, *RESULT]) | st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=10,
)


def read_or_refuse(body: bytes) -> None:
    """Read, or refuse with an answer that can be sent: no lone surrogate of the input is in it."""
    try:
        read_payload(body, now=NOW)
    except PayloadError as refused:
        json.dumps([vars(problem) for problem in refused.problems], ensure_ascii=False).encode()


@given(st.binary())
def test_arbitrary_bytes_raise_nothing_but_payload_errors(body):
    read_or_refuse(body)


@settings(max_examples=300)
@given(
    st.dictionaries(st.sampled_from([*PAYLOAD]), ANYTHING),
    st.dictionaries(st.sampled_from([*RESULT]), ANYTHING),
)
def test_arbitrary_fields_raise_nothing_but_payload_errors(fields, result_fields):
    document = PAYLOAD | {"results": [RESULT | result_fields]} | fields
    read_or_refuse(json.dumps(document).encode())


def test_documents_example_is_a_good_document():
    example = next(block for block in DOCS.read_text().split("```json")[1:] if '"results"' in block).split(
        "```"
    )[0]
    assert read_payload(example.encode(), now=NOW).flags == ()


@pytest.mark.parametrize("code", sorted({row[-1] for row in BAD_PAYLOADS}))
def test_every_code_is_documented(code):
    assert f"`{code}`" in DOCS.read_text()


def test_what_is_known_of_a_commit_may_come_along():
    payload = read(payload_with(position=7, author="Ada 💡", subject="<b>faster</b>"))
    assert (payload.position, payload.author, payload.subject) == (7, "Ada 💡", "<b>faster</b>")


@pytest.mark.parametrize("position", [-1, 2**31, 1.5, True, "7"])
def test_position_that_is_no_place_on_a_branch_is_refused(position):
    assert problems_of(payload_with(position=position)) == [("position", "bad_value")]


def test_results_that_say_when_they_were_measured_are_backdated_and_their_commit_is_not_far():
    payload = read(payload_with(time="2019-05-01T00:00:00Z", measured_at="2019-05-01T00:00:00Z"))
    assert (payload.measured_at, payload.flags) == (datetime(2019, 5, 1, tzinfo=UTC), ("backdated",))


def test_commit_that_is_younger_than_its_measurement_is_flagged():
    payload = read(payload_with(time="2019-05-02T00:00:00Z", measured_at="2019-05-01T00:00:00Z"))
    assert payload.flags == ("backdated", "client_time")


def test_measurement_that_has_not_been_made_yet_is_refused():
    assert problems_of(payload_with(measured_at="2026-11-22T00:00:00Z")) == [("measured_at", "bad_time")]


def test_summary_tells_the_spread_in_base_units():
    (result,) = read(result_with(values=[2.0], low=1.5, high=4)).results
    assert (result.values, result.low, result.high) == ((0.002,), 0.0015, 0.004)


def test_without_a_summary_the_spread_is_that_of_the_values():
    (result,) = read(PAYLOAD).results
    assert (result.low, result.high) == (min(result.values), max(result.values))


@pytest.mark.parametrize(
    ("bounds", "problem"),
    [
        ({"low": 1.15}, ("results[0].low", "out_of_range")),
        ({"high": 1.25}, ("results[0].high", "out_of_range")),
        ({"low": "little"}, ("results[0].low", "not_a_number")),
        ({"high": 1e301}, ("results[0].high", "out_of_range")),
    ],
)
def test_bound_that_cannot_be_one_is_refused_at_its_path(bounds, problem):
    assert problems_of(result_with(**bounds)) == [problem]
