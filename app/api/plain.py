"""Questions that are an address alone: there may be numbers in it, and all else that could be asked for is left out."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from fastapi import params
from pydantic import TypeAdapter, ValidationError

_NAME = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Plain:
    """What an endpoint is asked by such a question."""

    numbers: Mapping[str, TypeAdapter[int]]
    """By its name what reads a number of the address, in their order."""
    left: frozenset[str]
    """What it takes besides what is ours: these, and what may be left out."""

    def numbered(self, written: Sequence[str]) -> Mapping[str, int] | None:
        """Return the numbers by their names; None where one cannot be."""
        if not self.numbers:
            return {}
        try:
            return {
                name: its.validate_python(one)
                for (name, its), one in zip(self.numbers.items(), written, strict=True)
            }
        except ValidationError:
            return None


def plain(path: str, left: Mapping[str, inspect.Parameter]) -> Plain | None:
    """Return how an endpoint with this path and these parameters is asked so; None where an address says too little."""
    named = _NAME.findall(path)
    numbers = {
        name: left[name].annotation for name in named if name in left and _is(left[name], int, params.Path)
    }
    others = [its for name, its in left.items() if name not in numbers]
    if len(numbers) < len(named) or not _may_be_left_out(others):
        return None
    return Plain({name: TypeAdapter(its) for name, its in numbers.items()}, frozenset(left))


def _may_be_left_out(parameters: Iterable[inspect.Parameter]) -> bool:
    return all(_is(its, object, params.Query) and its.default is not its.empty for its in parameters)


def _is(parameter: inspect.Parameter, kind: type[Any], place: type[Any]) -> bool:
    """Say whether the parameter is said to be of this kind, and to stand in this place of a request."""
    of, *said = get_args(parameter.annotation) or (parameter.annotation,)
    is_kind = kind is object or of is kind
    return is_kind and any(isinstance(one, place) for one in said)
