"""Databases beside the tests' own, for what is restored."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.factories.backups import beside, drop_like


@pytest.fixture
def elsewhere(database_url: str) -> Iterator[str]:
    """The address of a database that is not there yet."""
    drop_like(database_url, "elsewhere%")
    yield beside(database_url, "elsewhere")
    drop_like(database_url, "elsewhere%")
