"""Where each key of a TOML document stands. The standard library's parser gives values, but no positions.

This is no parser: it walks over text that `tomllib` has already accepted, so it may take for granted that
every bracket is closed and every key has its value.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right

from app.settings.wording import quoted

Path = tuple[str | int, ...]
"""Keys and zero-based indices from the root of a document: `("suite", 1, "devices", 0)`."""

_BLANK = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_LINE_END = re.compile(r"\n")
_DOT = re.compile(r"[ \t]*\.[ \t]*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_KEY = re.compile(r"""[A-Za-z0-9_-]+|"(?:\\.|[^"\\])*"|'[^']*'""")
_STRING = re.compile(
    "|".join(
        (
            r'"{3}(?:\\.|[^\\])*?"{3,5}',  # up to two quotes may stand before the closing three
            r"'{3}.*?'{3,5}",
            r'"(?:\\.|[^"\\])*"',
            r"'[^']*'",
        )
    ),
    re.DOTALL,
)
_SCALAR = re.compile(r"[^,\]}\n#]+")


def key_lines(text: str) -> dict[Path, int]:
    """Return the 1-based line of every key, table and list element of `text`, a valid TOML document.

    A table that is opened several times has the line where it is first named.
    """
    walk = _Walk(text)
    walk.document()
    return walk.lines


def dotted(path: Path) -> str:
    """Return a path as people write it: `suite[1].devices[0]`, `owners."src/**"`."""
    return "".join(_step(step) for step in path).removeprefix(".")


def _step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    key = quoted(step)
    return f".{step}" if _BARE_KEY.fullmatch(key[1:-1]) else f".{key}"


class _Walk:
    """One pass over the text; `_at` is where it stands."""

    def __init__(self, text: str) -> None:
        self.lines: dict[Path, int] = {}
        self._text = text
        self._at = 0
        self._line_ends = [match.start() for match in _LINE_END.finditer(text)]
        self._arrays: dict[Path, int] = {}
        """How many tables each array of tables has so far."""

    def document(self) -> None:
        table: Path = ()
        while self._skip(_BLANK) and self._at < len(self._text):
            table = self._header() if self._next() == "[" else self._pair(table)

    def _header(self) -> Path:
        """Pass `[a.b]` or `[[a.b]]` and return the path of its table."""
        line = self._line()
        brackets = 2 if self._text.startswith("[[", self._at) else 1
        self._at += brackets
        *parents, last = self._dotted_key()
        self._skip(_BLANK)
        self._at += brackets
        array = (*self._resolve(parents), last)
        path = self._append(array) if brackets == 2 else self._resolve([*parents, last])
        self._note(path, line)
        return path

    def _append(self, array: Path) -> Path:
        index = self._arrays.get(array, 0)
        self._arrays[array] = index + 1
        return (*array, index)

    def _resolve(self, names: list[str]) -> Path:
        """Return the path that a header's names mean: within an array of tables, its last one."""
        path: Path = ()
        for name in names:
            path = (*path, name)
            if path in self._arrays:
                path = (*path, self._arrays[path] - 1)
        return path

    def _pair(self, table: Path) -> Path:
        """Pass `key = value` of `table`, and return `table`: the next pair is in it, too."""
        line = self._line()
        path = (*table, *self._dotted_key())
        self._note(path, line)
        self._skip(_BLANK)
        self._at += 1
        self._value(path)
        return table

    def _value(self, path: Path) -> None:
        self._skip(_BLANK)
        if self._next() == "[":
            self._elements(path)
        elif self._next() == "{":
            self._inline_table(path)
        elif not self._skip(_STRING):
            self._skip(_SCALAR)

    def _elements(self, path: Path) -> None:
        index = 0
        while not self._closed("]"):
            element = (*path, index)
            self._note(element, self._line())
            self._value(element)
            index += 1

    def _inline_table(self, path: Path) -> None:
        while not self._closed("}"):
            self._pair(path)

    def _closed(self, bracket: str) -> bool:
        """Pass an opening bracket or comma and what is blank; pass and report the closing bracket."""
        self._skip(_BLANK)
        if self._next() != bracket:
            self._at += 1
            self._skip(_BLANK)
        closed = self._next() == bracket
        self._at += closed
        return closed

    def _dotted_key(self) -> list[str]:
        self._skip(_BLANK)
        names = [self._key()]
        while self._skip(_DOT):
            names.append(self._key())
        return names

    def _key(self) -> str:
        start = self._at
        self._skip(_KEY)
        written = self._text[start : self._at]
        if written[0] in "\"'":
            return str(tomllib.loads(f"key = {written}")["key"])
        return written

    def _note(self, path: Path, line: int) -> None:
        for end in range(1, len(path) + 1):
            self.lines.setdefault(path[:end], line)

    def _next(self) -> str:
        return self._text[self._at]

    def _line(self) -> int:
        return bisect_right(self._line_ends, self._at) + 1

    def _skip(self, pattern: re.Pattern[str]) -> bool:
        match = pattern.match(self._text, self._at)
        if match is not None:
            self._at = match.end()
        return match is not None
