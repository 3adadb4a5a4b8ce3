"""How long each class of data is kept."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from app.config import SHORTEST_D, ServiceSettings
from app.services.retention.policy import POLICIES

OPERATIONS = (Path(__file__).parents[3] / "docs" / "operations.md").read_text(encoding="utf-8")


def settings(**given: Any) -> ServiceSettings:
    return ServiceSettings(database_url="postgresql://", redis_url="redis://", **given)


def test_classes_have_names_of_their_own() -> None:
    assert len({policy.name for policy in POLICIES}) == len(POLICIES)


def test_every_setting_of_an_age_is_of_some_class() -> None:
    ages = {name for name in ServiceSettings.model_fields if name.startswith("keep_")}
    assert {policy.setting for policy in POLICIES} == ages


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_zero_days_are_for_ever(policy: Any) -> None:
    assert policy.keep(settings(**{policy.setting: 0})) is None
    assert policy.keep(settings(**{policy.setting: 100})) == timedelta(days=100)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_every_class_is_documented_with_its_setting(policy: Any) -> None:
    [row] = [line for line in OPERATIONS.splitlines() if line.startswith(f"| `{policy.name}` |")]
    assert f"`RATCHET_{policy.setting.upper()}`" in row


@pytest.mark.parametrize("name", SHORTEST_D)
def test_what_is_needed_for_a_while_is_forgotten_no_sooner(name: str) -> None:
    settings(**{name: SHORTEST_D[name]})
    with pytest.raises(ValidationError, match=f"at least {SHORTEST_D[name]} days"):
        settings(**{name: SHORTEST_D[name] - 1})
