"""The pages of docs say how Prometheus is asked about a week, with the limits that the code has."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.domain.device_use import IDLE_BELOW
from app.integrations.dcgm.steps import AT_ONCE, STEP_S
from app.services.weekly import make_due, watch

DOCS = Path(__file__).parents[4] / "docs"
WORDS = {1: "one", 5: "five", 10: "ten"}


def part(page: str, title: str) -> str:
    text = (DOCS / page).read_text(encoding="utf-8")
    return " ".join(text.partition(f"## {title}\n")[2].split())


@pytest.mark.parametrize(
    ("page", "title", "sentence"),
    [
        (
            "weekly-report.md",
            "What devices did while nobody held them",
            f"something ran in less than {IDLE_BELOW:.0%} of the time".replace("%", " %"),
        ),
        (
            "weekly-report.md",
            "What devices did while nobody held them",
            f"in steps of {WORDS[STEP_S / 60]} minutes",
        ),
        (
            "weekly-report.md",
            "When Prometheus is asked",
            f"waits for Prometheus {watch.WITHIN_S:g} s at the most",
        ),
        (
            "weekly-report.md",
            "When Prometheus is asked",
            f"used for {WORDS[watch.FRESH_S / 60]} minutes by whoever asks for the same week, one that is not whole for"
            f" {WORDS[watch.AGAIN_S / 60]}",
        ),
        (
            "weekly-report.md",
            "When Prometheus is asked",
            f"for {'an hour' if make_due.PATIENCE.total_seconds() == 3600 else 'another time'} at the most",
        ),
        ("dcgm.md", "A week of all GPUs", f"range queries of {AT_ONCE} devices each"),
    ],
)
def test_the_limits_on_the_pages_are_those_of_the_code(page: str, title: str, sentence: str) -> None:
    assert sentence in part(page, title)
