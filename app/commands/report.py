"""`ratchet report weekly`: a week's efficiency on a terminal, as a page, as a letter, as a PDF, as JSON."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import click

from app.commands.asking import service_to_ask
from app.commands.csv_commands import print_pieces, table_width, use_color
from app.commands.named_file import refuse_unwritable, write_whole
from app.domain.errors import UnavailableError, UsageError

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
"""Programs that print a page to a PDF; the first that is found does it."""

PRINT_TIMEOUT_S = 120


@click.group()
def report() -> None:
    """Reports for people who decide."""


@report.command()
@click.option("--project", help="Of this project (default: of all that you may see).")
@click.option("--week", metavar="YYYY-Wnn", help="Of this week (default: the last one that has ended).")
@click.option(
    "--html", "html_file", type=click.Path(path_type=Path, dir_okay=False), help="Write the page to a file."
)
@click.option(
    "--letter",
    "letter_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write what mail programs can show.",
)
@click.option(
    "--pdf",
    "pdf_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Print the page to a PDF, by Chromium.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a summary.")
def weekly(
    project: str | None,
    week: str | None,
    html_file: Path | None,
    letter_file: Path | None,
    pdf_file: Path | None,
    as_json: bool,
) -> int:
    """Show where a week's device time, energy and money went, what got better or worse, and who should act.

    The service is that of RATCHET_URL (and RATCHET_TOKEN), else the one that runs on the default data folder.
    """
    browser = _browser() if pdf_file else ""
    files = [file for file in (html_file, letter_file, pdf_file) if file]
    for file in files:
        refuse_unwritable(file)
    service = service_to_ask()
    wanted = {name: value for name, value in (("project", project), ("week", week)) if value}
    document = service.weekly(wanted)
    wanted["week"] = document["week"]
    if html_file or pdf_file:
        page = service.weekly_report({**wanted, "form": "page"})
        if html_file:
            write_whole(html_file, page.encode())
        if pdf_file:
            _print(browser, page, pdf_file)
    if letter_file:
        write_whole(letter_file, service.weekly_report({**wanted, "form": "letter"}).encode())
    _tell(document, as_json)
    for file in files:
        click.echo(f"written: {file}", err=True)
    return 0


def _tell(document: dict[str, Any], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(document, ensure_ascii=False))
        return
    from app.reports.weekly.summary import render_summary

    print_pieces([render_summary(document, width=table_width() or 100, color=use_color())])


def _browser() -> str:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise UsageError(
            f"--pdf needs Chromium, and none of {', '.join(BROWSERS)} is on PATH; "
            "--html writes a page that any browser prints"
        )
    return found


def _print(browser: str, page: str, file: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source, printed = Path(folder) / "page.html", Path(folder) / "page.pdf"
        source.write_text(page, encoding="utf-8")
        command = [
            browser,
            "--headless",
            *(["--no-sandbox"] if os.geteuid() == 0 else []),
            "--disable-gpu",
            "--disable-background-networking",
            "--no-first-run",
            f"--user-data-dir={folder}/profile",
            "--no-pdf-header-footer",
            f"--print-to-pdf={printed}",
            source.as_uri(),
        ]
        try:
            done = subprocess.run(command, capture_output=True, timeout=PRINT_TIMEOUT_S, check=False)
        except subprocess.TimeoutExpired:
            raise UnavailableError(f"{browser} did not print the page within {PRINT_TIMEOUT_S} s") from None
        if done.returncode or not printed.exists():
            told = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
            raise UnavailableError(f"{browser} did not print the page (status {done.returncode}): {told}")
        write_whole(file, printed.read_bytes())
