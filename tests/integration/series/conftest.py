"""Somebody who posts histories, and whoever reads them."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from app.wiring import Service
from tests.factories.histories import Poster, sha, store_all


@pytest.fixture
def poster(client: TestClient, service: Service, admin_token: str) -> Poster:
    return Poster(client, service, admin_token)


def grown(poster: Poster, values: list[float]) -> Poster:
    """Have a history of these latencies [ms]: the first and the last are posted, those between stored at once."""
    poster.tell(values[0], 0)
    store_all(poster.service, poster.series, [value / 1_000 for value in values[1:-1]], first=1)
    poster.tell(values[-1], len(values) - 1, parent=sha(len(values) - 2))
    return poster
