"""Somebody who posts histories, and whoever reads them."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from app.wiring import Service
from tests.factories.histories import Poster


@pytest.fixture
def poster(client: TestClient, service: Service, admin_token: str) -> Poster:
    return Poster(client, service, admin_token)
