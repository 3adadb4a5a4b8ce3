"""A whole service for a benchmark: `ratchet up` on a folder of its own, and what the operating system says of it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

RATCHET = [sys.executable, "-P", "-m", "app.cli"]
TICKS = os.sysconf("SC_CLK_TCK")


@contextmanager
def data_folder() -> Iterator[Path]:
    """Yield a folder that every user can enter, and remove it afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="ratchet-bench-", dir="/tmp"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def running(data: Path, *options: str, env: dict[str, str] | None = None) -> Iterator[tuple[str, str, int]]:
    """Yield (address, administrator's token, process id) of a `ratchet up` that is ready."""
    command = [*RATCHET, "up", "--data-dir", str(data), "--port", "0", *options]
    process = subprocess.Popen(
        command, env=os.environ | (env or {}), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        yield _url(process), (data / "admin-token").read_text().strip(), process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def _url(process: subprocess.Popen[str]) -> str:
    said = []
    for line in process.stdout or ():
        said.append(line)
        if line.startswith("ready "):
            return line.split()[1]
    raise RuntimeError(f"`ratchet up` ended:\n{''.join(said)}")


def descendants(pid: int) -> list[int]:
    """Return the process and all that descend from it."""
    parents: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            parents.setdefault(int(fields[1]), []).append(int(folder.name))
    found, queue = [], [pid]
    while queue:
        found.append(queue.pop())
        queue += parents.get(found[-1], [])
    return found


def cpu_s(pids: list[int]) -> dict[int, float]:
    """Return the processor time that each process has used so far [s]."""
    used = {}
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        used[pid] = (int(fields[11]) + int(fields[12])) / TICKS
    return used


def command_of(pid: int) -> str:
    """Return the process's command line."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def resident_mib(pid: int) -> float:
    """Return how much memory a process has [MiB]."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    kib = next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))
    return int(kib) / 1024


def api_mib(pid: int) -> float:
    """Return how much memory the api process of a `ratchet up` has [MiB]."""
    apis = [one for one in descendants(pid) if "app.cli api" in command_of(one)]  # its keeper, and itself
    return max(map(resident_mib, apis))


def seconds_to(command: list[str], env: dict[str, str] | None = None) -> float:
    """Return how long the command takes as a process [s]."""
    begun = time.perf_counter()
    subprocess.run(command, env=os.environ | (env or {}), check=True, capture_output=True)
    return time.perf_counter() - begun


def make_repository(path: Path, *commits: dict[str, str]) -> Path:
    """Make a git repository with these commits, each given as its files, and return its path."""
    path.mkdir()
    git = ["git", "-C", str(path), "-c", "user.name=bench", "-c", "user.email=bench@example.org"]
    subprocess.run(["git", "init", "--quiet", str(path)], check=True)
    for files in commits:
        for name, text in files.items():
            (path / name).write_text(text)
        subprocess.run([*git, "add", "--all"], check=True)
        subprocess.run([*git, "commit", "--quiet", "-m", "commit"], check=True)
    return path
