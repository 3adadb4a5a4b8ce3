"""`docs/statistics.md` explains every constant of the judge, with the value that the code has."""

import re
from pathlib import Path
from types import ModuleType

import pytest

from app.analysis import budget, effect, evidence, exact, judge, sequential, validity
from app.domain import verdicts

PAGE = (Path(__file__).parents[3] / "docs" / "statistics.md").read_text(encoding="utf-8")
MODULES = {
    module.__name__.rpartition(".")[2]: module
    for module in (budget, effect, evidence, exact, judge, sequential, validity, verdicts)
}
EXPLAINED = {
    (module, name): float(value)
    for module, name, value in re.findall(
        r"^\| `(\w+)\.([A-Z_]+)` \| ([0-9.]+) \| .+ \| .+ \|$", PAGE, re.MULTILINE
    )
}


def constants_of(module: ModuleType) -> dict[str, float]:
    """The numbers that a module itself defines."""
    text = Path(module.__file__).read_text(encoding="utf-8")
    names = [
        name for line in re.findall(r"^([A-Z][A-Z_, ]+) = ", text, re.MULTILINE) for name in line.split(", ")
    ]
    return {name: getattr(module, name) for name in names if isinstance(getattr(module, name), int | float)}


@pytest.mark.parametrize(("place", "value"), EXPLAINED.items())
def test_explained_constant_has_the_value_in_the_code(place, value):
    module, name = place
    assert getattr(MODULES[module], name) == value


@pytest.mark.parametrize("module", MODULES)
def test_every_constant_in_the_code_is_explained(module):
    assert set(constants_of(MODULES[module])) == {name for place, name in EXPLAINED if place == module}


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
