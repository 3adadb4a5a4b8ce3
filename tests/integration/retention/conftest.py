"""A service that has been there for years: what is stored can be made older, and what is old deleted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from app.domain.results import CheckResult
from app.services.retention.prune_old import Tally, prune_old
from app.store.tables import Check, Table
from app.wiring import Service
from tests.factories import stored
from tests.factories.histories import Poster

AGES = [
    (table.name, column.name)
    for table in Table.metadata.sorted_tables
    for column in table.columns
    if column.name in ("created_at", "received_at", "sent_at", "concluded_at")
]
"""The columns that tell when something arrived."""


@dataclass
class Years:
    """A service, and the time that goes by."""

    service: Service
    poster: Poster
    rested_s: list[float] = field(default_factory=list)

    def go_by(self, days: float) -> None:
        """Have everything that is stored be so much older."""
        with self.service.database.session() as session:
            session.execute(text("alter table audit_log disable trigger audit_log_appends"))
            session.execute(text("alter table job disable trigger job_transition"))
            for table, column in AGES:
                query = f"update \"{table}\" set {column} = {column} - interval '1 day' * :days"
                session.execute(text(query), {"days": days})
            session.execute(text("alter table audit_log enable trigger audit_log_appends"))
            session.execute(text("alter table job enable trigger job_transition"))

    def check(self, result: CheckResult) -> int:
        """Store a check with all that is behind it, and return its id."""
        with self.service.database.session() as session:
            owner = stored.worker(session)
            stored.device(session, owner, "cpu-xeon-platinum-8488c-8t")
            row: Check = stored.check(session, result)
            return row.id

    def tallies(self, **options: Any) -> Iterable[Tally]:
        """Begin to prune; each step is one to go."""
        return prune_old(self.service.database, self.service.settings, pause=self.rested_s.append, **options)

    def prune(self, **options: Any) -> dict[str, int]:
        """Prune everything; return how many rows of each class were due, of those that had any."""
        last = {tally.policy.name: tally.rows for tally in self.tallies(**options)}
        return {name: rows for name, rows in last.items() if rows}

    def keep(self, **days: int) -> None:
        """Change how long something is kept."""
        self.service.settings = self.service.settings.model_copy(update=days)

    def count(self, table: str) -> int:
        """Return how many rows a table has."""
        return int(self.ask(f'select count(*) from "{table}"'))

    def ask(self, query: str, **values: Any) -> Any:
        """Return the one value that a query asks for."""
        with self.service.database.session() as session:
            return session.scalar(text(query), values)

    def do(self, statement: str, **values: Any) -> None:
        """Change something behind the service's back."""
        with self.service.database.session() as session:
            session.execute(text(statement), values)


@pytest.fixture
def years(client: TestClient, service: Service, admin_token: str) -> Years:
    return Years(service, Poster(client, service, admin_token))
