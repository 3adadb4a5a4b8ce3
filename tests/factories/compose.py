"""docker-compose.yml as Compose reads it: variables are filled in, merge keys are merged, `$$` is a dollar sign."""

from __future__ import annotations

import re
from collections.abc import Mapping
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
FILE = ROOT / "docker-compose.yml"
TEXT = FILE.read_text(encoding="utf-8")

_VARIABLE = re.compile(r"\$\$|\$\{(\w+)(?::([-?])([^}]*))?\}|\$\w+")


def compose(environment: Mapping[str, str]) -> dict[str, Any]:
    """Return the file as a document. Raises KeyError, with the file's words, for a variable that has to be set."""
    document = _filled(yaml.safe_load(TEXT), environment)
    assert isinstance(document, dict)
    return document


def _filled(part: Any, environment: Mapping[str, str]) -> Any:
    if isinstance(part, dict):
        return {key: _filled(value, environment) for key, value in part.items()}
    if isinstance(part, list):
        return [_filled(value, environment) for value in part]
    return _interpolated(part, environment) if isinstance(part, str) else part


def _interpolated(text: str, environment: Mapping[str, str]) -> str:
    def value(found: re.Match[str]) -> str:
        if found[0] == "$$":
            return "$"
        if found[1] is None:
            raise ValueError(f"{found[0]!r} in {text!r}: Compose would take it for a variable; write $$")
        known = environment.get(found[1], "")
        if known or found[2] is None:
            return known
        if found[2] == "?":
            raise KeyError(found[3])
        return str(found[3])

    return _VARIABLE.sub(value, text)


def start_order(services: Mapping[str, Any]) -> list[str]:
    """Return the services in an order in which each comes after those that it waits for."""
    return list(
        TopologicalSorter({name: its.get("depends_on", {}) for name, its in services.items()}).static_order()
    )
