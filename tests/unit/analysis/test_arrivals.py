"""Where machines arrive in a history: a new one does, one that takes its turn again does not."""

from __future__ import annotations

import random

import pytest

from app.analysis.arrivals import AWAY, Arrival, arrivals

A, B, C = 1, 2, 3


def rows(machines: list[int], most: int = 40) -> list[int]:
    return [arrival.row for arrival in arrivals(machines, most=most)]


@pytest.mark.parametrize(
    ("machines", "wanted"),
    [
        ([], []),
        ([A] * 20, []),
        ([A] * 10 + [B] * 10, [10]),
        ([A] * 10 + [B] * 10 + [C] * 10, [10, 20]),
        ([0, A, A, 0, 0, B, 0, B], [5]),
        ([0, 0, A, 0], []),
    ],
)
def test_a_machine_that_was_not_there_arrives_and_one_that_is_not_told_is_none(
    machines: list[int], wanted: list[int]
) -> None:
    assert rows(machines) == wanted


def test_machines_that_take_turns_arrive_once() -> None:
    assert rows([A, B] * 100) == [1]
    draw = random.Random(1)
    fleet = [draw.choice([A, B, C, 4]) for _ in range(2_000)]
    assert len(rows(fleet)) == 3


def test_of_machines_that_take_turns_one_that_changes_is_seen() -> None:
    assert rows([A, B] * 20 + [C, B] * 20) == [1, 40]


def test_a_machine_that_had_left_arrives_again() -> None:
    away = [A] * 20 + [B] * (AWAY + 1) + [A] * 20
    assert arrivals(away, most=40) == [Arrival(20, (19,), False), Arrival(36, (35,), True)]
    assert rows([A] * 20 + [B] * (AWAY - 1) + [A] * 20) == [20], "it was away for a moment"


def test_machines_before_an_arrival_are_the_nearest_ones() -> None:
    assert arrivals([A, B, A, C], most=9)[-1] == Arrival(3, (2, 1), False)
    assert len(arrivals([*range(1, 12)], most=20)[-1].before) == 4


def test_machines_that_come_and_go_all_the_time_are_not_told() -> None:
    assert rows([*range(1, 60)]) == []
    blocks = ([A] * 30 + [B] * 30) * 20
    assert rows(blocks, most=40) == [30 * at for at in range(1, 40)]
    assert rows(blocks, most=20) == [30], "those that come back are left out first"
