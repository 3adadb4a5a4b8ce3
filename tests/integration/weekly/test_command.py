"""`ratchet report weekly`: a few lines on a terminal, and files that are there whole or not at all."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.cli import DATA, USAGE, run
from app.commands import report
from app.wiring import Service
from tests.factories.planted_year import PROJECT
from tests.factories.serving import served
from tests.integration.weekly.conftest import WEEK

pytestmark = pytest.mark.usefixtures("year", "costs", "told")


@pytest.fixture
def told(service: Service, admin_token: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Commands find the service."""
    with served(service) as address:
        monkeypatch.setenv("RATCHET_URL", address)
        monkeypatch.setenv("RATCHET_TOKEN", admin_token)
        yield


def test_summary_says_the_week_in_a_sentence_and_a_line_a_loss(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", "weekly", "--project", PROJECT, "--week", WEEK]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{PROJECT} · week {WEEK}"
    assert "stand" in lines[2]
    assert "USD a month" in lines[2]
    first = lines[lines.index("Losses that stand") + 1]
    assert first.startswith("resize[px=224]  latency_p50")
    assert "USD a month" in first
    assert all(len(line) <= 100 for line in lines)


def test_json_is_what_the_service_tells(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", "weekly", "--week", WEEK, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["project"], told["week"], told["changes"]["n_new"]) == (None, WEEK, 1)


def test_page_and_letter_are_written_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "reports"
    folder.mkdir()
    page, letter = folder / "a page.html", folder / "letter.html"
    page.write_text("what was there before")
    assert run(["report", "weekly", "--week", WEEK, "--html", str(page), "--letter", str(letter)]) == 0
    assert page.read_text().rstrip().endswith("</html>")
    assert "<style" not in letter.read_text(), "mail programs drop it"
    assert sorted(file.name for file in folder.iterdir()) == ["a page.html", "letter.html"]
    assert f"written: {page}" in capsys.readouterr().err


@pytest.mark.skipif(not any(map(shutil.which, report.BROWSERS)), reason="chromium is not installed")
def test_pdf_is_printed_by_a_browser(tmp_path: Path) -> None:
    printed = tmp_path / "week.pdf"
    assert run(["report", "weekly", "--week", WEEK, "--pdf", str(printed)]) == 0
    assert printed.read_bytes().startswith(b"%PDF-")


def test_pdf_without_a_browser_is_refused_before_anything_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(report, "BROWSERS", ("no-such-browser",))
    assert run(["report", "weekly", "--pdf", str(tmp_path / "week.pdf")]) == USAGE
    assert "--pdf needs Chromium" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        (["--week", "2026-W99"], USAGE, "is no week; write its year and number as in 2026-W47"),
        (["--project", "nobody/has"], DATA, "there is no project 'nobody/has' that you may see"),
    ],
)
def test_what_cannot_be_reported_on_ends_with_the_documented_status(
    options: list[str], status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["report", "weekly", *options]) == status
    assert said in capsys.readouterr().err


def test_nothing_is_left_of_a_file_that_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nowhere = tmp_path / "nowhere" / "week.html"
    assert run(["report", "weekly", "--week", WEEK, "--html", str(nowhere)]) != 0
    assert "nowhere" in capsys.readouterr().err
    assert not nowhere.parent.exists()
