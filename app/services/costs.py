"""What a project has stated of money: with its settings, or else in the installation's own file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.costs import ITERATIONS, Costs, Power, Traffic
from app.domain.errors import UsageError
from app.domain.hardware import Price
from app.settings import CostSettings, Settings, decode_settings, read_costs
from app.store.repositories import jobs
from app.store.tables import Project

CALLS = ("1", "iterations", "operations", "steps", "units")
"""Words for calls of a benchmark, which is also what a bare number counts."""


def costs_document(stated: Settings | CostSettings) -> dict[str, Any]:
    """Return what settings state of money as a job keeps it with its policy."""
    return {
        "prices": [
            {"devices": its.devices, "hour": its.hour, "currency": its.currency, "date": its.date.isoformat()}
            for its in stated.prices
        ],
        "traffic": [
            {
                "benchmark": its.benchmark,
                "devices": its.devices,
                "per_day": its.per_day.value,
                "unit": ITERATIONS if its.per_day.unit in CALLS else its.per_day.unit,
                "date": its.date.isoformat(),
            }
            for its in stated.traffic
        ],
        "power": None
        if stated.power is None
        else {
            "kwh": stated.power.kwh,
            "currency": stated.power.currency,
            "date": stated.power.date.isoformat(),
            "pue": stated.power.pue,
        },
    }


def stated_costs(document: Mapping[str, Any]) -> Costs:
    """Return the costs of such a document; jobs of earlier releases have prices alone."""
    power = document.get("power")
    return Costs(
        prices=tuple(
            Price(its["hour"], its["currency"], its["date"], its["devices"])
            for its in document.get("prices", ())
        ),
        traffic=tuple(
            Traffic(its["benchmark"], its["devices"], its["per_day"], its["unit"], its["date"])
            for its in document.get("traffic", ())
        ),
        power=Power(power["kwh"], power["currency"], power["date"], power["pue"]) if power else None,
    )


def installation_costs(settings: ServiceSettings) -> Costs:
    """Return what the file of `RATCHET_COSTS_FILE` states. Raises UsageError, SettingsError where it cannot be read."""
    if not settings.costs_file:
        return Costs()
    try:
        content = Path(settings.costs_file).read_bytes()
    except OSError as error:
        raise UsageError(
            f"RATCHET_COSTS_FILE: {settings.costs_file} cannot be read ({error.strerror}); it is a file with the "
            "sections [prices], [[traffic]] and [power] of a ratchet.toml"
        ) from None
    stated = read_costs(decode_settings(content, name=settings.costs_file), name=settings.costs_file)
    return stated_costs(costs_document(stated))


def costs_of(session: Session, project: Project, installation: Costs) -> Costs:
    """Return what a project's newest settings that have landed state, and the installation where they do not."""
    landed = jobs.newest_settled(session, project.id, project.branch)
    return (stated_costs(landed.policy) if landed else Costs()).or_else(installation)
