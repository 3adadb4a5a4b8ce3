"""What the command line asks a local git repository: revisions, commits, files, bundles."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from app.domain.errors import DataError


@dataclass(frozen=True)
class GitCommit:
    """A commit as the repository tells it; `authored_at` is ISO 8601."""

    sha: str
    subject: str
    author: str
    authored_at: str

    @property
    def when(self) -> datetime | None:
        """When it was written; None where git tells no date."""
        return datetime.fromisoformat(self.authored_at) if self.authored_at else None


class Repository:
    """A git repository on this machine. Every method raises DataError with what git said."""

    def __init__(self, path: Path) -> None:
        if not path.is_dir():
            raise DataError(f"{path} is not a folder", code="no_repository")
        self.path = path
        found = self._git("rev-parse", "--git-common-dir", error=f"{path} is not in a git repository")
        self.git_dir = (path / found).resolve()

    def commit(self, revision: str) -> GitCommit:
        """Return the commit that `revision` names."""
        wanted = f"{revision}^{{commit}}"
        error = f"{self.path} has no commit {revision!r}"
        sha = self._git("rev-parse", "--verify", "--quiet", "--end-of-options", wanted, error=error)
        lines = self._git(
            "show", "--no-patch", "--no-show-signature", "--format=%s%n%an%n%aI", sha
        ).splitlines()
        subject, author, authored_at = (*lines, "", "", "")[:3]
        return GitCommit(sha, subject, author, authored_at)

    def find(self, revision: str) -> str | None:
        """Return the id of the commit that `revision` names, None where it names none."""
        wanted = f"{revision}^{{commit}}"
        result = self._run("rev-parse", "--verify", "--quiet", "--end-of-options", wanted)
        return result.stdout.decode().strip() if result.returncode == 0 else None

    def is_under(self, sha: str, prefix: str) -> bool:
        """Say whether a ref whose name begins so has the commit in its history."""
        return bool(self._git("for-each-ref", "--count=1", f"--contains={sha}", prefix))

    def merge_base(self, one: str, other: str) -> str | None:
        """Return the newest commit that both revisions have, None if they have none in common."""
        result = self._compared("merge-base", "--end-of-options", one, other)
        return result.stdout.decode().strip() or None

    def is_ancestor(self, one: str, other: str) -> bool:
        """Say whether the first commit is in the history of the second; not where it is no commit here."""
        return self._run("merge-base", "--is-ancestor", one, other).returncode == 0

    def parent(self, sha: str) -> str | None:
        """Return a commit's first parent, None for the first commit of all."""
        words = self._git("rev-list", "--parents", "--max-count=1", sha).split()
        return words[1] if len(words) > 1 else None

    def lineage(self, base: str, head: str, most: int) -> list[tuple[str, str]]:
        """Return (commit, its first parent) from head down to base, base itself left out, at most so many."""
        lines = self._git("rev-list", "--first-parent", "--parents", f"--max-count={most}", f"{base}..{head}")
        return [(words[0], words[1]) for line in lines.splitlines() if len(words := line.split()) > 1]

    def history(self, revision: str) -> list[tuple[GitCommit, str | None]]:
        """Return the commits on the line of first parents of a revision, oldest first, each with its first parent.

        Their time is the committer's, which is when they came to be as they are. Raises DataError also for a shallow
        clone, which does not know where the line begins.
        """
        if self._git("rev-parse", "--is-shallow-repository") == "true":
            raise DataError(
                f"{self.path} is a shallow clone; fetch the whole history: git fetch --unshallow",
                code="shallow",
            )
        sha = self.commit(revision).sha
        form = "--format=%H%x00%P%x00%an%x00%cI%x00%s"
        told = self._git("log", "-z", "--first-parent", "--reverse", "--no-show-signature", form, sha)
        fields = iter(told.split("\0"))
        return [
            (GitCommit(sha, subject, author, time), parents.split(" ")[0] or None)
            for sha, parents, author, time, subject in zip(*[fields] * 5, strict=False)
        ]

    def length(self, base: str, head: str) -> int:
        """Return how many commits lie on the line of first parents from head down to base, base itself left out."""
        return int(self._git("rev-list", "--first-parent", "--count", f"{base}..{head}"))

    def differs(self, base: str, head: str, globs: Sequence[str]) -> bool:
        """Say whether a file that matches one of the globs is not the same in both commits; `src/` means `src/**`."""
        paths = [f":(glob){glob}**" if glob.endswith("/") else f":(glob){glob}" for glob in globs]
        return self._compared("diff", "--quiet", base, head, "--", *paths).returncode == 1

    def changed_files(self, base: str, head: str) -> list[str]:
        """Return the files that are not the same in both commits; of one that was moved both names."""
        told = self._git("diff", "--name-only", "-z", "--no-renames", base, head, "--")
        return [path for path in told.split("\0") if path]

    def file_at(self, sha: str, path: str) -> bytes | None:
        """Return the file as the commit has it, None if it has none."""
        result = self._run("cat-file", "blob", f"{sha}:{path}")
        return result.stdout if result.returncode == 0 else None

    def bundle(self, path: Path, *shas: str) -> None:
        """Write a git bundle that holds the commits and their history."""
        refs = {f"refs/ratchet/{sha}": sha for sha in dict.fromkeys(shas)}
        for ref, sha in refs.items():
            self._git("update-ref", ref, sha)
        try:
            self._git("bundle", "create", "--quiet", str(path), *refs)
        finally:
            for ref in refs:
                self._git("update-ref", "-d", ref)

    def _git(self, *arguments: str, error: str = "") -> str:
        result = self._run(*arguments)
        if result.returncode != 0:
            raise _failure(result, error, arguments[0])
        return result.stdout.decode("utf-8", "replace").strip()

    def _compared(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        """Run a command that answers with its status, 0 or 1."""
        result = self._run(*arguments)
        if result.returncode > 1:
            raise _failure(result, str(self.path), arguments[0])
        return result

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        command = ["git", "-c", "safe.directory=*", *arguments]
        try:
            return subprocess.run(command, cwd=self.path, capture_output=True, check=False)
        except FileNotFoundError as error:
            raise DataError("git is not installed or not on PATH", code="no_git") from error


def _failure(result: subprocess.CompletedProcess[bytes], error: str, command: str) -> DataError:
    said = result.stderr.decode("utf-8", "replace").strip()
    return DataError(": ".join(filter(None, (error, said))) or f"git {command} failed", code="git")
