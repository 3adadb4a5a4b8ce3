"""`ratchet up`: the whole service on this machine, until it is told to stop."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from app.commands.devices import checked_kind
from app.commands.signals import stop_on_signals
from app.defaults import DEFAULT_HOST, DEFAULT_PORT, default_data_dir
from app.local.data_dir import DataDir
from app.local.stack import DEFAULT_WORKER, NO_WORKER, WORKER_VARIABLE, LocalStack, StackOptions

ALREADY_RUNNING = 3


@click.command()
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path),
    envvar="RATCHET_DATA_DIR",
    default=default_data_dir,
    help="Where state lives.",
)
@click.option("--host", default=DEFAULT_HOST, show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=DEFAULT_PORT,
    show_default=True,
    help="Port to listen on; 0 takes a free one.",
)
@click.option(
    "--worker",
    "kind",
    default=DEFAULT_WORKER,
    show_default=True,
    envvar=WORKER_VARIABLE,
    help="Device kind of the local worker, or `none`.",
)
@click.option(
    "--untrusted",
    is_flag=True,
    help="The local worker measures strangers' commits, too, in a sandbox (docs/sandbox.md).",
)
def up(data_dir: Path, host: str, port: int, kind: str, untrusted: bool) -> int:
    """Run database, broker, service and a local worker on this machine."""
    options = StackOptions(host, port, checked_kind(kind, NO_WORKER), untrusted)
    data = DataDir(data_dir)
    data.make()
    if not data.acquire():
        return _say_running(data)
    stop = stop_on_signals()
    with serving(data, options):
        stop.wait()
    return 0


@contextmanager
def serving(data: DataDir, options: StackOptions) -> Iterator[LocalStack]:
    """Run the service on a data folder that was acquired, and release the folder afterwards."""
    stack = LocalStack(data, options, say)
    try:
        stack.start()
        data.announce(stack.url)
        _say_ready(stack)
        yield stack
    finally:
        say("stopping")
        stack.stop()
        data.release()


def _say_ready(stack: LocalStack) -> None:
    """Print the lines that scripts wait for."""
    if stack.new_admin_token:
        print(f"admin token: {stack.new_admin_token}", flush=True)
    print(f"ready {stack.url}", flush=True)


def say(text: str) -> None:
    """Tell the person at the terminal what is going on."""
    print(text, file=sys.stderr, flush=True)


def _say_running(data: DataDir) -> int:
    running = data.running()
    where = f"at {running.url} (process {running.pid})" if running else "and is just starting or stopping"
    print(f"already running on {data.path} {where}", flush=True)
    return ALREADY_RUNNING
