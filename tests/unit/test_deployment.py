"""docker-compose.yml and Dockerfile, as far as they can be tested without a container engine."""

from __future__ import annotations

import importlib
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path, PurePosixPath
from typing import Any

import click
import pytest
import yaml
from fastapi.testclient import TestClient

from app.cli import COMMANDS
from app.config import ServiceSettings
from app.main import create_app
from app.wiring import Service
from workers.cli import command as worker_command
from workers.devices.simulated.device import read_scripts

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
DOCKERFILE = re.sub(r"\\\n\s*", " ", (ROOT / "Dockerfile").read_text(encoding="utf-8"))
AGENT = (ROOT / "workers" / "cli.py").read_text(encoding="utf-8")

OURS = {name: service for name, service in COMPOSE["services"].items() if service["image"] == "ratchet-perf"}
SERVICE = {name: service for name, service in OURS.items() if service["command"][0] == "ratchet"}
WORKER = COMPOSE["services"]["worker"]


def context_of(service: dict[str, Any]) -> click.Context:
    """Parse a service's command line as the program itself does; nothing is run."""
    program, *arguments = service["command"]
    if program == "ratchet-worker":
        return worker_command.make_context(program, arguments)
    assert program == "ratchet"
    name, *arguments = arguments
    command = getattr(importlib.import_module(COMMANDS[name][0]), name)
    return command.make_context(name, arguments)


def instructions(word: str) -> list[str]:
    """Return what follows an instruction of the Dockerfile, one a line."""
    return re.findall(rf"^{word} (.+)$", DOCKERFILE, re.MULTILINE)


def mounts(service: dict[str, Any]) -> dict[str, bool]:
    """Return the folders that are mounted, and whether they can be written to."""
    return {target: "ro" not in mode for _, target, *mode in (v.split(":") for v in service["volumes"])}


def is_in(path: str, folders: set[str]) -> bool:
    return bool(folders & {path, *map(str, PurePosixPath(path).parents)})


# --- commands and settings ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OURS)
def test_compose_service_runs_a_command_line_that_is_understood(name: str):
    assert context_of(OURS[name]).params is not None


def test_image_runs_a_command_line_that_is_understood():
    (words,) = instructions("CMD")
    assert context_of({"command": yaml.safe_load(words)}).info_name == "api"


@pytest.mark.parametrize("name", SERVICE)
def test_compose_service_sets_only_what_is_a_setting_and_sets_it_right(name: str):
    environment = SERVICE[name]["environment"]
    fields = {f"RATCHET_{field.upper()}" for field in ServiceSettings.model_fields}
    assert set(environment) - fields == set()
    required = {f"RATCHET_{n.upper()}" for n, f in ServiceSettings.model_fields.items() if f.is_required()}
    assert required <= set(environment)
    settings = ServiceSettings(**{key.removeprefix("RATCHET_").lower(): v for key, v in environment.items()})
    assert settings.address == environment["RATCHET_PUBLIC_URL"]


def test_compose_worker_sets_only_what_the_agent_reads():
    assert [name for name in WORKER["environment"] if not re.search(rf"\b{name}\b", AGENT)] == []


def test_compose_gives_the_simulated_worker_a_script_that_is_read(tmp_path: Path):
    (config,) = WORKER["configs"]
    assert config["target"] == WORKER["environment"]["RATCHET_SIMULATED"]
    (tmp_path / "devices.json").write_text(COMPOSE["configs"][config["source"]]["content"])
    assert [script.device_class for script in read_scripts(tmp_path / "devices.json")] == ["sim-a100"]


# --- how the services find one another ------------------------------------------------------------------------


def test_compose_services_are_reached_by_their_names_and_ports():
    api, port = COMPOSE["services"]["api"], ServiceSettings.model_fields["port"].default
    assert api["ports"] == [f"127.0.0.1:{port}:{port}"]
    assert context_of(WORKER).params["url"] == f"http://api:{port}"
    hosts = re.findall(r"(?:redis|postgresql)://(?:\w+@)?(\w+)", yaml.safe_dump(OURS))
    assert set(hosts) <= set(COMPOSE["services"])


def test_compose_asks_for_the_health_of_the_api_at_a_route_that_is_there(tmp_path: Path):
    _, program, _, code = COMPOSE["services"]["api"]["healthcheck"]["test"]
    compile(code, program, "exec")
    (port, path) = re.search(r"http://127\.0\.0\.1:(\d+)(/\w+)", code).groups()
    assert int(port) == ServiceSettings.model_fields["port"].default
    nobody = f"postgresql://ratchet@/ratchet?host={tmp_path}"
    settings = ServiceSettings(database_url=nobody, redis_url="redis://nobody", data_dir=tmp_path)
    client = TestClient(create_app(Service(settings)), raise_server_exceptions=False)
    assert client.get(f"{path}-nowhere").status_code == 404
    assert client.get(path).status_code == 503, "without its database the api is not ready"


def test_compose_services_wait_only_for_what_can_come_true():
    for service in COMPOSE["services"].values():
        for other, wait in service.get("depends_on", {}).items():
            awaited = COMPOSE["services"][other]
            if wait["condition"] == "service_healthy":
                assert "healthcheck" in awaited
            else:
                assert wait["condition"] == "service_completed_successfully"
                assert awaited["restart"] == "no"


# --- the image ------------------------------------------------------------------------------------------------


def test_image_installs_extras_that_the_distribution_has():
    (extras,) = re.findall(r"'\.\[([\w,]+)\]'", DOCKERFILE)
    assert set(extras.split(",")) <= set(PROJECT["project"]["optional-dependencies"])


def test_image_gets_every_file_that_the_distribution_is_built_from():
    copied = [
        word for words in instructions("COPY") if not words.startswith("--") for word in words.split()[:-1]
    ]
    assert [name for name in copied if not (ROOT / name).exists()] == []
    packages = {name.rstrip("*") for name in PROJECT["tool"]["setuptools"]["packages"]["find"]["include"]}
    named = {PROJECT["project"]["readme"], *PROJECT["project"]["license-files"], "pyproject.toml"}
    assert packages | named | {"constraints.txt"} <= set(copied)


def test_image_is_of_a_python_that_the_distribution_runs_on():
    versions = {re.match(r"python:(\d+\.\d+)", words).group(1) for words in instructions("FROM")}
    (version,) = versions
    low, high = re.findall(r"\d+\.\d+", PROJECT["project"]["requires-python"])
    assert (
        tuple(map(int, low.split(".")))
        <= tuple(map(int, version.split(".")))
        < tuple(map(int, high.split(".")))
    )


@pytest.mark.parametrize("name", OURS)
def test_plain_user_of_the_image_can_write_wherever_a_service_does(name: str):
    (user,) = instructions("USER")
    (made,) = re.findall(rf"useradd .*\b{user}\b.*install -d -o {user} ((?:/\w+ ?)+)", DOCKERFILE)
    written = {folder for folder, can_write in mounts(OURS[name]).items() if can_write}
    assert written <= set(made.split()), "a new volume takes its owner from the image's folder"
    params = context_of(OURS[name]).params
    for folder in (
        params.get("data_dir"),
        params.get("token_dir"),
        OURS[name]["environment"].get("RATCHET_DATA_DIR"),
    ):
        assert folder is None or is_in(str(folder), written)
    locks = OURS[name]["environment"].get("RATCHET_WORKER_LOCKS")
    assert locks is None or is_in(locks, set(OURS[name]["tmpfs"]))


def test_worker_reads_the_token_that_setup_writes():
    folder = context_of(COMPOSE["services"]["setup"]).params["token_dir"]
    assert context_of(WORKER).params["token_file"] == folder / "worker-token"
    assert is_in(str(folder), set(mounts(WORKER)))


def test_every_volume_and_secret_is_declared():
    used = {volume.split(":")[0] for service in COMPOSE["services"].values() for volume in service["volumes"]}
    assert used == set(COMPOSE["volumes"])
    secrets = {secret for service in COMPOSE["services"].values() for secret in service.get("secrets", [])}
    assert secrets == set(COMPOSE["secrets"])


# --- the password ---------------------------------------------------------------------------------------------


def test_compose_starts_the_service_with_the_password_from_its_file(tmp_path: Path):
    secret = tmp_path / "postgres-password"
    secret.write_text("s3cret\n")
    entrypoint = [
        part.replace("$$", "$").replace("/run/secrets/postgres-password", shlex.quote(str(secret)))
        for part in COMPOSE["x-service"]["entrypoint"]
    ]
    show = "import os, sys; print(os.environ['PGPASSWORD'], sys.argv[1:])"
    result = subprocess.run(
        [*entrypoint, sys.executable, "-c", show, "a b"], capture_output=True, text=True, check=True
    )
    assert result.stdout == "s3cret ['a b']\n"


def test_compose_has_no_password_of_its_own():
    text = (ROOT / "docker-compose.yml").read_text()
    assert re.findall(r"(?i)password[a-z_]*: (?!/run/secrets/)\S+", text) == []
    assert re.findall(r"://[^/\s]*:[^/\s]*@", text) == []
    assert COMPOSE["secrets"]["postgres-password"]["file"].startswith("${RATCHET_SECRETS:?")
