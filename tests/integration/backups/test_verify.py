"""Every invariant by its name: a service that worked breaks none, and a broken one is told with what breaks it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text
from sqlalchemy.orm import Session

from app.services.conclude_check import conclude_check
from app.services.verify import Finding, findings, verify
from app.store.repositories.invariants import GUARDS, INVARIANTS
from app.tasks import examine_project
from app.wiring import Service
from tests.factories.agent import FakeAgent, latency_listing
from tests.factories.checks import check_request
from tests.factories.posted_results import post_results, posted_document
from tests.factories.violations import PLANTED, plant
from workers import protocol

pytestmark = pytest.mark.postgres

LISTING = latency_listing("resize")
CASE = protocol.CaseId(benchmark="resize")


@pytest.fixture
def worked(service: Service, client: TestClient, worker_token: str, admin_token: str) -> Service:
    """A service with a check that was measured, one that is being measured, and results that were examined."""
    agent = FakeAgent(client, worker_token)
    assert agent.register().status_code == 200
    headers = {"Authorization": f"Bearer {admin_token}"}
    checks = []
    for number in (1, 2):
        wanted = check_request(key=f"check-{number}")
        checks.append(client.post("/api/v1/checks", json=wanted, headers=headers).json()["check"])
    assert agent.claim() is not None
    answer = agent.prepare([LISTING], [LISTING])
    while answer.open:
        answer = agent.block(
            CASE, lambda arm, pair: 0.01 * (1 + 0.002 * ((pair * 7 + (arm == "head") * 3) % 5 - 2))
        )
    assert agent.finish().status_code == 200
    with service.database.session() as session:
        assert conclude_check(session, checks[0]) is not None
        session.execute(text("update device set available_at = null"))
    assert agent.claim() is not None
    for n in range(3):
        post_results(client, admin_token, posted_document(commit=f"{n:040x}"))
    with service.database.session() as session:
        projects = session.scalars(text("select id from project")).all()
    for project_id in projects:
        examine_project(service, project_id)
    return service


def broken(findings_: Iterable[Finding]) -> dict[str, Finding]:
    return {finding.name: finding for finding in findings_ if not finding.is_good}


def test_every_invariant_has_a_violation_planted_here() -> None:
    assert list(PLANTED) == [invariant.name for invariant in INVARIANTS]


def test_every_guard_of_the_database_is_looked_for(service: Service) -> None:
    with service.database.session() as session:
        query = "select tgname from pg_trigger where not tgisinternal"
        assert set(session.scalars(text(query))) == set(GUARDS)


def test_what_must_not_be_is_found_by_its_name(worked: Service) -> None:
    with worked.database.session() as session:
        assert broken(verify(session)) == {}, "a service that worked breaks none"
    for name in PLANTED:
        with Session(worked.database.engine) as session:
            plant(session, name)
            its = broken(findings(session)).get(name)
            session.rollback()
        assert its is not None, name
        assert its.n >= 1
        assert its.examples


def ratchet(url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"RATCHET_DATABASE_URL": url}
    command = [sys.executable, "-P", "-m", "app.cli", *arguments]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=False)


def test_command_says_what_is_wrong_in_the_database_and_in_a_backup_of_it(
    worked: Service, database_url: str, tmp_path: Path
) -> None:
    with worked.database.session() as session:
        plant(session, "one_thing_told_once")
        plant(session, "one_lease_a_device")
    done = ratchet(database_url, "verify", "--json")
    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout)
    assert document["good"] is False
    wrong = {one["name"]: one["n"] for one in document["checks"] if one["n"]}
    assert wrong["one_thing_told_once"] == 1
    assert wrong["one_lease_a_device"] >= 1
    made = ratchet(database_url, "backup", "--to", str(tmp_path))
    assert made.returncode == 0, made.stderr
    of_file = ratchet(database_url, "verify", made.stdout.strip())
    assert of_file.returncode == 1, of_file.stderr
    assert "     1  one_thing_told_once" in of_file.stdout
    for name, n in wrong.items():
        assert f"{n:>6}  {name} " in of_file.stdout, "no more is mended on the way than in the database"
