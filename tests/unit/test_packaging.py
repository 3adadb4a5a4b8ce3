"""The distribution: what an agent's install can do alone, what is pinned, and that the deployment's files fit."""

from __future__ import annotations

import importlib.metadata
import re
import shlex
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from app.cli import COMMANDS, FAULT
from workers.cli import command as worker_command
from workers.devices.simulated import read_scripts

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
OURS = "ratchet-perf"
CODE = {".py", ".pyc"}


def needed(extra: str) -> set[str]:
    """Return every distribution that the extra brings to this interpreter, through all that they need."""
    seen: set[tuple[str, str]] = set()
    to_do = [(OURS, extra), (OURS, "")]
    while to_do:
        name, of_extra = to_do.pop()
        if (name, of_extra) in seen:
            continue
        seen.add((name, of_extra))
        for text in importlib.metadata.requires(name) or []:
            wanted = Requirement(text)
            if wanted.marker is None or wanted.marker.evaluate({"extra": of_extra}):
                to_do += [(canonicalize_name(wanted.name), extra) for extra in ("", *wanted.extras)]
    return {name for name, _ in seen} - {OURS}


def run_without(modules: list[str], code: str) -> subprocess.CompletedProcess[str]:
    """Run Python code in a process that cannot import these modules."""
    script = f"import sys; sys.modules.update(dict.fromkeys({modules!r})); {code}"
    return subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def servers_modules() -> list[str]:
    """Names that only the service's packages bring."""
    only_server = needed("dev") - needed("")
    modules = importlib.metadata.packages_distributions()
    return [name for name, owners in modules.items() if {canonicalize_name(o) for o in owners} <= only_server]


def test_agent_starts_with_the_base_install_alone(servers_modules: list[str]):
    assert {"numpy", "sqlalchemy", "fastapi", "celery", "pydantic_settings"} <= set(servers_modules)
    result = run_without(servers_modules, "import workers.cli as c; c.main(['--help'])")
    assert result.returncode == 0, result.stderr
    assert "--token-file" in result.stdout


def test_every_module_of_the_agent_can_be_imported_with_the_base_install(servers_modules: list[str]):
    names = [
        str(path.relative_to(ROOT).with_suffix("")).replace("/", ".") for path in ROOT.glob("workers/**/*.py")
    ]
    names = [name.removesuffix(".__init__") for name in names]
    result = run_without(
        servers_modules, f"import importlib; [importlib.import_module(n) for n in {names!r}]"
    )
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    "arguments",
    [["up"], ["demo"], ["check", "--base", "a", "--head", "b"], ["api"], ["token", "x", "--scope", "admin"]],
)
def test_ratchet_without_the_server_extra_names_it_in_one_line(
    servers_modules: list[str], arguments: list[str]
):
    result = run_without(servers_modules, f"from app.cli import main; main({arguments!r})")
    assert result.returncode == FAULT
    assert result.stderr.count("\n") == 1
    assert "ratchet-perf[server" in result.stderr


def test_help_needs_no_package_of_the_service(servers_modules: list[str]):
    result = run_without(servers_modules, "from app.cli import main; main(['--help'])")
    assert result.returncode == 0, result.stderr


def test_constraints_pin_all_that_the_extras_need():
    pins = dict(re.findall(r"^([a-z0-9-]+)==(\S+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE))
    assert needed("dev") - set(pins) == set()
    assert "uv" in pins


def test_celery_comes_with_what_its_redis_transport_imports():
    assert "packaging" in needed("celery")


def test_every_file_that_is_not_code_is_package_data():
    globs = PROJECT["tool"]["setuptools"]["package-data"]
    for package in ("app", "workers", "migrations", "dashboards"):
        for path in (ROOT / package).rglob("*"):
            if path.is_file() and path.suffix not in CODE:
                name = path.relative_to(ROOT / package)
                assert any(
                    fnmatch(f"/{name}", glob.replace("**/", "*/")) for glob in globs.get(package, [])
                ), path


@pytest.mark.parametrize(
    "service", [name for name, service in COMPOSE["services"].items() if service["image"] == OURS]
)
def test_compose_service_runs_a_command_that_exists(service: str):
    program, *arguments = COMPOSE["services"][service]["command"]
    if program == "ratchet":
        assert arguments[0] in COMMANDS
    else:
        assert program == "ratchet-worker"
        assert worker_command.make_context(program, arguments) is not None


def test_compose_gives_the_simulated_worker_a_script_that_is_read(tmp_path: Path):
    worker = COMPOSE["services"]["worker"]
    (config,) = worker["configs"]
    assert config["target"] == worker["environment"]["RATCHET_SIMULATED"]
    (tmp_path / "devices.json").write_text(COMPOSE["configs"][config["source"]]["content"])
    assert [script.device_class for script in read_scripts(tmp_path / "devices.json")] == ["sim-a100"]


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
