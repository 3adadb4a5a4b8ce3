"""How noisy a series is, why it has its grade, and what it can show, in words."""

from __future__ import annotations

from typing import Any

import pytest

from app.analysis.grades import smallest_effect
from app.analysis.history_noise import smallest_step
from app.services.weigh_noise import Devices, Known, Noise
from app.web.noise_words import detectable_sentence, noise_sentence

LOCKED, UNLOCKED, SHARED = Devices(False, True), Devices(False, False), Devices(True, True)


def noise(
    sds: list[float], devices: Devices | None = None, values: Any = (), metric: str = "latency_p50"
) -> Noise:
    known = Known({1: sds} if sds else {}, {"cpu": devices} if devices else {})
    return known.of(1, "cpu", metric, values)


@pytest.mark.parametrize(
    ("its", "grade", "words"),
    [
        (noise([0.003, 0.9, 0.001], LOCKED), "A", "pairs of a check differ by 0.30 % (3 runs), on a device of its own"),
        (noise([0.003], UNLOCKED), "B", "(1 run); its clocks are not locked"),
        (noise([0.003]), "B", "whether its clocks are locked nobody knows"),
        (noise([0.008], LOCKED), "B", "0.80 % (1 run), more than 0.5 %"),
        (noise([0.03], LOCKED), "C", "3.0 % (1 run), more than 2 %"),
        (noise([0.003], SHARED), "C", "its devices have other work, too"),
        (noise([], None, [1.0, 1.01] * 10), "B", "neighbouring points differ by 1.5 % (20 points), more than 0.5 %"),
        (noise([], LOCKED, [1.0, 2.0]), None, "2 points: too few to tell"),
        (noise([], LOCKED, [0.0] * 20), None, "20 points: too few to tell"),
        (noise([], LOCKED, [1024.0] * 20), None, "repeats, and is compared exactly"),
        (noise([], LOCKED, [1.0, 2.0], "peak_memory"), None, "repeats, and is compared exactly"),
    ],
)  # fmt: skip
def test_grade_comes_with_its_reason(its: Noise, grade: str | None, words: str) -> None:
    assert its.grade == grade
    assert words in noise_sentence(its)


def test_smallest_effect_is_that_of_pairs_or_else_of_the_history() -> None:
    assert detectable_sentence(noise([0.015])) == "at least 2 % beyond the minimum effect, in 32 pairs"
    assert detectable_sentence(noise([0.3])) == "over 10 % beyond the minimum effect, in 32 pairs"
    assert detectable_sentence(noise([], None, [1.0, 1.01] * 10)) == "at least 2.4 %, in 10 new points"
    assert detectable_sentence(noise([], None, [1.0, 1.0001] * 10)) == "at least 0.50 %, in 10 new points"
    assert detectable_sentence(noise([], None, [1.0])) == "–"
    assert smallest_effect(0.015) == 0.02
    assert smallest_step(0.0) == 0.0
