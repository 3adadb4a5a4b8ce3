"""CODEOWNERS: whose which part of a repository is, as GitHub reads it: the last line that matches a path counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pathspec

PLACES = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")
"""Where it is looked for, in this order."""

LARGEST_B = 3 * 2**20
"""GitHub reads none that is larger."""

_UNKNOWN = ("!", "[", "\\#")
"""What gitignore has and CODEOWNERS has not: such lines are left out."""


@dataclass(frozen=True)
class Rule:
    """A line: what it matches, and whose that is; nobody's where it names no one."""

    pattern: str
    people: tuple[str, ...]
    spec: pathspec.GitIgnoreSpec

    def matches(self, path: str) -> bool:
        """Say whether a file is meant; `docs/*` means the files of a folder, not of those below it."""
        if self.pattern.endswith("/*") and not self.pattern.endswith("/**/*"):
            folder = path.rpartition("/")[0]
            return self.spec.match_file(path) and not (folder and self.spec.match_file(folder))
        return self.spec.match_file(path)


def read_codeowners(text: str) -> tuple[Rule, ...]:
    """Return the rules of a file in their order; lines that cannot be read are left out, as GitHub does."""
    rules = []
    for line in text.splitlines():
        words = line.split("#", 1)[0].split()
        if words and not words[0].startswith(_UNKNOWN) and "[" not in words[0]:
            spec = pathspec.GitIgnoreSpec.from_lines([words[0]])
            rules.append(Rule(words[0], tuple(words[1:]), spec))
    return tuple(rules)


def owners_of(rules: Iterable[Rule], paths: Iterable[str]) -> tuple[str, ...]:
    """Return whose these files are, each once, in their order."""
    backwards = tuple(rules)[::-1]
    found: dict[str, None] = {}
    for path in paths:
        rule = next((rule for rule in backwards if rule.matches(path)), None)
        found |= dict.fromkeys(rule.people if rule is not None else ())
    return tuple(found)
