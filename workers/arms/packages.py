"""Where packages come from while an environment is built: pip's settings, told to uv as well.

pip reads settings files and variables, uv has names of its own for the same things; a set-up command shall find the
same packages whichever of the two installs. The names are from pip's page "Configuration" and uv's page "Environment
variables". Both keep what they have downloaded and built, which is bounded here.
"""

from __future__ import annotations

import configparser
import contextlib
import logging
import os
import re
from collections.abc import Mapping
from pathlib import Path

from workers.arms.workspace import remove_tree, tree_size_b

log = logging.getLogger(__name__)

INSTALLER = re.compile(
    r"(?:PIP|UV)_|(?:https?|ftp|no|all)_proxy$|SSL_CERT_(?:FILE|DIR)$|REQUESTS_CA_BUNDLE$", re.IGNORECASE
)
"""Variables that set-up commands get from the agent's own environment, and measured code does not."""

UV_NAMES = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "trusted-host": "UV_INSECURE_HOST",
    "no-index": "UV_NO_INDEX",
}
SYSTEM_SETTINGS = Path("/etc/pip.conf")
SEPARATED_BY_COMMA = ("find-links",)

SHIM = """#!/bin/sh
# Runs uv in pip's place: the same packages in a fraction of the time. What uv does not understand, pip does.
case "$1" in
install | uninstall | list | freeze | show | check)
    {uv} pip "$@"
    status=$?
    [ "$status" -eq 2 ] || exit "$status" ;;
esac
exec {python} -m pip "$@"
"""


def installer_variables(
    environ: Mapping[str, str] = os.environ, *, home: Path | None = None
) -> dict[str, str]:
    """Return the variables by which pip and uv find packages as the agent's user would.

    Args:
        environ: the agent's environment.
        home: the user's home; set-up commands have another one, where pip would not find the user's settings.
    """
    given = {name: value for name, value in environ.items() if INSTALLER.match(name)}
    settings = pip_settings(given, home or Path.home())
    as_pip = {f"PIP_{name.upper().replace('-', '_')}": value for name, value in settings.items()}
    as_uv = {UV_NAMES[name]: _for_uv(name, value) for name, value in settings.items()}
    best_of_all = {"UV_INDEX_STRATEGY": "unsafe-best-match"} if "extra-index-url" in settings else {}
    return {"UV_PYTHON_DOWNLOADS": "never", **best_of_all, **as_uv, **as_pip, **given}


def prune_caches(folder: Path, max_b: float) -> None:
    """Empty the installers' caches in this folder, the largest first, until together they keep within the limit [B].

    A cache goes as a whole: uv allows nobody else to take single entries from its own, and has no command for those
    that were not used for long. No installer may be running. Environments have links or copies, and need no cache.
    """
    sizes = {cache: tree_size_b(cache) for cache in folder.iterdir()} if folder.is_dir() else {}
    for cache in sorted(sizes, key=lambda cache: sizes[cache], reverse=True):
        if sum(sizes.values()) <= max_b:
            return
        log.info("emptying the cache %s, as the caches are over their limit", cache.name)
        remove_tree(cache)
        sizes[cache] = 0


def pip_settings(environ: Mapping[str, str], home: Path) -> dict[str, str]:
    """Return what pip's settings files and variables say of where packages come from; later ones win."""
    parser = configparser.RawConfigParser()
    with contextlib.suppress(configparser.Error, UnicodeDecodeError):  # pip itself will say what is wrong
        parser.read(_settings_files(environ.get("PIP_CONFIG_FILE"), home), encoding="utf-8")
    settings = {}
    for name in UV_NAMES:
        value = environ.get(f"PIP_{name.upper().replace('-', '_')}") or parser.get(
            "global", name, fallback=None
        )
        if value:
            settings[name] = " ".join(value.split())
    return settings


def _settings_files(own: str | None, home: Path) -> list[Path]:
    if own == os.devnull:  # pip's way of asking for none at all
        return []
    files = [SYSTEM_SETTINGS, home / ".pip/pip.conf", home / ".config/pip/pip.conf"]
    return [*files, Path(own)] if own else files


def _for_uv(name: str, value: str) -> str:
    return value.replace(" ", ",") if name in SEPARATED_BY_COMMA else value
