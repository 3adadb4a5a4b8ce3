"""The service on a port of its own, for whatever speaks real HTTP: browsers, clients, commands in other processes."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import uvicorn
from fastapi.testclient import TestClient

import app.commands.connection
from app.api.one_piece import OnePieceProtocol
from app.integrations.service_client import ServiceClient
from app.wiring import Service
from tests.factories.application import application


@contextmanager
def served(service: Service) -> Iterator[str]:
    """Serve on this machine, and yield the address."""
    config = uvicorn.Config(
        application(service),
        http=OnePieceProtocol,
        server_header=False,
        host="127.0.0.1",
        port=0,
        log_level="warning",
        lifespan="off",
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join()


def found_by_commands(client: TestClient, token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have commands of this process find the client's service running, under this token."""
    its = ServiceClient("http://testserver", token)
    its._http = client  # type: ignore[assignment]
    monkeypatch.setattr(its, "close", lambda: None)
    client.headers["Authorization"] = f"Bearer {token}"
    monkeypatch.setattr(app.commands.connection, "running_service", lambda: its)
