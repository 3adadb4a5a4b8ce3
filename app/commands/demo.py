"""`ratchet demo`: the main job on a small repository, by the real path, with everything embedded."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import Any

import click

from app.commands.check import read_settings_of, request_of, run_check
from app.commands.signals import interrupt_on_sigterm
from app.commands.up import say, serving
from app.defaults import DEFAULT_HOST, default_data_dir
from app.demo.repository import PULL_REQUESTS, make_repository
from app.domain.errors import UnavailableError
from app.integrations.git import Repository
from app.integrations.service_client import ServiceClient
from app.local.data_dir import DataDir, read_secret
from app.local.stack import LocalStack, StackOptions


@click.command()
@click.option(
    "--data-dir", type=click.Path(path_type=Path), default=None, help="Where the demo's state lives."
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="Port of the pages (default: a free one)."
)
@click.option("--exit", "leave", is_flag=True, help="Stop when the verdicts are out.")
def demo(data_dir: Path | None, port: int, leave: bool) -> int:
    """Check three pull requests of a small repository: one slower, one faster, one neutral."""
    begun = time.monotonic()
    data = DataDir(data_dir or default_data_dir() / "demo")
    data.make()
    if not data.acquire():
        raise UnavailableError(f"a demo runs on {data.path} already; name another folder with --data-dir")
    interrupt_on_sigterm()
    with serving(data, StackOptions(DEFAULT_HOST, port)) as stack:
        reports = _check_all(stack, data)
        _say_where(stack, reports, time.monotonic() - begun, leave=leave)
        if not leave:
            signal.pause()
    return 0


def _check_all(stack: LocalStack, data: DataDir) -> list[Path]:
    repository = Repository(make_repository(data.path / "tinynet"))
    say(f"made a repository with three pull requests in {repository.path}")
    client = ServiceClient(stack.url, read_secret(data.admin_token), reads_paths=True)
    reports = []
    for pull_request in PULL_REQUESTS:
        base, head = repository.commit("main"), repository.commit(pull_request.branch)
        wanted = request_of(client, repository, read_settings_of(repository, head), base, head)
        document, report = run_check(client, wanted, label=f"{pull_request.branch:<7}")
        path = data.path / f"report-{pull_request.branch}.html"
        path.write_text(report)
        reports.append(path)
        _say_verdict(pull_request.branch, document)
    return reports


def _say_verdict(branch: str, document: dict[str, Any]) -> None:
    click.echo(f"\n{branch}: {document['title']}")
    for case in (c for suite in document["suites"] for c in suite["cases"] if c["gating"]):
        change = "" if case["change"] is None else f"{100 * case['change']:+.1f} %"
        params = ", ".join(f"{k}={v}" for k, v in case["params"].items())
        click.echo(f"  {case['benchmark']}[{params}]/{case['metric']:<12} {case['verdict']:<14} {change}")
    click.echo("")


def _say_where(stack: LocalStack, reports: list[Path], seconds: float, *, leave: bool) -> None:
    click.echo(f"three verdicts in {seconds:.0f} s; the reports:")
    for report in reports:
        click.echo(f"  {report}")
    if leave:
        click.echo(f"pages: run `ratchet up --data-dir '{stack.data.path}'` to look around")
    else:
        click.echo(f"pages: {stack.url} (Ctrl-C stops the demo)")
