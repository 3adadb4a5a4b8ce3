"""What stands beside a history, in words."""

from __future__ import annotations

import pytest

from app.reports.mark_words import budget_words, epoch_words, failed_words, void_words


@pytest.mark.parametrize(
    ("verdict", "reason", "words"),
    [
        ("head_fails", "failed: raised", "Fails on head: an invocation failed: raised"),
        ("base_fails", None, "Fails on base"),
        ("not_measured", "invalid_environment", "Too many pairs were disturbed from outside"),
        (None, "queue_deadline", "No device was free in time"),
        (None, "some_new_code", "Some new code"),
        ("no_regression", None, "No value of it counts"),
        (None, None, "No value of it counts"),
    ],
)
def test_a_run_without_a_point_says_why(verdict: str | None, reason: str | None, words: str) -> None:
    assert failed_words(verdict, reason) == words


def test_machines_say_what_changed_and_how_much_more() -> None:
    facts = [
        ("driver", "550", "560"),
        ("kernel", "6.8", "6.9"),
        ("memory", "1\u202e B", "2 B"),
        ("model", "a", "b"),
    ]
    assert epoch_words(facts[:1], is_back=False) == "Another machine: driver 550 → 560"
    told = epoch_words(facts, is_back=True)
    assert told.startswith("A machine of before is back: driver 550 → 560, kernel 6.8 → 6.9, memory ")
    assert told.endswith(" → 2 B, 1 more")
    assert "\u202e" not in told


def test_void_values_are_counted_with_their_reasons() -> None:
    assert void_words(1, 12, None) == "1 of 12 values void"
    why = "another process was on the device; the hypervisor took processor time away"
    assert void_words(3, 12, ["foreign_process", "host_steal"]) == f"3 of 12 values void: {why}"


def test_limits_are_told_in_their_unit() -> None:
    assert budget_words(0.05, "s", is_minimum=False) == "budget: at most 50 ms"
    assert budget_words(1200.0, "tokens/s", is_minimum=True) == "budget: at least 1.2 k tokens/s"
