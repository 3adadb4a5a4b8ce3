"""A scrape as values, and a database in which there is something of every number."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi.testclient import TestClient
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import text

from app.services.metrics.catalogue import FORGE_CALLS, FORGE_QUOTA
from app.wiring import Service
from tests.factories import results, stored


@dataclass(frozen=True)
class Scraped:
    """What a scrape told, by the names that are in its text."""

    families: dict[str, Metric]

    def value(self, name: str, **labels: str) -> float | None:
        """Return the number of this name and exactly these labels; None where there is none."""
        for family in self.families.values():
            for sample in family.samples:
                if sample.name == name and sample.labels == labels:
                    return float(sample.value)
        return None

    def names(self) -> set[str]:
        """Return the names that some number has."""
        return {sample.name for family in self.families.values() for sample in family.samples}


def parsed(exposition: str) -> Scraped:
    """Return a scrape's text as values."""
    families = list(text_string_to_metric_families(exposition))
    assert len({family.name for family in families}) == len(families), "a name is told once"
    return Scraped({family.name: family for family in families})


def scrape(client: TestClient) -> Scraped:
    """Scrape once."""
    answer = client.get("/metrics")
    assert answer.status_code == 200, answer.text
    return parsed(answer.text)


def fill(service: Service) -> None:
    """Store something of everything that a scrape tells of."""
    with service.database.session() as session:
        for result in (results.regressed(), results.running(), results.queued()):
            stored.check(session, result)
        owner = stored.worker(session, "bench-07")
        stored.device(session, owner, "a100")
        for statement in _STATEMENTS:
            session.execute(text(statement), {"calls": FORGE_CALLS.name, "quota": FORGE_QUOTA.name})
    service.recorder.took_webhook("received", 0.02)


_STATEMENTS = (
    """
    insert into watermark (name, at) select name, clock_timestamp() - interval '5 seconds'
    from unnest(array['sweep', 'backup', 'retention']) as its(name)
    """,
    "insert into tally (name, label, value) values (:calls, '200', 5)",
    "insert into tally (name, label, value, until) values (:quota, '1', 4000, clock_timestamp() + interval '1 hour')",
)
