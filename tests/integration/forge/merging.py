"""A branch whose commits are measured elsewhere and posted, and pull requests that are merged into it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from app.tasks import examine_project
from tests.factories.posted_results import post_results, posted_document, posted_result
from tests.integration.forge.conftest import Begin, World

MIB = 2**20
MORE, BETTER = 120 * MIB, 85 * MIB
DEVICE = "cpu-test-2t"
OTHER = {"benchmark": "decode"}


@dataclass
class Line:
    """The default branch: each commit that is measured has a peak memory [B], the same each time."""

    world: World
    token: str
    commits: list[str] = field(default_factory=list)

    def grow(self, message: str) -> str:
        """Put a commit on the branch."""
        sha = self.world.commit(message, len(self.commits) + 100)
        self.commits.append(sha)
        return sha

    def measure(self, *values: float, sha: str = "", **result: Any) -> None:
        """Post what the newest commit needs, and have it examined."""
        known: dict[str, Any] = {"metric": "peak_memory", "unit": "B"}
        commit = sha or self.commits[-1]
        parent = self.world.git("rev-parse", f"{commit}^")
        document = posted_document(
            posted_result(values=values, **known | result),
            commit=commit,
            parent=parent,
            device_class=DEVICE,
        )
        key = f"{commit}-{values}-{sorted(result.items())}"
        assert post_results(self.world.client, self.token, document, key=key).status_code == 201
        examine_project(self.world.service, 1)

    def quiet(self, n: int = 6, **result: Any) -> None:
        """Have commits that change nothing."""
        for i in range(n):
            self.grow(f"commit {i}")
            self.measure(100 * MIB, **result)

    def merge(self, number: int, message: str = "Merge it", *, commits: int = 1, **merged: Any) -> str:
        """Merge a pull request, squashed or as so many commits; return the newest."""
        shas = [self.grow(f"{message} {i}" if commits > 1 else message) for i in range(commits)]
        self.world.github.merge(number, *shas, **merged)
        self.world.happens(number, "closed")
        return shas[-1]

    def notices(self, number: int = 1) -> list[str]:
        """Return the notices on a pull request, as they read now, without their marker."""
        marker = f"<!-- ratchet:alert:5:{number} -->\n"
        bodies = [c["body"] for c in self.world.github.comments.values() if c["issue"] == number]
        return [body.removeprefix(marker) for body in bodies if body.startswith(marker)]

    def changes(self, **parameters: Any) -> list[dict[str, Any]]:
        """Return the project's changes as the API tells them, the newest first."""
        headers = {"Authorization": f"Bearer {self.token}"}
        answer = self.world.client.get(
            "/api/v1/changes", params={"project": "acme/vision", **parameters}, headers=headers
        )
        assert answer.status_code == 200, answer.text
        found: list[dict[str, Any]] = answer.json()["changes"]
        return found


@pytest.fixture
def line(world: World, admin_token: str, begin: Begin) -> Line:
    """A branch of some quiet commits, and an open pull request."""
    its = Line(world, admin_token)
    begin(quietly, its)
    return its


def quietly(line: Line) -> None:
    """Have a pull request opened, and some quiet commits follow each other."""
    line.world.push(1, "a change")
    line.world.happens(1, "opened")
    line.quiet()


def worse(line: Line, **merged: Any) -> str:
    """Merge the pull request; what came with it needs more memory. Return the commit."""
    sha = line.merge(1, "Keep all images", **merged)
    line.measure(MORE)
    return sha
