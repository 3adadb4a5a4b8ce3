"""JSON as a stranger sends it: read strictly, and refused with the place of everything that is wrong.

The standard library's parser lets pass what would do harm further in: NaN and Infinity, which RFC 8259 does
not have; numbers beyond a double's range; keys that stand twice in one object, of which one would be lost
silently; U+0000 and lone surrogates, which PostgreSQL's text cannot hold; and nesting without end.

A document in which nothing of that can be is read by a fast parser, which would let it pass. Any other is parsed
closely, and walked node by node when something has to be named with its place.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from pydantic_core import from_json

from app.domain.errors import PayloadError, Problem
from app.formats.problems import Path, Problems, shown

MAX_DEPTH = 32
"""The deepest nesting of objects and lists."""

_SUSPECT_ESCAPE = re.compile(r"\\u(?:0000|[dD][89abcdefABCDEF])")
_SUSPECT_ESCAPE_B = re.compile(_SUSPECT_ESCAPE.pattern.encode())
_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")


def read_json(body: bytes) -> Any:
    """Return the document that `body` holds; all its numbers are finite.

    Raises:
        PayloadError: with `bad_utf8`, `bad_json` (and the line), `bad_number` or `too_deep` alone, or with
            every `not_finite`, `duplicate_key` and `bad_character` of the document.
    """
    try:
        return _read_plain(body)
    except ValueError:
        return _read_closely(body)


def _read_plain(body: bytes) -> Any:
    """Return the document; ValueError where anything else may be wrong with it than that it is nested too deep."""
    shape = body.translate(_SHAPE, b"+")
    if _LONG_NUMBER in shape or _LONG_EXPONENT in shape or _SUSPECT_ESCAPE_B.search(body):
        raise ValueError
    document = from_json(body, allow_inf_nan=False)
    n_keys = _n_keys(document)
    # Each key has a colon. Where there are more, those of texts are left out, and then no key may stand apart from its.
    if body.count(b":") != n_keys and (_SPACED_COLON.search(body) or body.count(b'":') != n_keys):
        raise ValueError
    return document


_SHAPE = bytes.maketrans(b"123456789E", b"000000000e")
"""Makes all digits alike, and all exponents."""

_LONG_NUMBER, _LONG_EXPONENT = b"0" * 200, b"e000"
"""What a number has that is beyond a double's range, in such a shape."""

_SPACED_COLON = re.compile(rb"[ \t\r\n]:")


def _n_keys(document: Any) -> int:
    """Return how many keys all objects of a document have. Raises PayloadError `too_deep`."""
    return _n_keys_within([document], MAX_DEPTH)


def _n_keys_within(node: dict[str, Any] | list[Any], depth: int) -> int:
    """Return the same of what an object or a list holds, in which others may be nested so deep."""
    found, children = (len(node), node.values()) if type(node) is dict else (0, node)
    for child in children:
        if type(child) is dict or type(child) is list:
            if not depth:
                raise _too_deep()
            found += _n_keys_within(child, depth - 1)
    return found


def _read_closely(body: bytes) -> Any:
    text = _decoded(body)
    notes = _Notes()
    document = _parsed(text, notes)
    _n_keys(document)  # as deep as it may be
    if notes.suspicious or _SUSPECT_ESCAPE.search(text):
        _refuse_bad_nodes(document, notes)
    return document


class _Notes:
    """What the parser met that needs a closer look."""

    def __init__(self) -> None:
        self.not_finite = False
        self.repeated: dict[int, tuple[dict[str, Any], str]] = {}
        """By the object's id: the object itself, which keeps the id its own, and a key that it has twice."""

    @property
    def suspicious(self) -> bool:
        return self.not_finite or bool(self.repeated)

    def number(self, written: str) -> float:
        """Take a number with a fraction or an exponent, or one of NaN, Infinity and -Infinity."""
        value = float(written)
        if not math.isfinite(value):
            self.not_finite = True
        return value

    def object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """Take an object's keys and values."""
        made = dict(pairs)
        if len(made) < len(pairs):
            counts = Counter(key for key, _ in pairs)
            self.repeated[id(made)] = made, next(key for key, count in counts.items() if count > 1)
        return made


def _decoded(body: bytes) -> str:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _refused("bad_utf8", f"the body is not UTF-8: see byte {error.start}") from None


def _parsed(text: str, notes: _Notes) -> Any:
    try:
        return json.loads(
            text, object_pairs_hook=notes.object, parse_float=notes.number, parse_constant=notes.number
        )
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise _refused("bad_json", f"the body is not JSON: {error.msg} at {where}", error.lineno) from None
    except RecursionError:
        raise _too_deep() from None
    except ValueError:
        # The interpreter's own limit, against integers whose conversion takes quadratic time.
        raise _refused("bad_number", "the body holds an integer of thousands of digits") from None


def _refused(code: str, message: str, line: int | None = None) -> PayloadError:
    return PayloadError([Problem("body", code, message, line)])


def _too_deep() -> PayloadError:
    return _refused("too_deep", f"objects and lists are nested more than {MAX_DEPTH} deep")


def _refuse_bad_nodes(document: Any, notes: _Notes) -> None:
    problems = Problems()
    for path, node in _nodes(document, ()):
        if isinstance(node, float) and not math.isfinite(node):
            problems.add(path, "not_finite", "not a finite number: NaN, Infinity, or too large for a double")
        elif isinstance(node, str):
            _check_text(node, path, problems)
        elif isinstance(node, dict):
            _check_keys(node, path, problems, notes)
    problems.refuse_if_any()


def _nodes(node: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """Yield every node with its path, in document order; the depth is known to be small."""
    yield path, node
    if isinstance(node, dict | list):
        for step, child in node.items() if isinstance(node, dict) else enumerate(node):
            yield from _nodes(child, (*path, step))


def _check_keys(node: dict[str, Any], path: Path, problems: Problems, notes: _Notes) -> None:
    if id(node) in notes.repeated:
        _, key = notes.repeated[id(node)]
        problems.add(
            (*path, key), "duplicate_key", f"the key {shown(key)} stands more than once in one object"
        )
    for key in node:
        _check_text(key, (*path, key), problems)


def _check_text(text: str, path: Path, problems: Problems) -> None:
    bad = _UNSTORABLE.search(text)
    if bad is not None:
        problems.add(
            path, "bad_character", f"the text holds U+{ord(bad.group()):04X}, which cannot be stored"
        )
