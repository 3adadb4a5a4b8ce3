"""Gets commits: one bare mirror for each repository, and from it a work tree of its own for each arm.

A work tree is a full repository (it borrows the mirror's objects), since set-up commands such as setuptools_scm ask
git for the version. Only full commit ids are ever fetched. A commit that cannot be had is an `ArmError`; a repository
that cannot be reached, or a full disk, is a `JobError`.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from workers.arms.workspace import remove_tree
from workers.errors import ArmError, JobError
from workers.programs.runner import Ended, Program, Runner
from workers.protocol import Source

log = logging.getLogger(__name__)

GIT_TIMEOUT_S = 600.0
PRINTED_B = 4 * 1024 * 1024
COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
BUNDLE = re.compile(r"[0-9a-f]{32,128}")
CREDENTIALS = re.compile(r"^(https?://)[^/@]*@")
SHA256_DIGITS = 64
SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://|[^/]+@[^/]+:")
ANY_OWNER = ("-c", "safe.directory=*")
"""Git refuses repositories of other users, to protect from their hooks and settings; we run and read none."""
QUIET = (
    "-c",
    "advice.detachedHead=false",
    "-c",
    "gc.auto=0",
    "-c",
    "maintenance.auto=false",
    "-c",
    "core.hooksPath=/dev/null",
)
UPLOAD = "git -c 'safe.directory=*'"
LOCAL_FILES = ("-c", "protocol.file.allow=always")
UNREACHABLE = re.compile(
    r"could not resolve|couldn't connect|connection (?:refused|reset|timed out)|failed to connect|returned error: 5\d\d"
    r"|network is unreachable|early eof|the remote end hung up",
    re.IGNORECASE,
)
DAMAGED = "ratchet-damaged"
"""Marks a mirror that a commit could not be checked out from; the next job makes it anew."""
NO_SPACE = "No space left on device"
UNUSED_S = 30 * 86400.0
"""What no job has used for so long is removed [s]: mirrors, and environments too. Both can be made anew."""


class Git:
    """Runs git for one job: no prompts, no hooks, none of the agent's secrets, English messages."""

    def __init__(
        self,
        runner: Runner,
        environ: Mapping[str, str] = os.environ,
        variables: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Take what git gets from `environ`, and `variables` in addition."""
        self._runner = runner
        kept = {name: value for name, value in environ.items() if not name.startswith(("GIT_", "RATCHET_"))}
        transport = {
            name: value for name, value in environ.items() if name.startswith(("GIT_SSL_", "GIT_SSH"))
        }
        quiet = {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", "LANGUAGE": "C"}
        self._env = {**kept, **transport, **quiet, **variables}

    def without_settings(self) -> Git:
        """Return a git that knows no settings of the machine or its user, such as filters that run programs."""
        return Git(self._runner, self._env, {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull})

    def run(self, *arguments: str, cwd: Path) -> Ended:
        """Run one git command; a full disk is a `JobError`, any other failure is for the caller to judge."""
        argv = ["git", *ANY_OWNER, *QUIET, *LOCAL_FILES, *arguments]
        ended = self._runner.run(Program(argv, self._env, cwd, GIT_TIMEOUT_S, kept_b=PRINTED_B))
        if not ended.ok and NO_SPACE in ended.output.text:
            raise JobError(
                "disk_full", f"git {arguments[0]} found the disk full", log_tail=ended.output.tail()
            )
        return ended

    def read(self, *arguments: str, cwd: Path) -> bytes:
        """Return what a git command prints on success; a failure is an `ArmError`."""
        ended = self.run(*arguments, cwd=cwd)
        if not ended.ok:
            reason = f"git_failed: git {arguments[0]}: {last_line(ended)}"
            raise ArmError("checkout_failed", reason, ended.output.tail())
        return ended.output.raw


class Mirror:
    """The commits of one repository, kept between runs."""

    def __init__(self, git: Git, folder: Path, location: str, *, name: str | None = None) -> None:
        """Say what `git fetch` shall take, the folder of all mirrors, and what to name this one after if not that."""
        self._git = git
        self._location = location
        self._shown = without_credentials(location)
        self.path = folder / f"{hashlib.sha256((name or location).encode()).hexdigest()[:16]}.git"

    def fetch(self, commits: list[str]) -> None:
        """Get those of the commits that are not here yet, as far as the repository has them.

        Mirrors beside this one that are long unused go first, which makes room.

        Raises:
            JobError: the repository cannot be reached or read.
        """
        is_new = self._make(commits[0])
        os.utime(self.path / "HEAD")  # when it was last used; git leaves this file of a mirror alone
        prune_mirrors(self.path.parent, kept=self.path)
        ended = self._get(commits)
        if ended is not None and not is_new and not self._is_away(ended):  # is it the mirror?
            shutil.rmtree(self.path)
            self._make(commits[0])
            ended = self._get(commits)
        if ended is not None:
            raise self._unreadable(ended)

    def has(self, commit: str) -> bool:
        """Tell whether the commit is here, whole."""
        return self._git.run("cat-file", "-e", f"{commit}^{{tree}}", cwd=self.path).ok

    def check_out(self, commit: str, target: Path, *, alone: bool = False) -> None:
        """Make the work tree of a commit, with its submodules, as a repository of its own.

        One that stands `alone` borrows nothing of this mirror, and has no history but its own.

        Raises:
            ArmError: the commit is unknown, or it or a submodule cannot be checked out.
        """
        self.require(commit)
        try:
            self._populate(commit, target, self._copy if alone else self._lend)
        except ArmError:
            (self.path / DAMAGED).touch()
            raise
        if (target / ".gitmodules").is_file():
            self._add_submodules(target)

    def check_out_strange(self, commit: str, target: Path) -> None:
        """Make the work tree of a stranger's commit, alone: nothing is run or fetched that it names.

        Raises:
            ArmError: the commit is unknown, or cannot be checked out.
            JobError: it needs submodules, or files of git-lfs, which are not fetched for it.
        """
        self.require(commit)
        plain = self._git.without_settings()
        self._populate(commit, target, self._copy, plain)
        tracked = plain.read("ls-files", "--stage", "-z", cwd=target)
        if re.search(rb"(?:^|\0)160000 ", tracked):
            raise _not_fetched("untrusted_submodules", "submodules")
        if self._has_lfs() and plain.read("ls-files", "-z", "--", ":(top,attr:filter=lfs)", cwd=target):
            raise _not_fetched("untrusted_lfs", "files of git-lfs")

    def require(self, commit: str) -> None:
        """Raise ArmError unless the commit is here."""
        if not COMMIT.fullmatch(commit):
            raise ArmError(
                "checkout_failed", f"bad_revision: {commit!r} is no full commit id of 40 or 64 hex digits"
            )
        if not self.has(commit):
            raise ArmError("checkout_failed", f"unknown_revision: {self._shown} has no commit {commit}")

    def _populate(
        self, commit: str, target: Path, fill: Callable[[str, Path, Git], None], git: Git | None = None
    ) -> None:
        """Make a repository, filled in one of the two ways below, and check the commit out."""
        git = git or self._git
        target.mkdir(parents=True)
        git.read("init", *_init_options(commit), ".", cwd=target)
        if (self.path / "shallow").exists():
            shutil.copy(self.path / "shallow", target / ".git/shallow")
        git.read("remote", "add", "origin", self._shown, cwd=target)  # submodules may be relative to it
        fill(commit, target, git)
        git.read("checkout", "--quiet", "--detach", commit, cwd=target)

    def _lend(self, _: str, target: Path, git: Git) -> None:
        """Lend this one's objects; `git clone` would not do so where history is cut off."""
        (target / ".git/objects/info/alternates").write_bytes(os.fsencode(self.path / "objects") + b"\n")
        git.read("fetch", "--quiet", "--", str(self.path), "+refs/tags/*:refs/tags/*", cwd=target)

    def _copy(self, commit: str, target: Path, git: Git) -> None:
        """Copy the commit with its history and the tags in it; what else is here stays unseen."""
        wanted = f"+{commit}:refs/ratchet/{commit}"
        options = [
            "--quiet",
            "--update-shallow",
            f"--upload-pack={UPLOAD} -c uploadpack.allowAnySHA1InWant=true upload-pack",
        ]
        git.read("fetch", *options, "--", str(self.path), wanted, cwd=target)

    def _has_lfs(self) -> bool:
        """Tell whether check-outs of trusted commits have the files that git-lfs keeps elsewhere."""
        return self._git.run("config", "--get-regexp", r"^filter\.lfs\.(smudge|process)$", cwd=self.path).ok

    def _add_submodules(self, target: Path) -> None:
        ended = self._git.run("submodule", "--quiet", "update", "--init", "--recursive", cwd=target)
        if not ended.ok and UNREACHABLE.search(ended.output.text):
            message = f"a submodule cannot be reached: {last_line(ended)}"
            raise JobError("repository_unreachable", message, log_tail=ended.output.tail())
        if not ended.ok:
            reason = f"submodule_failed: git submodule update: {last_line(ended)}"
            raise ArmError("checkout_failed", reason, ended.output.tail())

    def _make(self, commit: str) -> bool:
        """Make the mirror if it is not there, or damaged; return whether it is new. Any commit tells the format."""
        if (self.path / DAMAGED).exists():
            shutil.rmtree(self.path)
        if (self.path / "HEAD").is_file():
            return False
        self.path.mkdir(parents=True, exist_ok=True)
        ended = self._git.run("init", "--bare", *_init_options(commit), ".", cwd=self.path)
        if not ended.ok:
            raise JobError(
                "agent_fault", f"no mirror can be made in {self.path}", log_tail=ended.output.tail()
            )
        return True

    def _get(self, commits: list[str]) -> Ended | None:
        """Fetch what is missing; return how that ended if it failed."""
        missing = [commit for commit in commits if COMMIT.fullmatch(commit) and not self.has(commit)]
        if not missing or self._fetch(*(f"+{commit}:refs/ratchet/{commit}" for commit in missing)).ok:
            return None
        # Some servers give out only what a ref names, and one unknown commit fails the whole request.
        everything = self._fetch("+refs/*:refs/upstream/*")
        return None if everything.ok else everything

    def _fetch(self, *refspecs: str) -> Ended:
        options = ["--quiet", "--update-shallow"]
        if not self._is_remote:
            # The other end runs on this machine, too, where git does not pass our `-c safe.directory` on to it.
            options.append(f"--upload-pack={UPLOAD} upload-pack")
        return self._git.run("fetch", *options, "--", self._location, *refspecs, cwd=self.path)

    @property
    def _is_remote(self) -> bool:
        return SCHEME.match(self._location) is not None

    def _is_away(self, ended: Ended) -> bool:
        """Tell whether a fetch failed for want of an answer; a repository on this machine always answers."""
        return ended.timed_out or (self._is_remote and UNREACHABLE.search(ended.output.text) is not None)

    def _unreadable(self, ended: Ended) -> JobError:
        if self._is_away(ended):
            message = f"{self._shown} cannot be reached: {last_line(ended)}"
            return JobError("repository_unreachable", message, log_tail=ended.output.tail())
        message = f"{self._shown} cannot be read as a git repository: {last_line(ended)}"
        return JobError("repository_unreadable", message, retryable=False, log_tail=ended.output.tail())


def prune_mirrors(folder: Path, *, kept: Path) -> None:
    """Remove the mirrors that no job has used for `UNUSED_S`, but for `kept`, and unfinished ones."""
    for path in folder.glob("*.git"):
        if path != kept and is_unused(path / "HEAD"):
            log.info("removing the mirror %s, unused for %d days", path.name, UNUSED_S // 86400)
            remove_tree(path)


def is_unused(mark: Path) -> bool:
    """Tell whether the file that is dated by each use is older than `UNUSED_S`, or was never made."""
    try:
        return time.time() - mark.stat().st_mtime > UNUSED_S
    except FileNotFoundError:
        return True


def last_line(ended: Ended) -> str:
    """Return what a program gave up with, else the last thing that it said, else how it ended."""
    lines = ended.output.tail().strip().splitlines()
    if not lines or ended.timed_out:
        return ended.reason
    return next((line for line in lines if line.startswith("fatal: ")), lines[-1])


def _not_fetched(reason: str, what: str) -> JobError:
    message = f"{what} of untrusted commits are not fetched, as they name addresses to fetch from"
    return JobError(reason, message, retryable=False)


def without_credentials(location: str) -> str:
    """Return an address without user and password; anything else as it is."""
    return CREDENTIALS.sub(r"\1", location)


def _init_options(commit: str) -> list[str]:
    """Return how to make a repository that can hold this commit."""
    return [
        "--quiet",
        "--template=",
        f"--object-format={'sha256' if len(commit) == SHA256_DIGITS else 'sha1'}",
    ]


def bundle_digest(source: Source) -> str:
    """Return the digest of an uploaded bundle, fit to be part of a path.

    Raises:
        JobError: it is none.
    """
    if not BUNDLE.fullmatch(source.location):
        message = f"{source.location!r} is no bundle's digest"
        raise JobError("bad_bundle", message, retryable=False)
    return source.location
