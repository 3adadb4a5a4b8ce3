"""`ratchet setup` leaves tokens that the database knows, and leaves alone those that it knows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.services.access import Scope, is_issued, issue_token
from app.wiring import Service

pytestmark = pytest.mark.postgres


def set_up(url: str, folder: Path) -> None:
    env = os.environ | {
        "RATCHET_DATABASE_URL": url,
        "RATCHET_REDIS_URL": "redis://",
        "RATCHET_DATA_DIR": str(folder),
    }
    command = [sys.executable, "-P", "-m", "app.cli", "setup", "--token-dir", str(folder)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_token_of_another_database_is_issued_anew_and_a_known_one_stays(
    service: Service, database_url: str, tmp_path: Path
) -> None:
    with service.database.session() as session:
        known = issue_token(session, "worker", [Scope.WORKER])
    (tmp_path / "worker-token").write_text(known + "\n")
    (tmp_path / "admin-token").write_text(f"ratchet_{'a' * 12}_{'b' * 64}\n")
    set_up(database_url, tmp_path)
    assert (tmp_path / "worker-token").read_text().strip() == known
    with service.database.session() as session:
        assert is_issued(session, (tmp_path / "admin-token").read_text().strip())
        assert not is_issued(session, known[:-1] + ("0" if known[-1] != "0" else "1"))
        assert not is_issued(session, "")
