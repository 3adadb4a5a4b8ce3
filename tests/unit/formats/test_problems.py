import pytest

from app.domain.errors import PayloadError
from app.formats.problems import MAX_PROBLEMS, Problems, did_you_mean, json_path, shown


@pytest.mark.parametrize(
    ("path", "written"),
    [
        ((), "body"),
        (("commit",), "commit"),
        (("results", 3, "values", 0), "results[3].values[0]"),
        (("results", 0, "params", "batch size"), 'results[0].params["batch size"]'),
        (("environment", "a\u202eb"), 'environment["a\\u202eb"]'),
        (("x" * 100,), f'["{"x" * 59}\\u2026"]'),
    ],
)
def test_path_is_written_as_people_read_it(path, written):
    assert json_path(path) == written


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (1.5, "1.5"),
        ("text", '"text"'),
        ("\ud800", '"\\ud800"'),
        ([1], "a list"),
        ({}, "an object"),
        (10**100, "a number of 101 characters"),
    ],
)
def test_value_is_shown_short_and_in_ascii(value, text):
    assert shown(value) == text


def test_nothing_is_refused_while_there_are_no_problems():
    Problems().refuse_if_any()


def test_problems_are_refused_together_in_the_order_found():
    problems = Problems()
    problems.add(("b",), "missing", "first")
    problems.add(("a",), "bad_type", "second", line=3)
    with pytest.raises(PayloadError) as refused:
        problems.refuse_if_any()
    assert [(p.path, p.code, p.line) for p in refused.value.problems] == [
        ("b", "missing", None),
        ("a", "bad_type", 3),
    ]


def test_reading_stops_at_the_fiftieth_problem():
    problems = Problems()
    for index in range(MAX_PROBLEMS - 1):
        problems.add((index,), "bad_type", "wrong")
    with pytest.raises(PayloadError) as refused:
        problems.add(("last",), "bad_type", "wrong")
    assert len(refused.value.problems) == MAX_PROBLEMS


def test_unknown_word_is_answered_with_the_nearest_or_with_all():
    assert did_you_mean("Comit", ["commit", "branch"]) == 'did you mean "commit"?'
    assert did_you_mean("zzz", ["commit", "branch"]) == "known are commit, branch"
