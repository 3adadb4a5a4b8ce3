"""What `ratchet up` lets its own worker measure."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.local.data_dir import DataDir, read_secret
from app.local.stack import LocalStack, StackOptions
from app.services.access import Scope, principal_of_token
from app.wiring import Service

pytestmark = pytest.mark.postgres


@pytest.mark.parametrize(
    ("untrusted", "scopes"),
    [(False, {Scope.WORKER}), (True, {Scope.WORKER, Scope.WORKER_UNTRUSTED})],
    ids=["by default", "with --untrusted"],
)
def test_own_worker_takes_strangers_commits_only_when_told_to(
    service: Service, tmp_path: Path, untrusted: bool, scopes: set[Scope]
) -> None:
    data = DataDir(tmp_path / "data")
    data.make()
    options = StackOptions("127.0.0.1", 0, untrusted=untrusted)
    LocalStack(data, options, lambda _: None)._ensure_tokens(service.database)
    token = read_secret(data.worker_token)
    assert token is not None
    with service.database.session() as session:
        assert principal_of_token(session, token).everywhere == scopes
