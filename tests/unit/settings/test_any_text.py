"""Whatever a file holds, it is read or refused: no other error leaves the reader."""

import tomllib
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.errors import SettingsError
from app.settings import Settings, read_settings, settings_digest, suite_digest
from app.settings.positions import key_lines

DATA = Path(__file__).parents[2] / "data" / "settings"
SAMPLES = [path.read_text(encoding="utf-8") for path in sorted(DATA.glob("*/*.toml"))]
VALUES = [
    "1",
    "-1",
    "0.5",
    "nan",
    "true",
    '""',
    '"x"',
    "'%'",
    '"5%"',
    "[]",
    "{}",
    "[[1]]",
    "2026-01-31",
    '"9" * 9',
]
SCRAPS = [*"[]{}=.,#\"'\n\\", "[[suite]]", "[suite.env]", '"""', "'''", "\x00", "\u202e", "\ud800", *VALUES]


@st.composite
def mutated_samples(draw: st.DrawFn) -> str:
    """A sample file with up to three pieces cut out or replaced by scraps of TOML."""
    text = draw(st.sampled_from(SAMPLES))
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        end = start + draw(st.integers(0, 20))
        text = text[:start] + draw(st.sampled_from(["", *SCRAPS])) + text[end:]
    return text


@st.composite
def samples_with_other_values(draw: st.DrawFn) -> str:
    """A sample file in which some values are replaced: still TOML, mostly no settings."""
    rows = draw(st.sampled_from(SAMPLES)).split("\n")
    for _ in range(draw(st.integers(1, 4))):
        index = draw(st.integers(0, len(rows) - 1))
        key, equals, _ = rows[index].partition(" = ")
        rows[index] = f"{key}{equals}{draw(st.sampled_from(VALUES)) if equals else ''}"
    return "\n".join(rows)


def read_or_refuse(text: str) -> Settings | SettingsError:
    try:
        return read_settings(text)
    except SettingsError as refusal:
        return refusal


def check_that_it_is_read_or_refused(text: str) -> None:
    outcome = read_or_refuse(text)
    if isinstance(outcome, SettingsError):
        assert 1 <= len(outcome.problems) <= 50
        assert all(1 <= problem.line <= text.count("\n") + 1 for problem in outcome.problems)
        assert len(str(outcome)) < 50_000
    else:
        assert settings_digest(outcome)
        assert all(suite_digest(outcome, suite) for suite in outcome.suites)


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=200) | st.text(alphabet="[]{}=.,#\"'\n\\a1 ", max_size=40))
def test_any_text_is_read_or_refused(text):
    check_that_it_is_read_or_refused(text)


@settings(max_examples=250, deadline=None)
@given(mutated_samples())
def test_mutated_file_is_read_or_refused(text):
    check_that_it_is_read_or_refused(text)


@settings(max_examples=250, deadline=None)
@given(samples_with_other_values())
def test_file_with_other_values_is_read_or_refused(text):
    check_that_it_is_read_or_refused(text)


def paths_of(value: object, path: tuple[str | int, ...] = ()) -> set[tuple[str | int, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return {path} - {()} | {inner for key, below in items for inner in paths_of(below, (*path, key))}


@settings(max_examples=250, deadline=None)
@given(mutated_samples() | samples_with_other_values())
def test_every_key_and_element_of_a_toml_file_has_a_line_and_nothing_else_has(text):
    try:
        tree = tomllib.loads(text)
    except ValueError:
        return
    assert set(key_lines(text)) == paths_of(tree)
