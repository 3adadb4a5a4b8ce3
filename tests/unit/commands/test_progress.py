import io
from typing import Any

import pytest

from app.commands.progress import follow


class Answers:
    """A service whose check is complete at once."""

    def __init__(self, **job: Any) -> None:
        known = {"suite": "unit", "device_class": "cpu-x", "state": "succeeded", "phase": "", "detail": ""}
        counted = {"pairs": 4, "settled": 0, "cases": 1, "device_s": 48.0, "budget_s": 60.0}
        self._job = {**known, **counted, "reason": None, "message": None, **job}

    def progress(self, check_id: int, seen: str) -> dict[str, Any]:
        return {"check": check_id, "version": "1", "state": "complete", "jobs": [self._job]}


@pytest.mark.parametrize(
    ("message", "told"),
    [
        (None, "unit · cpu-x  done: 4 pairs in 48 s\n"),
        ("a block takes about 30 s", "unit · cpu-x  done: 4 pairs in 48 s; a block takes about 30 s\n"),
    ],
)
def test_job_that_is_done_says_its_pairs_and_why_there_are_no_more(message: str | None, told: str) -> None:
    out = io.StringIO()
    follow(Answers(message=message), 1, out)
    assert out.getvalue() == told
