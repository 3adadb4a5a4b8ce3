import pytest

from app.domain.verdicts import Conclusion, Verdict
from app.reports import words


def test_every_verdict_and_conclusion_has_a_word_of_its_own() -> None:
    assert set(words.VERDICTS) == {*Verdict, None}
    assert set(words.CONCLUSIONS) == {*Conclusion, None}
    for table in (words.VERDICTS, words.CONCLUSIONS):
        assert (
            len({word.mark for word in table.values()})
            == len({word.name for word in table.values()})
            == len(table)
        )


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("no_capacity", "no worker can take it"),
        ("infra: connection reset", "the worker or its connection failed: connection reset"),
        ("no_capacity:", "no worker can take it"),
        ("exit status 3", "exit status 3"),
        ("no_capacity: no TPU is connected", "no worker can take it: no TPU is connected"),
        (
            "list_failed: no_benchmarks: no file matches",
            "the benchmark files could not be loaded: no file matches",
        ),
        ("queue_deadline: no device was free in time", "no device was free in time"),
        ("Error: no such model", "Error: no such model"),
        ("made_up", "made_up"),
        (None, ""),
    ],
)
def test_reason_is_told_in_words_and_an_unknown_one_as_it_is(code: str | None, sentence: str) -> None:
    assert words.explain(code) == sentence


def test_flag_keeps_its_code_beside_its_meaning() -> None:
    assert words.explain_flag("budget") == "budget: over the absolute limit that a budget sets"
    assert words.explain_flag("made_up") == "made_up"


def test_numbers_and_lists_read_as_english() -> None:
    assert [words.count(n, "pair") for n in (0, 1, 2)] == ["0 pairs", "1 pair", "2 pairs"]
    assert words.listing([]) == ""
    assert words.listing(["a"]) == "a"
    assert words.listing(["a", "b", "c"]) == "a, b and c"
    assert words.counted(2, words.VERDICTS[Verdict.HEAD_FAILS]) == "fail on head"
