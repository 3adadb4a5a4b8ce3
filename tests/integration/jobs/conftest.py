"""An agent that is registered, and a way to ask for checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.factories.agent import FakeAgent
from tests.factories.checks import check_request

Ask = Callable[..., dict[str, Any]]


@pytest.fixture
def agent(client: TestClient, worker_token: str) -> FakeAgent:
    its_agent = FakeAgent(client, worker_token)
    assert its_agent.register().status_code == 200
    return its_agent


@pytest.fixture
def ask(client: TestClient, admin_token: str) -> Ask:
    def post(**fields: Any) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {admin_token}"}
        response = client.post("/api/v1/checks", json=check_request(**fields), headers=headers)
        assert response.status_code == 201, response.text
        document: dict[str, Any] = response.json()
        return document

    return post
