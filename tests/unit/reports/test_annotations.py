"""What is said where a benchmark is written."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain.results import CheckResult
from app.domain.verdicts import Conclusion, Verdict
from app.reports.pull_request import annotations_of
from tests.factories.results import (
    check,
    failing,
    hostile,
    in_files,
    measured,
    passed,
    regressed,
    suite,
    worst_case,
)


def test_each_benchmark_that_is_worse_has_one_note_worst_first() -> None:
    notes = annotations_of(in_files(regressed()))
    assert [(note.file, note.line) for note in notes] == [
        ("benchmarks/bench_resize.py", 3),
        ("benchmarks/bench_bert.py", 3),
    ]
    assert notes[1].title.startswith("bert[batch=32, dtype=bf16]/latency_p50 +")
    assert "bert[batch=32, dtype=bf16]/latency_p50 12." in notes[1].message


def test_several_results_of_one_benchmark_are_one_note() -> None:
    slower = [measured("bert", 0.05 * n, params={"batch": n}, m=2) for n in (1, 2)]
    notes = annotations_of(in_files(check(Conclusion.REGRESSED, suite(*slower))))
    (note,) = notes
    assert note.title.startswith("2 results are worse, first bert[batch=2]/latency_p50 +")
    assert [line.split("/")[0] for line in note.message.splitlines()] == ["bert[batch=2]", "bert[batch=1]"]


def test_what_fails_on_head_is_told_with_its_reason() -> None:
    notes = annotations_of(in_files(failing()))
    assert notes
    assert all("fails on head" in note.title or "are worse" in note.title for note in notes)


@pytest.mark.parametrize(
    "result", [in_files(passed()), regressed()], ids=["nothing is worse", "no file is known"]
)
def test_where_there_is_nothing_to_say_there_is_no_note(result: CheckResult) -> None:
    assert annotations_of(result) == ()


def test_there_are_no_more_than_github_takes_and_none_too_long() -> None:
    notes = annotations_of(in_files(worst_case()))
    assert len(notes) == 50
    many = [measured("bert", 0.1, params={"batch": n}, m=2) for n in range(40)]
    (note,) = annotations_of(in_files(check(Conclusion.REGRESSED, suite(*many))))
    assert note.message.splitlines()[-1] == "and 28 more results"
    assert all(len(note.title) <= 250 for note in (*notes, note))


def test_nothing_in_a_name_has_an_effect() -> None:
    result = in_files(hostile())
    bad = [replace(case, verdict=Verdict.REGRESSED) for case in result.suites[0].cases]
    for note in annotations_of(replace(result, suites=(replace(result.suites[0], cases=tuple(bad)),))):
        assert note.title.isprintable()
        assert all(line.isprintable() for line in note.message.split("\n"))
