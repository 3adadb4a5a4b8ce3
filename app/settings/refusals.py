"""What is wrong with a settings file, collected: every problem with its line, and in the file's order."""

from __future__ import annotations

from app.domain.errors import Problem, SettingsError
from app.settings.positions import Path, dotted

MAX_PROBLEMS = 50
"""A file with as many problems is not read further."""


class Refusals:
    """The problems of one file, found in any order and reported in the file's."""

    def __init__(self, name: str, lines: dict[Path, int]) -> None:
        self._name = name
        self._lines = lines
        self._problems: list[Problem] = []

    def add(self, path: Path, code: str, message: str) -> None:
        """Note a problem at `path`; with the fiftieth, refuse the file at once."""
        self._problems.append(Problem(dotted(path), code, message, self.line(path)))
        if len(self._problems) == MAX_PROBLEMS:
            self.raise_if_any()

    def line(self, path: Path) -> int:
        """Return the 1-based line of `path`, or of the nearest table around it, or the first."""
        around = (path[:end] for end in range(len(path), 0, -1))
        return next((self._lines[outer] for outer in around if outer in self._lines), 1)

    def raise_if_any(self) -> None:
        """Raise SettingsError when there is any problem."""
        if self._problems:
            in_file_order = sorted(self._problems, key=lambda problem: problem.line or 0)
            raise SettingsError(in_file_order, name=self._name)
