"""Parameters that several routes take, each with what it means."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query

NO_NUL = r"^[^\x00]*$"
"""U+0000 is nothing that PostgreSQL holds."""

Name = Annotated[str, Query(min_length=1, max_length=255, pattern=NO_NUL)]
Project = Annotated[Name, Query(description="The project's name.", examples=["acme/vision"])]
Limit = Annotated[int, Query(ge=1, le=10_000, description="The most entries of one page.")]
Cursor = Annotated[
    str | None,
    Query(
        max_length=200, description="Where to go on: `next` of the page before; left out: from the beginning."
    ),
]
Fields = Annotated[
    str | None,
    Query(
        max_length=1_000,
        pattern="^[a-z_]+( *, *[a-z_]+)*$",
        description="Keys to tell, separated by commas; left out: all.",
        examples=["id,metric"],
    ),
]
SeriesId = Annotated[int, Path(ge=1, lt=2**63, description="The series' number.", examples=[34])]
CheckId = Annotated[int, Path(ge=1, lt=2**63, description="The check's number.", examples=[5])]
Wait = Annotated[float, Query(ge=0, le=30.0, description="How long to wait for news [s].")]
