import json

import pytest

from app.domain.arithmetic import divide
from app.domain.derived import Derived, Given, Note, derive, with_notes, without_value
from app.domain.errors import DataError

WORK = Given(600.0, "samples", "units() of bench_resnet.py")
TIME = Given(2.0, "min", "median of 12 invocations")


def rate(work: Given, time: Given, **options) -> Derived:
    inputs = {"work": work, "time": time}
    return derive("samples/s", "work / time", inputs, lambda of: divide(of["work"], of["time"]), **options)


def test_value_comes_with_its_formula_and_with_where_its_inputs_are_from():
    derived = rate(WORK, TIME)
    assert (derived.value, derived.unit, derived.formula, derived.notes) == (
        5.0,
        "samples/s",
        "work / time",
        (),
    )
    assert [(g.name, g.value, g.unit, g.origin) for g in derived.inputs] == [
        ("work", 600.0, "samples", "units() of bench_resnet.py"),
        ("time", 2.0, "min", "median of 12 invocations"),
    ]


def test_input_that_is_missing_gives_no_value_and_its_reason():
    derived = rate(WORK, Given(None, "s", "nothing was timed"))
    assert derived.value is None
    assert derived.notes == (Note("missing", "time is not known: nothing was timed"),)
    assert len(derived.inputs) == 2


def test_code_of_a_missing_input_is_its_own_or_the_formulas():
    nothing = Given(None, "s", "no clock")
    assert rate(WORK, nothing, missing_codes={"time": "no_time"}).codes == ("no_time",)
    own = Given(None, "s", "no clock", code="clock_stopped")
    assert rate(WORK, own, missing_codes={"time": "no_time"}).codes == ("clock_stopped",)


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_input_that_cannot_be_right_gives_no_value(value):
    derived = rate(WORK, Given(value, "s", "a clock"))
    assert (derived.value, derived.codes) == (None, ("invalid_input",))
    assert "(a clock)" in derived.notes[0].text


def test_zero_is_a_value_where_it_may_be_one():
    nothing = Given(0.0, "samples", "counted")
    assert rate(nothing, TIME).value is None
    assert rate(nothing, TIME, may_be_zero=["work"]).value == 0.0


def test_result_too_large_for_a_number_is_none():
    derived = rate(Given(1e308, "samples", "x"), Given(1e-9, "s", "y"))
    assert (derived.value, derived.codes) == (None, ("not_finite",))


def test_inputs_of_the_wrong_kind_are_refused_with_both_units():
    with pytest.raises(DataError, match='"samples/J" and "samples/s"') as refusal:
        rate(WORK, Given(2.0, "J", "a meter"))
    assert refusal.value.code == "mixed_units"


def test_figure_that_nobody_compared_is_used_and_noted():
    derived = rate(WORK, Given(120.0, "s", "a page", is_verified=False))
    assert (derived.value, derived.codes) == (5.0, ("not_verified",))


def test_derived_value_is_an_input_of_the_next_with_its_doubts():
    doubtful = rate(WORK, Given(120.0, "s", "a page", is_verified=False)).as_given()
    assert (doubtful.value, doubtful.unit, doubtful.origin, doubtful.is_verified) == (
        5.0,
        "samples/s",
        "work / time",
        False,
    )
    missing = rate(WORK, Given(None, "s", "nothing was timed", code="no_time")).as_given()
    assert (missing.value, missing.code) == (None, "no_time")
    assert "nothing was timed" in missing.origin


def test_notes_are_added_and_the_value_only_goes_where_that_is_asked():
    derived, note = rate(WORK, TIME), Note("odd", "this is odd")
    assert with_notes(derived, note).value == 5.0
    assert without_value(derived, note).value is None
    assert with_notes(derived, note).codes == without_value(derived, note).codes == ("odd",)


def test_document_is_plain_values():
    document = json.loads(json.dumps(rate(WORK, Given(120.0, "s", "a page", is_verified=False)).document()))
    assert document["value"] == 5.0
    assert document["inputs"][0] == {
        "name": "work",
        "value": 600.0,
        "unit": "samples",
        "origin": "units() of bench_resnet.py",
        "is_verified": True,
    }
    assert document["notes"] == [
        {"code": "not_verified", "text": "time was not compared with its source (a page)"}
    ]
