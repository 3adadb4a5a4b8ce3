"""The embedded Redis: its settings, and that Celery's transport can use its address."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import kombu
import pytest
import redis

from app.embedded import EmbeddedRedis

pytestmark = pytest.mark.redis


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedRedis]:
    folder = Path(tempfile.mkdtemp(prefix="ratchet-test-"))
    folder.chmod(0o755)
    with EmbeddedRedis(folder / "redis") as running:
        yield running
    shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("setting", "wanted"),
    [
        ("port", "0"),
        ("unixsocketperm", "700"),
        ("appendonly", "yes"),
        ("save", ""),
        ("maxmemory-policy", "noeviction"),
    ],
)
def test_server_is_set_up_as_promised(server: EmbeddedRedis, setting: str, wanted: str) -> None:
    with redis.Redis.from_url(server.client_url(), decode_responses=True) as client:
        assert client.config_get(setting) == {setting: wanted}


def test_message_goes_through_the_transport_of_celery(server: EmbeddedRedis) -> None:
    with kombu.Connection(server.url()) as connection, connection.SimpleQueue("hints") as queue:
        queue.put({"job_id": 7})
        message = queue.get(timeout=10)
        message.ack()
        assert message.payload == {"job_id": 7}
