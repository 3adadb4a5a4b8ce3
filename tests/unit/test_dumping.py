"""pg_dump reaches the database as the service does, and no list of processes shows a secret."""

from __future__ import annotations

from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict

from app.services.backups.dumping import dumped
from app.store.session import database_url

ADDRESS = (
    "postgresql://ann:s%40cret@db.example:5433/perf?sslmode=verify-full&sslcert=/c%20c.pem&sslkey=/k.pem&hostaddr=10.0.0.1"
    "&channel_binding=require&gssencmode=disable&passfile=/pass&sslcrl=/crl.pem&sslpassword=hidden"
)


@pytest.fixture
def pg_dump(tmp_path: Path) -> Path:
    """A program that writes what it was called with."""
    path = tmp_path / "pg_dump"
    path.write_text(
        "#!/usr/bin/env python3\nimport os, sys\nprint(os.environ.get('PGPASSWORD'), *sys.argv[1:], sep='\\0')\n"
    )
    path.chmod(0o755)
    return path


def called(pg_dump: Path, address: str) -> tuple[str, list[str], dict[str, object]]:
    with dumped(pg_dump, database_url(address), "snap") as source:
        password, *arguments = source.read().decode().rstrip().split("\0")
    (target,) = (one.removeprefix("--dbname=") for one in arguments if one.startswith("--dbname="))
    return password, arguments, conninfo_to_dict(target)


def test_all_options_of_the_address_are_taken_but_its_secrets(pg_dump: Path) -> None:
    password, arguments, target = called(pg_dump, ADDRESS)
    assert password == "s@cret"
    assert not [one for one in arguments if "s@cret" in one or "hidden" in one]
    assert target == {
        "host": "db.example",
        "port": "5433",
        "user": "ann",
        "dbname": "perf",
        "sslmode": "verify-full",
        "sslcert": "/c c.pem",
        "sslkey": "/k.pem",
        "hostaddr": "10.0.0.1",
        "channel_binding": "require",
        "gssencmode": "disable",
        "passfile": "/pass",
        "sslcrl": "/crl.pem",
    }


def test_socket_and_password_of_the_query_are_taken(pg_dump: Path) -> None:
    password, _, target = called(pg_dump, "postgresql:///perf?host=/run/pg&port=5&user=ann&password=secret")
    assert password == "secret"
    assert target == {"host": "/run/pg", "port": "5", "user": "ann", "dbname": "perf"}
