"""The import contracts of pyproject.toml: the tree keeps them, and each goes red on a tree that breaks it."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
BREACHES = [
    ("arrows point down: doors, use cases, edges, core", "app/domain", "import app.services"),
    ("the agent stands alone", "workers/agent", "import app.domain"),
    ("the agent stands alone", "workers/agent", "import sqlalchemy"),
    (
        "the agent's arrows point down, too",
        "workers/host",
        "import workers.lease",
    ),
    (
        "the service knows the agent by its protocol, and the keeper of processes",
        "app/services",
        "import workers.agent",
    ),
    ("the protocol and the keeper import nothing of ours", "workers/protocol", "import workers.agent"),
    ("the core is pure: no database, network, or clock", "app/analysis", "import httpx"),
    ("the Python client stands alone, on httpx", "ratchet_perf/client", "import app.domain"),
    ("the Python client's arrows point down, too", "ratchet_perf/errors", "import ratchet_perf.client"),
    (
        "nothing of ours leans on the Python client, which is for other programs",
        "app/services",
        "import ratchet_perf.client",
    ),
]


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [
        shutil.which("lint-imports", path=str(Path(sys.executable).parent)) or "lint-imports",
        "--no-cache",
    ]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A tree with an empty module for each that the contracts name, under the contracts of the real one."""
    named = {
        f"{container}.{name.strip()}"
        for contract in SETTINGS["contracts"]
        for container in contract.get("containers", [])
        for row in contract["layers"]
        for name in row.split("|")
    }
    named |= {name for contract in SETTINGS["contracts"] for name in contract.get("source_modules", [])}
    for name in (*named, "workers.agent", "migrations.env"):
        path = tmp_path / f"{name.replace('.', '/')}.py"
        path.parent.mkdir(exist_ok=True)
        path.touch()
    for package in SETTINGS["root_packages"]:
        (tmp_path / f"{package}.py").unlink(missing_ok=True)
        (tmp_path / package / "__init__.py").touch()
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_the_tree_keeps_every_contract():
    result = lint(ROOT)
    assert result.returncode == 0, result.stdout


def test_a_house_without_imports_keeps_every_contract(house: Path):
    result = lint(house)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(("contract", "module", "line"), BREACHES)
def test_a_forbidden_import_breaks_its_contract(house: Path, contract: str, module: str, line: str):
    (house / f"{module}.py").write_text(f"{line}\n")
    result = lint(house)
    assert result.returncode == 1
    assert f"{contract} BROKEN" in result.stdout


def test_every_contract_has_a_breach_here():
    assert {contract["name"] for contract in SETTINGS["contracts"]} == {contract for contract, *_ in BREACHES}


def test_the_api_starts_without_numpy() -> None:
    code = "import sys, app.main; sys.exit('numpy' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr or "something that the api imports has imported numpy"
