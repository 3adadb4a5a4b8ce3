"""docker-compose.yml without a container engine: each service's own command, with its environment, its secrets and its
health check, as a process of this machine, in the order in which Compose would start them.

What a container would have of its own is put in its place by name: folders, addresses of other services, ports. Grafana
is left out, as there is no program of it here, and so is what wants a GPU.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.embedded.accounts import server_account
from app.embedded.binaries import find_postgres, find_redis, reachable_folder
from tests.factories.compose import ROOT, compose, start_order
from tests.factories.waiting import wait_for

pytestmark = [pytest.mark.postgres, pytest.mark.redis]

QUICK = {
    "RATCHET_SWEEP_INTERVAL_S": "1",
    "RATCHET_RELAY_INTERVAL_S": "1",
    "RATCHET_WORKER_FOREIGN_CPU": "1000",
    "RATCHET_WORKER_STEAL": "1",
}
PATIENCE_S = 60.0


def free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def seconds(text: str) -> float:
    assert text.endswith("s")
    return float(text[:-1])


class Machine:
    """A machine on which the services of the compose file are processes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.compose = compose({"RATCHET_SECRETS": str(folder / "secrets")})
        self.services: dict[str, Any] = {
            name: its
            for name, its in self.compose["services"].items()
            if "profiles" not in its and name != "grafana"
        }
        self.ports = {name: free_port() for name in ("postgres", "redis", "api", "prometheus")}
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.began: list[str] = []
        (folder / "wait").mkdir(mode=0o755, parents=True)
        subprocess.run(
            [ROOT / "deploy" / "make-secrets", folder / "secrets"], check=True, capture_output=True
        )
        # As root, PostgreSQL runs as another user, who would have the folder of the secrets mounted.
        (folder / "secrets").chmod(0o711)
        self.account = server_account(folder / "postgres")
        self.programs = reachable_folder(find_postgres(), self.account, folder)
        for name in ("data", "token", "work", "backups", "redis", "prometheus", "tmp"):
            (folder / name).mkdir()
        # A shell reads its name, and where we are may have a space in it.
        shutil.copy(ROOT / "deploy" / "reader.sql", folder / "reader.sql")

    def placed(self, text: str, name: str) -> str:
        """Return a text of a service with what it would find in its container put in its place."""
        own, ports = self.folder / name, self.ports
        places = {
            "/run/secrets": f"{self.folder}/secrets",
            "/tmp/": f"{own}-",
            "'/work/alive'": f"'{self.folder}/work/alive'",
            "/etc/prometheus/prometheus.yml": f"{self.folder}/prometheus.yml",
            "--storage.tsdb.path=/prometheus": f"--storage.tsdb.path={self.folder}/prometheus",
            "/etc/reader.sql": f"{self.folder}/reader.sql",
            "/etc/ratchet-devices.json": f"{ROOT}/deploy/simulated-devices.json",
            "--dir /data": f"--dir {self.folder}/redis --port {ports['redis']}",
            "redis-cli": f"redis-cli -p {ports['redis']}",
            "@postgres/": f"@127.0.0.1:{ports['postgres']}/",
            "--host postgres": f"--host 127.0.0.1 --port {ports['postgres']}",
            "redis://redis:6379": f"redis://127.0.0.1:{ports['redis']}",
            "http://api:8440": f"http://127.0.0.1:{ports['api']}",
            "http://127.0.0.1:8440": f"http://127.0.0.1:{ports['api']}",
            "http://prometheus:9090": f"http://127.0.0.1:{ports['prometheus']}",
            "http://127.0.0.1:9090": f"http://127.0.0.1:{ports['prometheus']}",
        }
        # At once, as what is put there may look like what is to be replaced; folders only where a path begins.
        known = "|".join(map(re.escape, places))
        found = re.compile(rf"{known}|(?<![^\s])/(?:data|token|work|backups)(?=/|$|\s)")
        return found.sub(lambda its: places.get(its[0]) or f"{self.folder}{its[0]}", text)

    def environment(self, name: str) -> dict[str, str]:
        its = {
            key: self.placed(str(value), name)
            for key, value in self.services[name].get("environment", {}).items()
        }
        path = f"{self.programs}:{find_redis().folder}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        ours = {
            "PATH": path,
            "PGPORT": self.ports["postgres"],
            "SECRETS_FOLDER": str(self.folder / "secrets"),
        }
        more = {"RATCHET_PORT": self.ports["api"], "HOME": str(self.folder / "tmp"), "LC_ALL": "C"}
        return {**ours, **more, **QUICK, **its}

    def command(self, name: str, given: list[str] | None = None) -> list[str]:
        words = [self.placed(word, name) for word in given or self.services[name]["command"]]
        if "build" in self.services[name]:
            return [str(ROOT / "deploy" / "with-secrets"), *words]
        if name == "postgres":
            sockets = [
                "-k",
                str(self.folder / "wait"),
                "-p",
                self.ports["postgres"],
                "-D",
                str(self.folder / "postgres"),
            ]
            return [*words, *sockets, "-c", "fsync=off"]
        if name == "prometheus":
            return ["prometheus", *words, f"--web.listen-address=127.0.0.1:{self.ports['prometheus']}"]
        return words

    def prepare_postgres(self) -> None:
        """Do what the image does at its first start: a cluster with a user, a password from its file, a database."""
        its = self.services["postgres"]["environment"]
        secret = self.placed(its["POSTGRES_PASSWORD_FILE"], "postgres")
        options = [
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--no-locale",
            f"--username={its['POSTGRES_USER']}",
            f"--pwfile={secret}",
            "--no-sync",
        ]
        data = self.folder / "postgres"
        for place in (data, self.folder / "wait"):
            place.mkdir(exist_ok=True)
            os.chown(place, self.account.uid, self.account.gid)
        data.chmod(0o700)
        self._run([str(self.programs / "initdb"), *options, "-D", str(data)], "postgres")

    def _run(self, command: list[str], name: str) -> None:
        done = subprocess.run(
            command,
            env=self.environment(name),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            user=self.account.uid if name == "postgres" else None,
            cwd="/",
        )
        assert done.returncode == 0, f"{name}: {done.stdout}{done.stderr}"

    def is_healthy(self, name: str) -> bool:
        kind, *test = self.services[name]["healthcheck"]["test"]
        words = [self.placed(word, name) for word in test]
        command = ["sh", "-c", *words] if kind == "CMD-SHELL" else words
        done = subprocess.run(
            command, env=self.environment(name), capture_output=True, check=False, cwd=self.folder, timeout=30
        )
        return done.returncode == 0

    def start(self, name: str) -> None:
        """Start a service, once what it waits for is as it should be; one that ends has ended well."""
        for other, wait in self.services[name].get("depends_on", {}).items():
            assert other in self.began
            if wait["condition"] == "service_healthy":
                self.await_health(other)
        self.began.append(name)
        if self.services[name]["restart"] == "no":
            self._run(self.command(name), name)
            return
        if name == "postgres" and not (self.folder / "postgres" / "PG_VERSION").exists():
            self.prepare_postgres()
        log = (self.folder / f"{name}.log").open("ab")
        self.running[name] = subprocess.Popen(
            self.command(name),
            env=self.environment(name),
            stdout=log,
            stderr=log,
            cwd="/",
            user=self.account.uid if name == "postgres" else None,
            start_new_session=True,
        )
        log.close()

    def await_health(self, name: str) -> None:
        """Wait until a service is healthy, and no longer if it ends."""
        deadline = time.monotonic() + PATIENCE_S
        while not self.is_healthy(name):
            status = self.running[name].poll()
            words = (self.folder / f"{name}.log").read_text()[-3000:]
            assert status is None, f"{name} ended with {status}:\n{words}"
            assert time.monotonic() < deadline, f"{name} is not healthy:\n{words}"
            time.sleep(0.1)
        if name == "postgres":
            self._make_database()

    def _make_database(self) -> None:
        """Make the database that the image makes."""
        secret = (self.folder / "secrets" / "postgres-password").read_text()
        env = self.environment("postgres") | {"PGPASSWORD": secret}
        known = "select from pg_database where datname = 'ratchet'"
        make = f"select 'create database ratchet' where not exists ({known})\\gexec"
        command = ["psql", "-X", "-q", "-h", "127.0.0.1", "-U", "ratchet", "-d", "postgres"]
        subprocess.run(command, env=env, input=make, text=True, check=True, capture_output=True)

    def stop(self, name: str) -> None:
        """Stop a service as Compose does, within its grace."""
        process, its = self.running.pop(name), self.services[name]
        process.send_signal(getattr(signal, its.get("stop_signal", "SIGTERM")))
        process.wait(timeout=seconds(its["stop_grace_period"]))

    def run(self, name: str, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command as `docker compose run` does in a container of a service."""
        return subprocess.run(
            self.command(name, list(command)),
            env=self.environment(name),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            cwd="/",
        )

    def close(self) -> None:
        for process in reversed(self.running.values()):
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    place = Path(tempfile.mkdtemp(prefix="ratchet-compose-", dir="/tmp"))
    place.chmod(0o755)
    its = Machine(place)
    config = (
        (ROOT / "deploy" / "prometheus.yml").read_text().replace("api:8440", f"127.0.0.1:{its.ports['api']}")
    )
    rules = f"{ROOT}/dashboards/prometheus/"
    (place / "prometheus.yml").write_text(config.replace("/etc/prometheus/rules/", rules))
    try:
        yield its
    finally:
        its.close()
        shutil.rmtree(place, ignore_errors=True)


def wanted(machine: Machine) -> list[str]:
    """Return the services that can be started here, in their order."""
    can = {name for name in machine.services if name != "prometheus" or _has("prometheus", "wget")}
    services = {name: its for name, its in machine.services.items() if name in can}
    return start_order(services)


def _has(*programs: str) -> bool:
    return all(shutil.which(program) for program in programs)


def client(machine: Machine) -> httpx.Client:
    token = (machine.folder / "data" / "admin-token").read_text().strip()
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.Client(base_url=f"http://127.0.0.1:{machine.ports['api']}", headers=headers, timeout=20)


def test_services_start_in_their_order_and_each_is_healthy(machine: Machine) -> None:
    order = wanted(machine)
    for name in order:
        machine.start(name)
    for name in machine.running:
        machine.await_health(name)
    assert {"postgres", "redis", "setup", "reader", "api", "tasks", "beat", "worker"} <= set(machine.began)
    with client(machine) as asked:
        assert "sim-a100" in asked.get("/api/v1/devices").text
    assert [name for name in machine.running if not machine.is_healthy(name)] == []


def test_broker_asks_for_its_password(machine: Machine) -> None:
    command = ["redis-cli", "-p", machine.ports["redis"], "ping"]
    said = subprocess.run(
        command, env=machine.environment("redis"), capture_output=True, text=True, check=False
    )
    assert "NOAUTH" in said.stdout + said.stderr


def test_grafanas_user_reads_views_and_nothing_else(machine: Machine) -> None:
    secret = (machine.folder / "secrets" / "ratchet-reader-password").read_text()
    env = machine.environment("postgres") | {"PGPASSWORD": secret}
    command = ["psql", "-X", "-h", "127.0.0.1", "-U", "grafana", "-d", "ratchet", "-c"]
    read = subprocess.run(
        [*command, "select count(*) from projects"], env=env, capture_output=True, check=False
    )
    assert read.returncode == 0, read.stderr
    refused = subprocess.run(
        [*command, "select * from public.token"], env=env, capture_output=True, text=True, check=False
    )
    assert "permission denied" in refused.stderr


def test_upgrade_migrates_beside_what_runs(machine: Machine) -> None:
    for name in ("setup", "reader"):
        machine.start(name)
    assert machine.is_healthy("api")


def test_process_that_hangs_is_not_healthy(machine: Machine) -> None:
    alive = Path(machine.environment("beat")["RATCHET_ALIVE_FILE"])
    machine.running["beat"].send_signal(signal.SIGSTOP)
    try:
        os.utime(alive, (time.time() - 121,) * 2)
        assert not machine.is_healthy("beat")
    finally:
        machine.running["beat"].send_signal(signal.SIGCONT)
    wait_for(lambda: machine.is_healthy("beat"), seconds=30)


def test_drill_a_backup_is_made_and_restored_by_the_documented_commands(machine: Machine) -> None:
    made = machine.run("tasks", "ratchet", "backup")
    assert made.returncode == 0, made.stderr
    written = Path(made.stdout.strip())
    assert written.parent == machine.folder / "backups"
    file = f"/backups/{written.name}"
    assert machine.run("tasks", "ratchet", "verify", file).returncode == 0
    used = machine.run("tasks", "ratchet", "restore", file, "--force", "ratchet")
    assert (used.returncode, "a service uses the database" in used.stderr) == (70, True)
    for name in ("worker", "beat", "tasks", "api"):
        machine.stop(name)
    done = machine.run("tasks", "ratchet", "restore", file, "--force", "ratchet")
    assert done.returncode == 0, done.stderr
    for name in ("setup", "api", "tasks", "beat", "worker"):
        machine.start(name)
    machine.await_health("api")
    with client(machine) as asked:
        assert "Restored, and observing." in asked.get("/").text
    resumed = machine.run("tasks", "ratchet", "resume")
    assert resumed.returncode == 0, resumed.stderr
    assert machine.run("tasks", "ratchet", "verify").returncode == 0


def test_services_end_within_their_grace(machine: Machine) -> None:
    for name in reversed(list(machine.running)):
        machine.stop(name)
