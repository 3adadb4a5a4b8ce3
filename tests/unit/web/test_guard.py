from __future__ import annotations

import pytest

from app.web.guard import local_path


@pytest.mark.parametrize("path", ["/", "/runs", "/checks/7?live=0", "/?project=acme/vision", "/a//b", "/ä"])
def test_path_on_this_service_is_kept(path: str) -> None:
    assert local_path(path) == path


@pytest.mark.parametrize(
    "text",
    [None, "", "runs", "//evil", "///evil", "/\\evil", "\\\\evil", "https://evil", "https:evil", "javascript:alert(1)",
     "/\t/evil", "/\n/evil", "/\r/evil", "\x00/", " //evil", "/\u2028x"],
)  # fmt: skip
def test_anything_else_becomes_the_first_page(text: str | None) -> None:
    assert local_path(text) == "/"
