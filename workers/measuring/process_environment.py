"""The environment variables of what an agent starts: built from an allow-list, never inherited.

Nothing that begins with RATCHET_ is ever passed on: the agent's token is among it. Both arms get equal variables but
for their own paths, which have equal lengths.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from workers.arms.environments import Environment
from workers.arms.packages import installer_variables
from workers.host.fingerprint import RELEVANT_VARIABLES, SECRET_NAME

PASSED_NAMES = ("LD_LIBRARY_PATH", "TZ", "USER", "LOGNAME", "HF_HOME", "HF_HUB_OFFLINE")
PASSED_BEGINNINGS = (*RELEVANT_VARIABLES, "NVIDIA_")
"""How names begin that measured processes need to find the machine's devices and to share them."""

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PADDING = "MEASUREMENT_PADDING"
LOCALE = {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}


def common_variables(home: Path, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return what every program of a job gets; `home` is an empty folder that is also its place for temporary files."""
    passed = {
        name: value
        for name, value in environ.items()
        if name in PASSED_NAMES or (name.startswith(PASSED_BEGINNINGS) and not SECRET_NAME.search(name))
    }
    path = environ.get("PATH", DEFAULT_PATH)
    return {**passed, **LOCALE, "PATH": path, "HOME": str(home), "TMPDIR": str(home)}


def set_up_variables(home: Path, packages: Path, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return what set-up commands get: in addition, how to reach packages, and the caches in `packages`."""
    caches = {"UV_CACHE_DIR": str(packages / "uv"), "PIP_CACHE_DIR": str(packages / "pip")}
    return {**common_variables(home, environ), **caches, **installer_variables(environ)}


def measured_variables(
    *,
    home: Path,
    checkout: Path,
    environment: Environment,
    suite: Mapping[str, str],
    caches: Mapping[str, str],
    visible: Mapping[str, str],
    hash_seed: int,
    padding: int,
    environ: Mapping[str, str] = os.environ,
) -> dict[str, str]:
    """Return what one invocation gets.

    Args:
        home: a folder of this invocation alone.
        checkout: the arm's work tree; its code comes first on Python's path.
        environment: the arm's virtual environment.
        suite: the suite's own variables; they win over all but what makes invocations comparable.
        caches: where compilers keep their results, for each arm apart.
        visible: what shows the process the lease's devices and no others; the suite cannot change it.
        hash_seed: for `PYTHONHASHSEED`.
        padding: length of a variable that moves the stack [B].
        environ: the agent's environment.
    """
    common = common_variables(home, environ)
    return {
        **common,
        "PATH": f"{environment.path / 'bin'}:{common['PATH']}",
        "VIRTUAL_ENV": str(environment.path),
        **_python_path(checkout, environment),
        **caches,
        **suite,
        **visible,
        "PYTHONHASHSEED": str(hash_seed),
        PADDING: "x" * padding,
    }


def _python_path(checkout: Path, environment: Environment) -> dict[str, str]:
    """Return the path that puts the commit's code first; not where only its installed copy has the compiled parts."""
    if environment.is_compiled:
        return {}
    folders = [folder for folder in (checkout / "src", checkout) if folder.is_dir()]
    return {"PYTHONPATH": os.pathsep.join(map(str, folders))}
