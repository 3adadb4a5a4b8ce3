"""`docs/statistics.md` explains every constant of the judge, with the value that the code has."""

import importlib
import pkgutil
import re
from pathlib import Path
from types import ModuleType

import pytest

from app.analysis import (
    arrays,
    budget,
    chance,
    comparison,
    detection,
    discoveries,
    effect,
    evidence,
    exact,
    judge,
    looks,
    past_noise,
    sequential,
    validity,
)
from app.domain import verdicts

PAGE = (Path(__file__).parents[3] / "docs" / "statistics.md").read_text(encoding="utf-8")
JUDGE = (
    *(arrays, budget, chance, discoveries, effect, evidence, exact, judge, looks, past_noise, sequential),
    *(validity, verdicts),
)
OTHERS = [
    importlib.import_module(found.name)
    for package in (comparison, detection)
    for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}.")
]
MODULES = {module.__name__.removeprefix("app.").split(".", 1)[1]: module for module in (*JUDGE, *OTHERS)}
EXPLAINED = {
    (module, name): tuple(map(float, values.split(", ")))
    for module, name, values in re.findall(
        r"^\| `([\w.]+)\.([A-Z_0-9]+)` \| ([0-9., ]+) \| .+ \| .+ \|$", PAGE, re.MULTILINE
    )
}


def numbers_in(value: object) -> tuple[float, ...]:
    """The numbers that a constant is made of; none of one that is something else."""
    values = value if isinstance(value, tuple) else (value,)
    return values if all(isinstance(one, int | float) for one in values) else ()


def constants_of(module: ModuleType) -> set[str]:
    """The names of the numbers that a module itself defines."""
    text = Path(module.__file__).read_text(encoding="utf-8")
    names = [
        name
        for line in re.findall(r"^([A-Z][A-Z_0-9, ]+) = ", text, re.MULTILINE)
        for name in line.split(", ")
    ]
    return {name for name in names if numbers_in(getattr(module, name))}


@pytest.mark.parametrize(("place", "value"), EXPLAINED.items())
def test_explained_constant_has_the_value_in_the_code(place, value):
    module, name = place
    assert numbers_in(getattr(MODULES[module], name)) == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("module", MODULES)
def test_every_constant_in_the_code_is_explained(module):
    assert constants_of(MODULES[module]) == {name for place, name in EXPLAINED if place == module}


@pytest.mark.parametrize(
    "flag",
    [
        "budget",
        "already_broken",
        "budget_undecided",
        "kind_sampled",
        "from_zero",
        "head_failed",
        "base_failed",
    ],
)
def test_every_flag_of_the_judge_is_explained(flag):
    assert f"`{flag}`" in PAGE


@pytest.mark.parametrize(
    "verdict", ["regressed", "improved", "no_regression", "inconclusive", "head_fails", "base_fails"]
)
def test_every_verdict_of_the_judge_is_explained(verdict):
    assert f"`{verdict}`" in PAGE
