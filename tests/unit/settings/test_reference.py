import re
from dataclasses import fields
from pathlib import Path

import pytest

from app.settings import read_settings
from app.settings.reference import default_text, fill, key_table
from app.settings.schema import PRICES, PROJECT, SECTIONS, SUITE

DOCUMENT = (Path(__file__).parents[3] / "docs" / "settings.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```toml\n(.*?)```", DOCUMENT, re.DOTALL)


def test_document_is_up_to_date():
    hint = (
        "run: python -m app.settings.reference < docs/settings.md, and put what it prints in the file's place"
    )
    assert fill(DOCUMENT) == DOCUMENT, hint


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.name)
def test_document_names_every_key_with_its_default_and_meaning(section):
    keys = (section.chosen, *section.keys) if section.chosen else section.keys
    assert section.header.strip("[]") in DOCUMENT
    for key in keys:
        row = next(
            row
            for row in key_table(section).split("\n")
            if row.startswith((f"| `{key.name}` |", f"| *{key.name}* |"))
        )
        assert row in DOCUMENT
        assert default_text(section, key) in row
        assert key.meaning in row
        assert key.meaning.endswith(".")


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.name)
def test_every_field_of_a_sections_values_is_set_by_a_key(section):
    keys = (section.chosen, *section.keys) if section.chosen else section.keys
    assert [key.attribute for key in keys] == [field.name for field in fields(section.values)]


@pytest.mark.parametrize(
    ("section", "key", "wanted"),
    [
        (PROJECT, "name", "required"),
        (PROJECT, "branch", '`"main"`'),
        (SUITE, "devices", '`["*"]`'),
        (SUITE, "timeout", "10 × the base's median, at least 300 s, as far as the device time goes"),
        (PRICES, "date", "required"),
    ],
)
def test_default_is_shown_as_a_file_would_write_it(section, key, wanted):
    assert default_text(section, next(k for k in section.keys if k.name == key)) == wanted


def test_document_begins_with_a_complete_file():
    settings = read_settings(EXAMPLES[0])
    assert [suite.name for suite in settings.suites] == ["inference"]


def test_examples_of_the_document_together_are_one_file():
    settings = read_settings("\n".join(EXAMPLES))
    assert [suite.name for suite in settings.suites] == ["inference", "serving"]
    assert settings.owners
    assert settings.prices
