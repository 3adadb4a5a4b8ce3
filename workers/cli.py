"""The command `ratchet-worker`: reads options and environment, starts the agent, turns errors into exit statuses.

0    stopped when asked to, or after `--once`
64   wrong usage: an option, a file, a token
70   a fault of ours
75   a device or the data folder is in use: stop the other agent, or try later
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import click

from workers import logs
from workers.agent import Agent
from workers.config import DEFAULT_URL, LONGEST_SETTLE_S, Config, default_data_dir
from workers.devices import KINDS, detect
from workers.devices.base import Device, Host
from workers.errors import InUseError, UsageError, WorkerError
from workers.host.clock import SystemClock
from workers.host.locks import shared_folder
from workers.lease import queue
from workers.lease.client import ServiceClient

USAGE, FAULT, TRY_LATER = 64, 70, 75
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)

log = logging.getLogger(__name__)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--url",
    envvar="RATCHET_URL",
    default=DEFAULT_URL,
    show_default=True,
    help="Where the service is.  [RATCHET_URL]",
)
@click.option(
    "--token-file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File with this agent's token; else RATCHET_TOKEN.",
)
@click.option(
    "--name",
    envvar="RATCHET_WORKER_NAME",
    help="Name that people see; the host's by default.  [RATCHET_WORKER_NAME]",
)
@click.option(
    "--kind",
    "kinds",
    type=click.Choice(sorted(KINDS)),
    multiple=True,
    default=("cpu",),
    show_default=True,
    help="Kind of device to measure on; may be given several times.",
)
@click.option(
    "--data-dir",
    envvar="RATCHET_WORKER_DATA",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for check-outs, environments and unsent results.  [RATCHET_WORKER_DATA]",
)
@click.option("--once", is_flag=True, help="Make one claim, measure what it gives, then stop.")
@click.option(
    "--environments-max-gb",
    type=click.FloatRange(min=0),
    default=20.0,
    show_default=True,
    help="Environments unused for longest are removed above this size, and the caches of pip and uv emptied.",
)
@click.option(
    "--longest-settle-s",
    envvar="RATCHET_WORKER_SETTLE_S",
    type=click.FloatRange(min=0),
    default=LONGEST_SETTLE_S,
    show_default=True,
    help="How long each invocation may wait for its devices to cool down.  [RATCHET_WORKER_SETTLE_S]",
)
@click.option(
    "--foreign-cpu",
    envvar="RATCHET_WORKER_FOREIGN_CPU",
    type=click.FloatRange(min=0),
    help="How many processors other programs may keep busy while a pair is measured, else it is void; half of one,"
    " or a fiftieth of all, by default.  [RATCHET_WORKER_FOREIGN_CPU]",
)
@click.option(
    "--steal",
    envvar="RATCHET_WORKER_STEAL",
    type=click.FloatRange(0, 1),
    help="Share of the processors' time that the hypervisor may take while a pair is measured, else it is void; 0.02"
    " by default.  [RATCHET_WORKER_STEAL]",
)
@click.version_option(package_name="ratchet-perf")
def command(
    url: str,
    token_file: Path | None,
    name: str | None,
    kinds: tuple[str, ...],
    data_dir: Path | None,
    once: bool,
    environments_max_gb: float,
    longest_settle_s: float,
    foreign_cpu: float | None,
    steal: float | None,
) -> None:
    """Measure benchmark jobs of a Ratchet service on this host's devices, until stopped.

    Further environment variables: RATCHET_REDIS_URL (broker that wakes the agent; without it the agent polls),
    RATCHET_SIMULATED (JSON file that describes the devices of the kind "simulated"), RATCHET_WORKER_LOCKS (folder of
    the locks that the agents of this host share).
    """
    run(
        Config(
            url=url.rstrip("/"),
            token=read_token(token_file),
            token_file=token_file.absolute() if token_file else None,
            name=name or os.uname().nodename,
            kinds=tuple(dict.fromkeys(kinds)),
            data_dir=(data_dir or default_data_dir()).absolute(),
            once=once,
            redis_url=os.environ.get("RATCHET_REDIS_URL") or None,
            script=_path_from("RATCHET_SIMULATED"),
            lock_dir=_path_from("RATCHET_WORKER_LOCKS") or shared_folder(),
            environments_max_gb=environments_max_gb,
            longest_settle_s=longest_settle_s,
            foreign_cpu=foreign_cpu,
            steal=steal,
        )
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and end the process with its status."""
    try:
        logs.set_up(logging.INFO, logs.form_of_environment())
    except ValueError as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(USAGE)
    logging.getLogger("httpx").setLevel(logging.WARNING)  # it logs every request
    sys.exit(run_command(arguments))


def run_command(arguments: Sequence[str] | None) -> int:
    """Run the command and return its exit status; what went wrong is said on standard error."""
    try:
        return command.main(arguments, prog_name="ratchet-worker", standalone_mode=False) or 0
    except click.ClickException as error:
        error.show()
        return USAGE
    except click.Abort:
        return USAGE
    except UsageError as error:
        return _complain(error, USAGE)
    except InUseError as error:
        return _complain(error, TRY_LATER)
    except (WorkerError, OSError) as error:
        return _complain(error, FAULT)
    except Exception:  # the edge of the process: the status must say whose fault it was
        log.exception("this is a fault in the agent")
        return FAULT


def run(config: Config) -> None:
    """Run an agent until it is stopped by a signal."""
    _check_url(config.url)
    devices = detect(config.kinds, Host(config.data_dir, config.lock_dir, config.script))
    clock = SystemClock()
    with contextlib.ExitStack() as stack:
        client = ServiceClient(config.url, config.token, clock=clock, alive_file=config.alive_file)
        stack.callback(client.close)
        agent = Agent(config, devices, client, clock, hints=_hints(config, devices, stack))
        stack.enter_context(stopping_on_signals(agent.stop))
        agent.run()


def read_token(path: Path | None) -> str:
    """Return the agent's token, from the file or else from `RATCHET_TOKEN`.

    Raises:
        UsageError: neither gives one.
    """
    try:
        token = path.read_text().strip() if path is not None else os.environ.get("RATCHET_TOKEN", "").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--token-file: {path} cannot be read: {error}") from error
    if not token or not token.isascii() or not token.isprintable():
        where = f"the file {path}" if path is not None else "the variable RATCHET_TOKEN"
        raise UsageError(f"{where} holds no token; give the agent's own by --token-file or RATCHET_TOKEN")
    return token


@contextlib.contextmanager
def stopping_on_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` from a thread of its own at the first SIGTERM or SIGINT.

    A handler runs in the middle of whatever the main thread does, where it must not touch a lock; so the signal only
    writes a byte into a pipe, and the thread sleeps on the other end.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)

    def listen() -> None:
        if os.read(reading, 1):
            stop()
        os.close(reading)

    handlers = {number: signal.signal(number, lambda *_: None) for number in STOP_SIGNALS}
    former_fd = signal.set_wakeup_fd(writing)
    threading.Thread(target=listen, name="signals", daemon=True).start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(former_fd)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        os.close(writing)


def _hints(config: Config, devices: Sequence[Device], stack: contextlib.ExitStack) -> queue.Hints | None:
    if config.redis_url is None:
        return None
    if not queue.is_available():
        log.warning("RATCHET_REDIS_URL is set, but celery is not installed: polling instead")
        return None
    return stack.enter_context(queue.Hints(config.redis_url, [device.device_class for device in devices]))


def _check_url(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"--url: {url!r} is no address of a service; it looks like {DEFAULT_URL}")


def _path_from(variable: str) -> Path | None:
    value = os.environ.get(variable)
    return Path(value).absolute() if value else None


def _complain(error: Exception, status: int) -> int:
    click.echo(f"ratchet-worker: {error}", err=True)
    return status


if __name__ == "__main__":
    main()
