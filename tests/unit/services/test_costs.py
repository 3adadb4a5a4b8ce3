"""What is stated of money: by a repository, by an installation's own file, and which of them counts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.config import ServiceSettings
from app.domain.costs import Costs
from app.domain.errors import SettingsError, UsageError
from app.services.costs import costs_document, installation_costs, stated_costs
from app.settings import read_settings

COSTS = """
[prices."gpu-*"]
hour = 2.5
currency = "EUR"
date = 2026-01-31

[[traffic]]
benchmark = "serve_*"
per_day = "2.5e9 tokens"
devices = "gpu-*"
date = 2026-02-01

[[traffic]]
benchmark = "*"
per_day = 1000
date = 2026-02-01

[power]
kwh = 0.2
currency = "EUR"
date = 2026-01-31
"""
REPOSITORY = '[project]\nname = "acme/vision"\n[[suite]]\nname = "s"\nbenchmarks = "bench_*.py"\n'


def settings(costs_file: object = "") -> ServiceSettings:
    return ServiceSettings(
        database_url="postgresql://u@h/d", redis_url="redis://h:6379/0", costs_file=str(costs_file)
    )


def costs_in(folder: Path, text: str) -> Costs:
    file = folder / "costs.toml"
    file.write_text(text, encoding="utf-8")
    return installation_costs(settings(file))


def test_costs_of_a_repository_are_the_same_after_a_job_has_kept_them():
    kept = json.loads(json.dumps(costs_document(read_settings(REPOSITORY + COSTS))))
    costs = stated_costs(kept)
    assert costs.price("gpu-h100").hour == 2.5
    assert costs.price("cpu-x") is None
    assert costs.power.pue == 1.0


def test_of_several_entries_that_fit_the_first_counts():
    costs = stated_costs(costs_document(read_settings(REPOSITORY + COSTS)))
    assert costs.traffic_of("serve_llm", "gpu-h100").unit == "tokens"
    assert costs.traffic_of("serve_llm", "cpu-x").unit == "1"
    assert costs.traffic_of("resize", "gpu-h100").per_day == 1000


def test_jobs_of_before_there_was_traffic_have_prices_alone():
    costs = stated_costs({"prices": [{"devices": "*", "hour": 1.0, "currency": "USD", "date": "2026-01-31"}]})
    assert costs.price("anything").currency == "USD"
    assert costs.traffic == ()
    assert costs.power is None


def test_a_projects_own_costs_go_before_the_installations(tmp_path):
    own = stated_costs(
        {"prices": [{"devices": "gpu-*", "hour": 9.0, "currency": "USD", "date": "2026-01-31"}]}
    )
    both = own.or_else(
        costs_in(tmp_path, COSTS + '[prices."cpu-*"]\nhour=1\ncurrency="EUR"\ndate=2026-01-31')
    )
    assert both.price("gpu-h100").hour == 9.0
    assert both.price("cpu-x").hour == 1.0
    assert both.power.kwh == 0.2


def test_no_file_states_nothing():
    assert installation_costs(settings()) == Costs()


def test_a_file_that_is_not_there_is_named_with_its_setting(tmp_path):
    with pytest.raises(
        UsageError, match=r"RATCHET_COSTS_FILE: .*nowhere\.toml cannot be read \(No such file"
    ):
        installation_costs(settings(tmp_path / "nowhere.toml"))


def test_a_file_of_costs_has_no_other_sections(tmp_path):
    with pytest.raises(
        SettingsError, match=r"costs\.toml:1: unknown section `suite`; known sections: \[prices\]"
    ):
        costs_in(tmp_path, "[[suite]]\nname = 's'\n")
