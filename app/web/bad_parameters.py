"""What is wrong with a parameter of an address, in words for whoever has typed it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from app.reports.text import shorten

_SHOWN = 80
"""Characters of what was found."""


def parameter_sentence(problems: Sequence[Mapping[str, Any]]) -> str:
    """Return what is wrong with the parameter that the first of the problems is about."""
    name = _name(problems[0])
    its = [problem for problem in problems if _name(problem) == name]
    if its[0]["type"] == "missing":
        return f"The parameter “{name}” is missing."
    found = shorten(str(its[0]["input"]), _SHOWN)
    return f"The parameter “{name}” must be {_expected(its)}, not “{found}”."


def _name(problem: Mapping[str, Any]) -> str:
    """Return what it is about: after where the parameter is, or that alone where it is a body."""
    return str(problem["loc"][:2][-1])


def _expected(problems: Sequence[Mapping[str, Any]]) -> str:
    choices = [word for its in problems for word in _choices(its)]
    if choices:
        return f"one of {', '.join(choices)}"
    words = (_WORDS.get(its["type"]) for its in problems)
    return next(
        (told.format(**its.get("ctx", {})) for told, its in zip(words, problems, strict=True) if told), _OTHER
    )


def _choices(problem: Mapping[str, Any]) -> list[str]:
    is_choice = problem["type"] in ("enum", "literal_error")
    return re.findall(r"'([^']*)'", str(problem["ctx"]["expected"])) if is_choice else []


_OTHER = "something else"

_WORDS = {
    "int_parsing": "a whole number",
    "int_parsing_size": "a number of fewer digits",
    "int_from_float": "a whole number",
    "float_parsing": "a number",
    "bool_parsing": "0 or 1",
    "greater_than_equal": "{ge} or more",
    "greater_than": "more than {gt}",
    "less_than_equal": "{le} or less",
    "less_than": "less than {lt}",
    "string_too_long": "of {max_length} characters at the most",
    "string_too_short": "of {min_length} characters or more",
    "string_pattern_mismatch": "without characters that it cannot have",
    "too_long": "given {max_length} times at the most",
}
"""What is expected, after "must be", by the kind of the problem."""
