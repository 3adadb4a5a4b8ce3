"""The embedded PostgreSQL: a cluster with a role and a database `ratchet`, reached over a private socket.

Whoever can enter the socket folder is trusted: the account that runs the server, and root. The role `ratchet`
owns its database and may create others; the superuser is `postgres`.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from app.domain.errors import ConflictError, UnavailableError
from app.embedded.binaries import find_postgres, reachable_folder
from app.embedded.folders import give_folder
from app.embedded.server import EmbeddedServer

if TYPE_CHECKING:
    import psycopg

ROLE = "ratchet"
PORT = 5432
"""Part of the socket's name; no port is opened."""
INITDB_S = 120.0
SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "port": str(PORT),
    "shared_buffers": "128MB",
    "max_connections": "100",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_checkpoints": "off",
}
UNSAFE_SETTINGS = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}


class EmbeddedPostgres(EmbeddedServer):
    """A PostgreSQL server of our own on the folder `data_dir`.

    `fast_and_unsafe` is for tests: a crash may lose the last commits, a power failure the whole cluster.
    """

    title = "PostgreSQL"
    stop_signal = "INT"  # "fast": sessions are ended, then a checkpoint is written
    grace_s = 20.0

    def __init__(self, data_dir: Path, *, fast_and_unsafe: bool = False) -> None:
        super().__init__(data_dir)
        self._unsafe = fast_and_unsafe

    def url(self, database: str = ROLE) -> str:
        """Return the SQLAlchemy URL of `database` for the role `ratchet`; the server need not run."""
        host = quote(str(self.socket_folder), safe="")
        return f"postgresql+psycopg://{ROLE}@/{quote(database, safe='')}?host={host}&port={PORT}"

    def _prepare(self, lock: int) -> list[str]:
        version = self.data / "PG_VERSION"
        major = int(version.read_text()) if version.exists() else None
        programs = reachable_folder(find_postgres(major), self.account, self.data_dir)
        if major is None:
            self._initialise(programs / "initdb", lock)
        give_folder(self.data, self.account)
        self._check_pid_file()
        return self._command(programs / "postgres")

    def _initialise(self, initdb: Path, lock: int) -> None:
        """Create the cluster aside and move it into place: an interrupted start leaves none by half."""
        if self.data.exists() and any(self.data.iterdir()):
            raise ConflictError(
                f"{self.data} holds files that are no PostgreSQL cluster; choose another data folder"
            )
        fresh = self.data_dir / "data.new"
        shutil.rmtree(fresh, ignore_errors=True)
        give_folder(fresh, self.account)
        options = [
            "--auth=trust",
            "--encoding=UTF8",
            "--no-locale",
            "--username=postgres",
            "--no-instructions",
        ]
        if self._unsafe:
            options.append("--no-sync")
        self._run_to_end([str(initdb), *options, "-D", str(fresh)], lock)
        fresh.rename(self.data)

    def _run_to_end(self, command: list[str], lock: int) -> None:
        with self._keep(command, lock) as kept:
            try:
                status = kept.wait(INITDB_S)
            except subprocess.TimeoutExpired:
                raise UnavailableError(self._report(f"was not initialised within {INITDB_S:g} s")) from None
        if status != 0:
            raise UnavailableError(self._report(f"was not initialised (initdb ended with status {status})"))

    def _check_pid_file(self) -> None:
        """Refuse a cluster that runs without our lock, and remove a note that points at a stranger.

        After a reboot the number in it may belong to any process, which PostgreSQL takes for itself; a number
        that belongs to nobody it handles well.
        """
        note = self.data / "postmaster.pid"
        first_line = note.read_text().partition("\n")[0] if note.exists() else ""
        pid = int(first_line) if first_line.isdigit() else None
        if pid is not None and _works_in(pid, self.data):
            raise ConflictError(
                f"a PostgreSQL that somebody else started runs on {self.data} (process {pid}); stop it"
            )
        if pid is None or Path(f"/proc/{pid}").exists():
            note.unlink(missing_ok=True)

    def _command(self, postgres: Path) -> list[str]:
        settings = SETTINGS | {"unix_socket_directories": str(self.socket_folder)}
        if self._unsafe:
            settings |= UNSAFE_SETTINGS
        assigned = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        return [str(postgres), "-D", str(self.data), *assigned]

    def _answers(self) -> bool:
        import psycopg

        try:
            connection = psycopg.connect(
                host=str(self.socket_folder),
                port=PORT,
                user="postgres",
                dbname="postgres",
                connect_timeout=5,
                autocommit=True,
            )
        except psycopg.OperationalError:  # not yet: it is starting, or recovering
            return False
        with connection:
            try:
                _ensure_database(connection)
            except psycopg.Error as error:
                raise UnavailableError(
                    self._report(f"could not make the database {ROLE!r} ({error})")
                ) from error
        return True


def _ensure_database(connection: psycopg.Connection) -> None:
    """Create roles and database where they are missing, be it by a start that was interrupted."""
    if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = 'ratchet'").fetchone():
        connection.execute("CREATE ROLE ratchet LOGIN CREATEDB")
    if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = 'ratchet_reader'").fetchone():
        # The role of docs/sql.md, which `ratchet` is not allowed to make.
        connection.execute("CREATE ROLE ratchet_reader NOLOGIN")
        connection.execute("ALTER ROLE ratchet_reader SET statement_timeout = '30s'")
        connection.execute("ALTER ROLE ratchet_reader SET default_transaction_read_only = on")
    if not connection.execute("SELECT 1 FROM pg_database WHERE datname = 'ratchet'").fetchone():
        connection.execute("CREATE DATABASE ratchet OWNER ratchet")


def _works_in(pid: int, folder: Path) -> bool:
    """Say whether the process `pid` has `folder` as its working directory, as all of a cluster have."""
    try:
        return Path(f"/proc/{pid}/cwd").samefile(folder)
    except OSError:
        return False
