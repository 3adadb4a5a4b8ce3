"""Vendors' tools as shell scripts, and trees of device files, for tests of devices that this machine lacks."""

from workers.devices.tools import Stream

SOON_S = 20.0
"""A bound against hanging, far above what anything here takes."""


def put_tool(folder, name, script):
    """Put a command on PATH; the folder has to be on it."""
    file = folder / name
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return file


def write(root, files):
    """Write files below a folder: path -> text."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def start_tools_anew_at_once(monkeypatch):
    """Let streams not wait before they start a tool that ended."""
    monkeypatch.setitem(Stream.__init__.__kwdefaults__, "again_s", 0.02)
