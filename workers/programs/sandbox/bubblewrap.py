"""Runs a program under bubblewrap with what it may see of this machine, and nothing else.

Its root is an empty file system that cannot be written, into which the parts that it needs are bound at the paths that
they have outside; the deeper path wins, so that a folder that may be written can hold one that may not. It has
processes, network (a loopback that leads nowhere), shared memory and host name of its own, no privilege that it could
gain, a filter of system calls (`syscalls`) and bounds on processes and memory. bubblewrap itself gets none of the
program's variables, or a library that one of them names would run outside.

An agent that is root gives the program a user id that nobody has: it owns nothing but what `give` made its own. One
that is not stays itself, in a user namespace where that is worth nothing.
"""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from workers.programs.sandbox.syscalls import MACHINES, deny_filter

LEVEL = 2
"""What this sandbox is of the levels in docs/sandbox.md."""

USER = 60986
"""Whom programs of a root agent run as: neither an account's nor one of those that systemd hands out."""

OUTSIDE = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}
"""All that bubblewrap gets of an environment."""

TOOLS = ("bwrap", "setpriv", "prlimit", "choom", "env")
"""bubblewrap, three of util-linux and one of coreutils."""

SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"),
    *("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives"),
    *(
        "/etc/ssl/certs",
        "/etc/ssl/openssl.cnf",
        "/etc/pki/ca-trust",
        "/etc/pki/tls/certs",
        "/etc/ca-certificates",
    ),
    *("/etc/crypto-policies", "/etc/localtime", "/etc/timezone", "/etc/nsswitch.conf", "/etc/os-release"),
    "/etc/mime.types",
    "/sys/devices/system",
)
"""What every program needs of the machine: programs, libraries, certificates, clocks, the topology of processors."""

IN_MEMORY = ("/dev/shm", "/tmp")  # noqa: S108 (they are the sandbox's own)


MACHINE_B = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
"""All memory of this machine [B]."""


@dataclass(frozen=True)
class Limits:
    """Bounds on what one program may take, so that it cannot take everything from the agent."""

    processes: int = max(2048, 64 * (os.cpu_count() or 1))
    """Processes and threads together."""
    memory_b: int = MACHINE_B * 9 // 10
    """Of each process, and of all of them where there is a control group that can tell [B]."""
    shared_b: int = MACHINE_B // 4
    """Of `/tmp` and of `/dev/shm`, each [B]: both are memory."""


@dataclass(frozen=True)
class Confinement:
    """What one program sees beside the system's own files. Paths that are not there are left out.

    Of two paths the deeper one decides: a folder in a `writable` one may be `readable` alone.
    """

    sandbox: Sandbox
    readable: Sequence[Path] = ()
    writable: Sequence[Path] = ()
    devices: Sequence[Path] = ()
    """Device files."""

    def seeing(self, *, readable: Sequence[Path] = (), writable: Sequence[Path] = ()) -> Confinement:
        """Return one that shows these, too."""
        return Confinement(
            self.sandbox, [*self.readable, *readable], [*self.writable, *writable], self.devices
        )


@dataclass(frozen=True)
class Command:
    """How a confined program is started: its argument vector, and the descriptors that this has to inherit."""

    argv: list[str]
    fds: list[int]
    progress: int

    def was_set_up(self) -> bool:
        """Tell, once it has ended by itself, whether bubblewrap came as far as to start the program."""
        return b'"exit-code"' in os.pread(self.progress, 4096, 0)


@dataclass(frozen=True)
class Sandbox:
    """The means to confine programs on this machine; whether they work is for `probe` to find out."""

    tools: Mapping[str, str]
    user: int | None
    """Whom programs run as; None where that is the agent's own user."""
    limits: Limits = field(default_factory=Limits)

    @property
    def level(self) -> int:
        """The level of isolation that it gives."""
        return LEVEL

    def give(self, *folders: Path) -> None:
        """Make folders, with all in them, the sandboxed user's own. Nothing of strangers' may be running."""
        if self.user is None:
            return
        for folder in folders:
            for base, _, files in os.walk(folder):
                os.chown(base, self.user, self.user)
                for name in files:
                    os.chown(os.path.join(base, name), self.user, self.user, follow_symlinks=False)

    @contextlib.contextmanager
    def command(
        self, argv: Sequence[str], env: Mapping[str, str], cwd: Path, confinement: Confinement
    ) -> Iterator[Command]:
        """Give the command that runs `argv` confined, for as long as it runs."""
        with contextlib.ExitStack() as stack:
            progress = stack.enter_context(_in_memory(b""))
            accounts = stack.enter_context(_in_memory(self._accounts()))
            rules = stack.enter_context(_in_memory(deny_filter()))
            options = self._options(confinement, accounts, rules)
            given = stack.enter_context(_in_memory(b"\0".join(map(os.fsencode, options)) + b"\0"))
            command = [self.tools["bwrap"], "--json-status-fd", str(progress), "--args", str(given), "--"]
            inherited = [accounts, rules, given, progress]
            yield Command([*command, *self._stages(env, cwd, confinement), *argv], inherited, progress)

    def _accounts(self) -> bytes:
        user = os.getuid() if self.user is None else self.user
        group = os.getgid() if self.user is None else self.user
        return f"sandbox:x:{user}:{group}::/nonexistent:/bin/sh\n".encode()

    def _options(self, confinement: Confinement, accounts: int, rules: int) -> list[str]:
        small = ["--perms", "1777", "--size", str(self.limits.shared_b)]
        return [
            *("--unshare-pid", "--unshare-ipc", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"),
            *("--hostname", "sandbox", "--die-with-parent", "--new-session"),
            *self._privileges(),
            *("--clearenv", "--setenv", "PATH", OUTSIDE["PATH"]),
            *("--proc", "/proc", "--dev", "/dev"),
            *(word for folder in IN_MEMORY for word in (*small, "--tmpfs", folder)),
            *_mounts(confinement),
            *("--perms", "0644", "--ro-bind-data", str(accounts), "/etc/passwd"),
            *("--remount-ro", "/dev", "--remount-ro", "/"),
            *("--seccomp", str(rules), "--chdir", "/"),
        ]

    def _privileges(self) -> list[str]:
        if self.user is None:
            return ["--unshare-user", "--cap-drop", "ALL"]
        kept = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")  # for `setpriv`, which gives them up
        return ["--cap-drop", "ALL", *(word for name in kept for word in ("--cap-add", name))]

    def _stages(self, env: Mapping[str, str], cwd: Path, confinement: Confinement) -> list[str]:
        """Return what bubblewrap starts: each becomes the next, and the last of them the program.

        Only the last goes to the program's folder, which may be closed to any but its user.
        """
        stages = []
        if self.user is not None:
            groups = sorted({group for path in confinement.devices if (group := _group_of(path))})
            groups_option = f"--groups={','.join(map(str, groups))}" if groups else "--clear-groups"
            own = [f"--reuid={self.user}", f"--regid={self.user}", groups_option]
            stages += [self.tools["setpriv"], *own, "--inh-caps=-all", "--bounding-set=-all"]
        limits = [
            f"--nproc={_allowed(resource.RLIMIT_NPROC, self.limits.processes)}",
            f"--data={_allowed(resource.RLIMIT_DATA, self.limits.memory_b)}",
            "--core=0",
        ]
        stages += [self.tools["prlimit"], *limits, self.tools["choom"], "-n", "1000", "--"]
        return [
            *stages,
            self.tools["env"],
            "-i",
            "-C",
            str(cwd),
            *(f"{name}={value}" for name, value in env.items()),
        ]


def find_sandbox(limits: Limits | None = None) -> Sandbox | str:
    """Return the means for sandboxes of this machine, or why there are none."""
    found = {name: shutil.which(name, path=OUTSIDE["PATH"]) for name in TOOLS}
    missing = [name for name, path in found.items() if path is None]
    if os.uname().machine not in MACHINES:
        return f"the system calls of {os.uname().machine} are not known to the filter"
    if missing:
        package = "bubblewrap" if "bwrap" in missing else "util-linux"
        return f"{missing[0]} is not installed (Debian's package {package})"
    tools = {name: path for name, path in found.items() if path is not None}
    return Sandbox(tools, USER if os.geteuid() == 0 else None, limits or Limits())


def _allowed(limit: int, wanted: int) -> int:
    """Return what is wanted of a limit, or the less that this process may pass on."""
    _, most = resource.getrlimit(limit)
    return wanted if most == resource.RLIM_INFINITY else min(wanted, most)


def python_folders() -> list[Path]:
    """Return where the interpreter lies that environments are made from, by each name that leads there."""
    names = {sys.base_prefix, sys.base_exec_prefix, str(Path(sys.executable).resolve().parents[1])}
    return [Path(name) for name in sorted(names | {os.path.realpath(name) for name in names})]


def _mounts(confinement: Confinement) -> list[str]:
    """Return the options that bind what is to be seen, folders before what is in them."""
    wanted: dict[str, str] = {}
    for kind, paths in (
        ("--ro-bind", [*map(Path, SYSTEM), *python_folders(), *confinement.readable]),
        ("--bind", confinement.writable),
        ("--dev-bind", confinement.devices),
    ):
        wanted |= {str(path): kind for path in paths if os.path.exists(path)}
    made: set[str] = set()
    options: list[str] = []
    for path in sorted(wanted, key=lambda path: len(Path(path).parts)):
        above = [str(parent) for parent in reversed(Path(path).parents) if str(parent) not in ("/", *made)]
        options += [word for parent in above for word in ("--perms", "0755", "--dir", parent)]
        options += [wanted[path], path, path]
        made |= {*above, path}
    return options


@contextlib.contextmanager
def _in_memory(content: bytes) -> Iterator[int]:
    """Give the descriptor of a file that has no name, at its beginning."""
    descriptor = os.memfd_create("sandbox")
    try:
        with os.fdopen(os.dup(descriptor), "wb") as file:
            file.write(content)
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)


def _group_of(path: Path) -> int | None:
    """Return the group that a device file is for, None where all may use it or only its owner."""
    try:
        status = path.stat()
    except OSError:
        return None
    for_all = status.st_mode & (stat.S_IROTH | stat.S_IWOTH) == stat.S_IROTH | stat.S_IWOTH
    return status.st_gid if not for_all and status.st_mode & stat.S_IWGRP and status.st_gid else None
