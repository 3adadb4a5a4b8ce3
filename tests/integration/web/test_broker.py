"""The broker as the health page sees it."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest

from app.domain.errors import UnavailableError
from app.embedded import EmbeddedRedis
from app.integrations.broker import RedisBroker
from app.integrations.queue import make_celery

pytestmark = pytest.mark.redis


def test_broker_that_answers_tells_its_version_and_one_that_ended_is_unavailable() -> None:
    folder = Path(tempfile.mkdtemp(prefix="ratchet-", dir="/tmp"))  # a socket's path has to be short
    try:
        with EmbeddedRedis(folder) as server:
            broker = RedisBroker(make_celery(server.url()))
            version, _, memory = broker.describe().partition(", ")
            assert version.startswith("Redis ")
            assert memory.endswith("iB in use")
        with pytest.raises(UnavailableError, match="does not answer"):
            broker.describe()
    finally:
        shutil.rmtree(folder)
