"""`docs/efficiency.md` says how the numbers of a week are made, with the limits that the code has."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.services.weekly import bottlenecks, hardware
from app.store.repositories import weekly_fleet

PAGE = (Path(__file__).parents[4] / "docs" / "efficiency.md").read_text(encoding="utf-8")
PART = " ".join(PAGE.partition("## In the weekly report")[2].split())


@pytest.mark.parametrize(
    "sentence",
    [
        f"at most {bottlenecks.RECENT.days // 7} weeks older",
        f"newest {bottlenecks.RUNS} of the runs",
        f"the last {bottlenecks.INVOCATIONS} invocations of each arm",
        f"Of more than {weekly_fleet.RUNS} runs",
        f"Of up to {hardware.PROJECTS} projects",
        f"up to {hardware.OTHERS} others each",
    ],
)
def test_the_limits_on_the_page_are_those_of_the_code(sentence: str) -> None:
    assert sentence in PART
