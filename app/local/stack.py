"""The whole service as processes of this machine, in their order of life.

PostgreSQL and Redis (embedded, unless their addresses are given), the schema, tokens, api, tasks, beat, and one
local agent. Everything runs under keepers, so nothing outlives this process, however it ends. What falls is
started again.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import httpx

from app.domain.errors import UnavailableError, UsageError
from app.embedded import EmbeddedPostgres, EmbeddedRedis
from app.local.agents import DEVICE_IN_USE, agents_of_this_host
from app.local.child import Child
from app.local.data_dir import DataDir, read_secret, write_secret
from app.local.watch import Watch
from app.services.access import Scope, issue_token
from app.store.migrate import migrate
from app.store.repositories import access, fleet
from app.store.session import Database, answering
from workers import logs

READY_WITHIN_S = 180.0
_LOOK_EVERY_S = 0.05
_WATCH_EVERY_S = 1.0
LOOPBACK = ("127.0.0.1", "localhost", "::1")

DEFAULT_WORKER = "cpu"
NO_WORKER = "none"
WORKER_VARIABLE = "RATCHET_WORKER_KIND"
"""Environment variable that names the local agent's device kind."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class StackOptions:
    """How the service is to run: where it listens, whether with a local agent and of which kind."""

    host: str
    port: int
    kind: str = DEFAULT_WORKER
    """Device kind of the local agent, or `none`."""

    untrusted: bool = False
    """Whether the local agent may measure strangers' commits, too."""

    @property
    def worker_kind(self) -> str | None:
        """The local agent's device kind; None where there is to be no agent."""
        return None if self.kind == NO_WORKER else self.kind


class LocalStack:
    """The service of one data folder. The caller holds the folder's lock."""

    def __init__(self, data: DataDir, options: StackOptions, say: Say) -> None:
        self.data, self.options, self._say = data, options, say
        self.url = ""
        self.new_admin_token: str | None = None
        self._servers: list[EmbeddedPostgres | EmbeddedRedis] = []
        self._children: list[Child] = []
        self._stopping = threading.Event()
        self._watcher: threading.Thread | None = None

    def start(self) -> None:
        """Start everything and return when work can be given to it. Raises UnavailableError with the reason.

        From then on what falls is started again, until `stop`.
        """
        port = free_port(self.options.host, self.options.port)
        self.url = f"http://{_bracketed(self.options.host)}:{port}"
        database_url, redis_url = self._start_servers()
        self._say("bringing the schema up to date")
        database = Database(database_url, pool_size=2)
        try:
            with answering():
                migrate(database.engine)
                self._ensure_tokens(database)
            service = self._service_env(database_url, redis_url, port)
            self._start_doors(service, redis_url)
            self._wait_until_ready(database)
            # What works behind the doors follows when these stand open: two cores start them sooner so.
            self._start("tasks", _process("tasks"), service)
            self._start("beat", _process("beat"), service)
        finally:
            database.close()
        self._begin_watching()

    def _begin_watching(self) -> None:
        self._watcher = threading.Thread(target=self._watch, name="watcher", daemon=True)
        self._watcher.start()

    def _watch(self) -> None:
        """Start again what has fallen, until the service is stopped."""
        servers = {server.title: partial(_revive, server) for server in self._servers}
        watch = Watch(servers | {child.name: child.watch for child in self._children}, self._say)
        while not self._stopping.wait(_WATCH_EVERY_S):
            watch.look(time.monotonic())

    def stop(self) -> None:
        """Stop everything, the agent first and PostgreSQL last."""
        self._stopping.set()
        if self._watcher is not None:
            self._watcher.join()
        for child in reversed(self._children):
            child.ask_to_stop()
        for child in reversed(self._children):
            child.stop()
        for server in reversed(self._servers):
            server.stop()
        self._children, self._servers = [], []

    def _start_servers(self) -> tuple[str, str]:
        database_url = os.environ.get("RATCHET_DATABASE_URL")
        redis_url = os.environ.get("RATCHET_REDIS_URL")
        if database_url is None:
            self._say("starting PostgreSQL")
            postgres = EmbeddedPostgres(self.data.postgres)
            self._servers.append(postgres)
            postgres.start()
            database_url = postgres.url()
        if redis_url is None:
            self._say("starting Redis")
            redis = EmbeddedRedis(self.data.redis)
            self._servers.append(redis)
            redis.start()
            redis_url = redis.url()
        return database_url, redis_url

    def _ensure_tokens(self, database: Database) -> None:
        """Make the administrator's token unless its file is there, and a fresh one for the local agent."""
        scopes = [Scope.WORKER, *([Scope.WORKER_UNTRUSTED] if self.options.untrusted else [])]
        with database.session() as session:
            known = access.has_token_named(session, "admin") and read_secret(self.data.admin_token)
            if not known:
                self.new_admin_token = issue_token(session, "admin", [Scope.ADMIN])
            access.revoke_named(session, "local-worker")
            worker_token = issue_token(session, "local-worker", scopes)
        if self.new_admin_token:
            write_secret(self.data.admin_token, self.new_admin_token)
        write_secret(self.data.worker_token, worker_token)

    def _start_doors(self, service: dict[str, str], redis_url: str) -> None:
        self._say("starting the service" + (" and a worker" if self.options.worker_kind else ""))
        self._start("api", _process("api"), service)
        if self.options.worker_kind:
            self._start("worker", self._worker_command(), self._worker_env(redis_url))

    def _start(self, name: str, command: list[str], env: dict[str, str]) -> None:
        child = Child(name, command, env=env, log=self.data.logs / f"{name}.log")
        child.start()
        self._children.append(child)

    def _service_env(self, database_url: str, redis_url: str, port: int) -> dict[str, str]:
        anonymous = "true" if self.options.host in LOOPBACK else "false"
        return _base_env() | {
            "RATCHET_ANONYMOUS_READ": os.environ.get("RATCHET_ANONYMOUS_READ", anonymous),
            "RATCHET_DATABASE_URL": database_url,
            "RATCHET_REDIS_URL": redis_url,
            "RATCHET_DATA_DIR": str(self.data.path),
            "RATCHET_HOST": self.options.host,
            "RATCHET_PORT": str(port),
        }

    def _worker_command(self) -> list[str]:
        kind = self.options.worker_kind
        assert kind is not None
        command = [sys.executable, "-P", "-m", "workers.cli", "--kind", kind, "--url", self.url]
        command += ["--token-file", str(self.data.worker_token), "--data-dir", str(self.data.worker)]
        return command

    def _worker_env(self, redis_url: str) -> dict[str, str]:
        return _base_env() | {"RATCHET_REDIS_URL": redis_url}

    def _wait_until_ready(self, database: Database) -> None:
        # A client makes a TLS context, which costs more than a request: there is one for all looks.
        with httpx.Client(timeout=2) as client:
            self._look_until_ready(client, database)

    def _look_until_ready(self, client: httpx.Client, database: Database) -> None:
        deadline = time.monotonic() + READY_WITHIN_S
        while not self._answers(client) or not self._has_worker(database):
            fallen = next((child for child in self._children if not child.alive()), None)
            if fallen is not None and fallen.status == DEVICE_IN_USE:
                self._await_device(fallen)
            elif fallen is not None:
                raise UnavailableError(f"{fallen.name} ended while starting:\n{fallen.last_words()}")
            if time.monotonic() > deadline:
                words = "\n".join(f"{child.name}: {child.last_words(3)}" for child in self._children)
                raise UnavailableError(f"not ready after {READY_WITHIN_S:.0f} s:\n{words}")
            time.sleep(_LOOK_EVERY_S)

    def _await_device(self, agent: Child) -> None:
        """Try the agent again while its predecessor on this folder is going down. Raises UnavailableError."""
        others = agents_of_this_host(_base_env())
        is_gone = not others and agent.falls < 2
        if is_gone or any(other.data_dir == str(self.data.worker) for other in others):
            agent.watch()
            return
        holders = "".join(f"\nin use by {other}" for other in others)
        url = next((other.url for other in others if other.url), "…")
        raise UnavailableError(
            f"the local worker has no device:\n{agent.last_words(1)}{holders}\n"
            f"One service of a host measures on a device: use that one (RATCHET_URL={url}), stop it, or start this "
            f"one without a worker ({WORKER_VARIABLE}={NO_WORKER}; `ratchet up --worker {NO_WORKER}`)",
            code="device_in_use",
        )

    def _answers(self, client: httpx.Client) -> bool:
        try:
            return client.get(f"{self.url}/readyz").status_code == 200
        except httpx.HTTPError:
            return False

    def _has_worker(self, database: Database) -> bool:
        if not self.options.worker_kind:
            return True
        with database.session() as session:
            return fleet.worker_with_token(session, "local-worker") is not None


def free_port(host: str, port: int) -> int:
    """Return `port`, or a free one for 0. Raises UsageError when it is taken or the address is not ours."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise UsageError(
                f"cannot listen on {host}:{port}: {error.strerror}; choose another with --host and --port",
                code="port_in_use",
            ) from error
        return int(probe.getsockname()[1])


def _revive(server: EmbeddedPostgres | EmbeddedRedis) -> str | None:
    if server.alive():
        return None
    server.start()
    return f"{server.title} had ended and was started again; see {server.log}"


def _process(name: str) -> list[str]:
    return [sys.executable, "-P", "-m", "app.cli", name]


def _base_env() -> dict[str, str]:
    """Return this process's environment without addresses and tokens of another service.

    What its processes log is read by whoever started them, in files and where one of them falls.
    """
    its = {name: value for name, value in os.environ.items() if name not in ("RATCHET_URL", "RATCHET_TOKEN")}
    return {logs.VARIABLE: "text"} | its


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
