"""CODEOWNERS as GitHub reads it: the last line that matches a path says whose it is."""

from __future__ import annotations

import pytest

from app.formats.codeowners import owners_of, read_codeowners

FILE = """
# everything else
*            @acme/all
*.cu         @acme/kernels ada@example.org  # a comment
/docs/       @acme/docs
docs/*       @acme/readme
src/**/deep  @acme/deep
apps/        @acme/apps
lib/**/*     @acme/lib
own/**/of/*  @acme/of
/generated/
!kept        @acme/nobody
[ab].py      @acme/nobody
"""


@pytest.mark.parametrize(
    ("path", "people"),
    [
        ("README.md", ("@acme/all",)),
        ("src/kernel.cu", ("@acme/kernels", "ada@example.org")),
        ("docs/a.md", ("@acme/readme",)),
        ("docs/a/b.md", ("@acme/docs",)),
        ("src/docs/a/b.md", ("@acme/all",)),
        ("src/x/y/deep/z.py", ("@acme/deep",)),
        ("x/apps/main.py", ("@acme/apps",)),
        ("lib/x/y/a.py", ("@acme/lib",)),
        ("lib/a.py", ("@acme/lib",)),
        ("own/x/y/of/a.py", ("@acme/of",)),
        ("own/x/y/of/z/a.py", ("@acme/all",)),
        ("generated/a.py", ()),
        ("a.py", ("@acme/all",)),
    ],
)
def test_last_line_that_matches_says_whose_a_file_is(path: str, people: tuple[str, ...]) -> None:
    assert owners_of(read_codeowners(FILE), [path]) == people


def test_owners_of_several_files_are_named_once_in_their_order() -> None:
    rules = read_codeowners(FILE)
    assert owners_of(rules, ["b.cu", "README.md", "a.cu"]) == (
        "@acme/kernels",
        "ada@example.org",
        "@acme/all",
    )
    assert owners_of((), ["a"]) == ()
