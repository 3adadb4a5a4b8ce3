"""What is wrong with a parameter, in words."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import Field, TypeAdapter, ValidationError

from app.services.alerts.alert_states import StateWord
from app.web.bad_parameters import parameter_sentence


def told(kind: Any, value: Any) -> str:
    """Return the sentence for a value of a parameter `p` that is none of its kind."""
    with pytest.raises(ValidationError) as refused:
        TypeAdapter(kind).validate_python(value)
    problems = refused.value.errors()
    return parameter_sentence([its | {"loc": ("query", "p", *its["loc"])} for its in problems])


@pytest.mark.parametrize(
    ("kind", "value", "wanted"),
    [
        (int, "x", "must be a whole number, not “x”."),
        (int, "-" + "9" * 5_000, "must be a number of fewer digits, not “-9"),
        (float, "x", "must be a number, not “x”."),
        (bool, "x", "must be 0 or 1, not “x”."),
        (Annotated[int, Field(ge=1)], "0", "must be 1 or more, not “0”."),
        (Annotated[int, Field(lt=5)], "7", "must be less than 5, not “7”."),
        (
            Annotated[str, Field(pattern="^a$")],
            "b",
            "must be without characters that it cannot have, not “b”.",
        ),
        (Annotated[tuple[int, ...], Field(max_length=1)], ("1", "2"), "must be given 1 times at the most"),
        (dict, "b", "must be something else, not “b”."),
    ],
)
def test_each_kind_of_mistake_has_its_words(kind: Any, value: Any, wanted: str) -> None:
    assert f"The parameter “p” {wanted}" in told(kind, value)


def test_all_words_that_may_stand_there_are_told() -> None:
    assert "one of new, acknowledged," in told(StateWord, "x")
    assert "noise, open, closed, all, not “x”." in told(StateWord, "x")


def test_a_parameter_that_is_missing_is_not_said_to_be_none() -> None:
    problem = {"type": "missing", "loc": ("query", "project"), "input": None}
    assert parameter_sentence([problem]) == "The parameter “project” is missing."


def test_what_is_wrong_with_a_whole_body_is_told_of_it() -> None:
    problem = {"type": "dict_type", "loc": ("body",), "input": "b"}
    assert parameter_sentence([problem]) == "The parameter “body” must be something else, not “b”."


def test_a_long_value_is_shortened() -> None:
    assert len(told(int, "x" * 5_000)) < 200
