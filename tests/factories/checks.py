"""Requests for checks, as a client posts them."""

from __future__ import annotations

from typing import Any

BASE, HEAD = "a" * 40, "b" * 40

SETTINGS = """
[project]
name = "acme/vision"

[[suite]]
name = "inference"
benchmarks = "benchmarks/bench_*.py"
devices = ["{devices}"]

[gate]
device_minutes = 1
"""


def check_request(*, devices: str = "cpu-*", **fields: Any) -> dict[str, Any]:
    """Return the body of `POST /api/v1/checks` for one suite."""
    body: dict[str, Any] = {
        "settings": SETTINGS.format(devices=devices),
        "source": {"kind": "git", "location": "/repositories/vision"},
        "base": {"sha": BASE, "subject": "Before"},
        "head": {"sha": HEAD, "subject": "After", "author": "Ada"},
    }
    return body | fields
