"""What a merged pull request is told, as its author reads it."""

from __future__ import annotations

from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from app.domain.notices import ExtraCost
from app.reports.pull_request import notice_body, notice_marker
from app.reports.pull_request.markdown import size_b
from tests.factories import notices

GOLDEN = Path(__file__).parents[2] / "data" / "reports" / "pull_request"
ADDRESS = "https://ratchet.example"
MARKER = notice_marker(5, 12)


def body(told: object, **options: int) -> str:
    return notice_body(told, MARKER, ADDRESS, **options)  # type: ignore[arg-type]


def golden(name: str) -> str:
    return (GOLDEN / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "kind",
    [
        "one",
        "several",
        "taken_back",
        "partly_taken_back",
        "accepted",
        "partly_accepted",
        "unknown_line",
        "hostile",
    ],
)
def test_an_alert_reads_as_its_golden_file(kind: str) -> None:
    assert body(getattr(notices, kind)()) == golden(f"{kind}.notice")


@pytest.mark.parametrize("kind", ["one", "several", "taken_back", "hostile"])
def test_it_begins_with_its_marker_and_has_no_other(kind: str) -> None:
    told = body(getattr(notices, kind)())
    assert told.startswith("<!-- ratchet:alert:5:12 -->\n")
    html = MarkdownIt("gfm-like", {"linkify": False}).render(told)
    assert html.count("<!--") == 1
    assert "<img" not in html


def test_the_worst_comes_first() -> None:
    told = body(notices.notice(notices.changed(), notices.paired(), notices.memory()))
    rows = [line.partition("](")[0] for line in told.splitlines() if line.startswith("| [")]
    assert rows == [
        "| [`resize[batch=8]/latency_p50`",
        "| [`bert[batch=32, dtype=bf16]/latency_p50`",
        "| [`bert[batch=32, dtype=bf16]/peak_memory`",
    ]


@pytest.mark.parametrize(
    ("cost", "shown"),
    [
        (ExtraCost("million tokens", 1.5, 3.73, "EUR"), "+3.73 EUR per million tokens"),
        (ExtraCost("thousand runs", 0.25), "+0.25 device hours per thousand runs"),
        (ExtraCost("million iterations", 4e-6, 1e-5, "USD"), "less than 0.001 USD per million iterations"),
    ],
)
def test_the_cost_is_told_as_far_as_it_is_known(cost: ExtraCost, shown: str) -> None:
    assert shown.replace(" ", "\u00a0") in body(notices.notice(notices.paired(cost=cost)))


def test_where_no_cost_is_known_there_is_no_column_for_it() -> None:
    assert "costs" not in body(notices.notice(notices.changed()))


@pytest.mark.parametrize("limit_b", [12_000, 60_000])
def test_very_many_changes_stay_within_the_limit_and_are_counted(limit_b: int) -> None:
    told = body(notices.many(), limit_b=limit_b)
    assert size_b(told) <= limit_b
    assert "5000 results are worse" in told
    assert f"more]({ADDRESS}/api/v1/changes?project=acme%2Fvision)" in told
    assert "And 45 more ranges of commits." in told
    assert "`/ratchet accept REASON`" in told
