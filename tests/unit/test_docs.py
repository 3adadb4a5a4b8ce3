"""The documents, held against what they are about."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import click
import pytest
from pydantic.fields import FieldInfo

from app.cli import COMMANDS
from app.commands.import_history import import_
from app.config import ServiceSettings
from app.formats.imported.registry import FORMATS as IMPORTED
from app.services.access import Role, Scope
from workers.cli import command as worker_command
from workers.devices import KINDS
from workers.measuring.commands import BatchLine, ValueLine

ROOT = Path(__file__).parents[2]
DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
OPERATIONS = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
PROTOCOL = (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")
IMPORT = (ROOT / "docs" / "import.md").read_text(encoding="utf-8")
FORMATS = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")


def rows_of(text: str) -> list[list[str]]:
    """Return the cells of every table row."""
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"
    ]


def shown(field: FieldInfo) -> str:
    """Return a setting's default as the document writes it."""
    if isinstance(field.default, bool):
        return f"`{str(field.default).lower()}`"
    return f"`{field.default}`" if field.default != "" else "empty"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_leads_to_a_file(document: Path):
    targets = re.findall(r"\]\(([^)\s]+)\)", document.read_text(encoding="utf-8"))
    local = [target.partition("#")[0] for target in targets if "://" not in target and target[0] != "#"]
    assert [target for target in local if not (document.parent / target).exists()] == []


def test_every_document_is_reached_from_the_front():
    front = "".join((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "ARCHITECTURE.md"))
    assert [path.name for path in (ROOT / "docs").glob("*.md") if f"docs/{path.name}" not in front] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_explained(name: str):
    assert f"| `ratchet {name}" in OPERATIONS


def test_settings_of_the_service_are_all_documented_with_default_and_meaning():
    documented = [
        row for row in rows_of(OPERATIONS.split("## Settings of an agent")[0]) if "`RATCHET_" in row[0]
    ]
    fields = ServiceSettings.model_fields
    assert [row[0].strip("`") for row in documented] == [f"RATCHET_{name.upper()}" for name in fields]
    assert [row[2] for row in documented] == [field.description for field in fields.values()]
    for row, field in zip(documented, fields.values(), strict=True):
        wanted = "required" if field.is_required() else shown(field)
        assert row[1] == wanted or field.default_factory is not None, row


def test_roles_are_all_documented():
    section = OPERATIONS.split("## People and roles")[1].split("\n## ")[0]
    named = [row[0].strip("`") for row in rows_of(section) if row[0].startswith("`")]
    assert named[: len(Role)] == list(Role)


def test_options_of_the_agent_are_all_documented_with_variable_and_default():
    rows = {row[0].strip("`"): row for row in rows_of(OPERATIONS) if row[0].startswith("`--")}
    options = [
        o for o in worker_command.params if isinstance(o, click.Option) and o.name not in ("version", "help")
    ]
    assert set(rows) == {option.opts[0] for option in options}
    for option in options:
        row = rows[option.opts[0]]
        assert option.envvar is None or f"`{option.envvar}`" in row[1]
        assert row[3]
    assert all(f"`{kind}`" in rows["--kind"][3] for kind in KINDS)


def test_variables_that_the_agent_reads_are_all_documented():
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "workers").glob("*.py"))
    assert [
        name
        for name in set(re.findall(r"\bRATCHET_[A-Z]+(?:_[A-Z]+)*\b", source))
        if name not in OPERATIONS + FORMATS
    ] == []


def test_every_scope_is_documented():
    assert {f"`{scope}`" for scope in Scope} <= {row[0] for row in rows_of(OPERATIONS)}


def test_every_route_of_the_agent_is_documented():
    source = (ROOT / "app" / "api" / "worker.py").read_text(encoding="utf-8")
    routes = re.findall(r'@router\.post\("([^"]+)"', source)
    assert len(routes) > 4
    assert [route for route in routes if f"`POST {route}" not in PROTOCOL] == []


def test_every_key_of_a_reported_line_is_documented():
    keys = {*ValueLine.model_fields, *BatchLine.model_fields}
    assert [key for key in keys if f"`{key}`" not in FORMATS] == []


@pytest.mark.parametrize("house", ["app", "workers"])
def test_rooms_of_the_house_are_those_of_the_tree(house):
    plan = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").split("## The house")[1].split("```")[1]
    _, below = re.split(rf"^{house}/.*\n", plan, flags=re.MULTILINE)
    lines = itertools.takewhile(lambda line: line.startswith(" "), below.splitlines())
    rooms = [line.strip().partition("  ")[0] for line in lines if re.match("  [a-z]", line)]
    named = [name.strip("/") for room in rooms for name in room.split()]
    assert [name for name in named if not (ROOT / house / name).exists()] == []
    there = [
        path.name for path in (ROOT / house).iterdir() if path.name not in ("__init__.py", "__pycache__")
    ]
    assert [name for name in there if name not in named] == []


def test_every_format_that_can_be_imported_is_explained():
    assert [name for name in IMPORTED if f"| `{name}` |" not in IMPORT] == []


def test_every_option_of_the_import_is_explained():
    options = [o for o in import_.params if isinstance(o, click.Option)]
    assert [o.opts[0] for o in options if f"`{o.opts[0]}" not in IMPORT] == []
