"""What a program may say of who is told, and how: as JSON has it, and nothing that only looks like it."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from app.api.notifiers import WishesBody
from app.domain.notifications import Wishes


@pytest.mark.parametrize(
    "wrong", [{"empty_digests": 0}, {"min_change": "0.05"}, {"hour": True}, {"about": "checks"}]
)
def test_values_of_another_kind_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        WishesBody.model_validate(wrong)


def test_wishes_are_read_from_json_as_they_are_written() -> None:
    told = b'{"about": ["checks"], "pace": "weekly", "min_change": 1, "empty_digests": true, "hour": 7}'
    wishes = WishesBody.model_validate_json(told).on(Wishes())
    assert (wishes.about, wishes.pace, wishes.empty_digests) == (("checks",), "weekly", True)
    assert (wishes.min_change, wishes.hour) == (1.0, 7)
