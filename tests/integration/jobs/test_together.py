"""A run's metrics judged together, and by what earlier runs say of their noise: through the API and PostgreSQL."""

from __future__ import annotations

import random
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from app.wiring import Service
from tests.factories.agent import FakeAgent, latency_listing, measurement
from tests.integration.jobs.conftest import Ask
from workers import protocol

pytestmark = pytest.mark.postgres

CASES = [protocol.CaseId(benchmark="resize", params={"batch": batch}) for batch in range(1, 13)]
LISTINGS = [latency_listing("resize", **case.params) for case in CASES]


@pytest.fixture
def cases_of(client: TestClient, admin_token: str) -> Any:
    """The cases of the only suite of a check, as the API tells them."""
    headers = {"Authorization": f"Bearer {admin_token}"}
    return lambda check_id: client.get(f"/api/v1/checks/{check_id}", headers=headers).json()["suites"][0][
        "cases"
    ]


def measure_all(agent: FakeAgent, slowdown: float, sd: float, *, seed: int = 5, blocks: int = 16) -> None:
    """Measure all cases until none is open, head slower by the factor given."""
    rng = random.Random(seed)
    still_open = agent.prepare(LISTINGS, LISTINGS).open
    for _ in range(blocks):
        for _ in range(2):
            for position, arm in enumerate(protocol.Arm.__args__):
                latency = 1e-3 * (slowdown if arm == "head" else 1.0)
                measured = [measurement(case, latency * (1 + rng.gauss(0, sd))) for case in still_open]
                message = agent.invocation(arm, agent.pairs, position, measured)
                response = agent.post(f"leases/{agent.lease.lease_id}/invocations", message)  # type: ignore[union-attr]
                assert response.status_code == 200, response.text
            agent.pairs += 1
        still_open = protocol.OpenCases.model_validate(response.json()).open
        if not still_open:
            break
    assert agent.finish().status_code == 200


def test_cases_that_slow_down_together_are_settled_at_the_level_that_they_share(
    agent: FakeAgent, ask: Ask, cases_of: Any
) -> None:
    check_id = ask()["check"]
    agent.claim()
    measure_all(agent, 1.05, 0.008)
    cases = cases_of(check_id)
    assert {case["verdict"] for case in cases} == {"regressed"}
    for case in cases:
        by_then = sum(other["n_pairs"] <= case["n_pairs"] for other in cases)
        assert case["ci_level"] == pytest.approx(1 - 0.01 * by_then / len(CASES))
        assert case["ci_low"] > 0.005
    assert min(case["ci_level"] for case in cases) == pytest.approx(0.99)
    assert len({case["n_pairs"] for case in cases}) > 1, "some were settled before others"


def test_every_look_of_a_case_is_kept_although_only_the_newest_are_judged(
    service: Service, agent: FakeAgent, ask: Ask
) -> None:
    ask()
    agent.claim()
    measure_all(agent, 1.0, 0.02)
    with service.database.session() as session:
        rows = session.execute(text("select n_pairs, looks, ci_low, ci_high from verdict")).all()
    assert max(n for n, *_ in rows) > 8
    for n, looks, low, high in rows:
        assert [look["n_pairs"] for look in looks] == list(range(2, n + 1, 2))
        assert (looks[-1]["low"], looks[-1]["high"]) == (low, high)


def test_noise_of_earlier_runs_is_in_the_plan_of_the_next_and_stays_there(
    service: Service, agent: FakeAgent, ask: Ask
) -> None:
    plans = []
    for seed in range(4):
        ask(head={"sha": f"{seed + 1:040x}"})
        agent.claim()
        measure_all(agent, 1.0, 0.004, seed=seed)
        with service.database.session() as session:
            query = text("select plan, sigma_pair from verdict where case_id = 1 order by id")
            rows = session.execute(query).all()
        assert [plan for plan, _ in rows[:-1]] == plans, "a later run changes no plan"
        plans.append(rows[-1][0])
    sds = [sd for _, sd in rows]
    assert [plan["past_freedom"] for plan in plans] == [0, 1, 2, 2]
    assert [plan["past_sd"] for plan in plans[:2]] == [0, sds[0]]
    assert plans[3]["past_sd"] == sorted(sds[:3])[1]
    assert plans[3]["g"] == pytest.approx(min(25, max(1, (plans[3]["tau"] / plans[3]["past_sd"]) ** 2)))


def test_memory_that_wanders_must_grow_by_more_than_its_tolerance_at_every_block(
    agent: FakeAgent, ask: Ask, cases_of: Any
) -> None:
    check_id = ask()["check"]
    agent.claim()
    memory = protocol.MetricDecl(metric="peak_memory", unit="B", better="lower", kind="exact")
    listing = latency_listing("resize").model_copy(update={"metrics": [memory]})
    case, rng = protocol.CaseId(benchmark="resize", params={}), random.Random(3)
    still_open = agent.prepare([listing], [listing]).open
    while still_open:
        for pair in range(2):
            for position, arm in enumerate(protocol.Arm.__args__):
                size = (1.019 if arm == "head" else 1.0) * (100, 103)[pair] * (1 + rng.gauss(0, 0.003))
                value = protocol.Value(
                    metric="peak_memory", value=size, unit="B", better="lower", kind="exact"
                )
                measured = measurement(case, 1e-3).model_copy(update={"values": [value]})
                message = agent.invocation(arm, agent.pairs, position, [measured])
                response = agent.post(f"leases/{agent.lease.lease_id}/invocations", message)  # type: ignore[union-attr]
                assert response.status_code == 200, response.text
            agent.pairs += 1
        still_open = protocol.OpenCases.model_validate(response.json()).open
    agent.finish()
    (found,) = cases_of(check_id)
    assert (found["kind"], found["flags"]) == ("sampled", ["kind_sampled"])
    assert found["verdict"] in ("no_regression", "inconclusive"), "worse, but by less than the tolerance"
    assert 0.005 < found["ci_low"] < found["change"] < 0.0202
