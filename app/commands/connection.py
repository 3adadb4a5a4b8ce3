"""Which service a command speaks to: RATCHET_URL, the one on the default data folder, or one for the call."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from urllib.parse import urlsplit

import httpx

from app.commands.devices import checked_kind
from app.defaults import DEFAULT_HOST, chosen_data_dir
from app.domain.errors import UsageError
from app.integrations.service_client import ServiceClient
from app.local.data_dir import DataDir, read_secret
from app.local.running import connection_of

Say = Callable[[str], None]
Running = tuple[str, str | None]
"""Address and administrator's token."""

_LOOK_AGAIN_S = 0.5


def running_service(patience_s: float = 0) -> ServiceClient | None:
    """Return a client of the service that runs already; None where there is none to be known of.

    Args:
        patience_s: how long it is asked again while it is away [s].
    """
    url, token = _told("RATCHET_URL"), _told("RATCHET_TOKEN")
    running = None if url and token else connection_of(DataDir(chosen_data_dir()))
    if url:
        ours = _ours(running, url)
        return ServiceClient(
            checked_address(url), token or (ours[1] if ours else None), patience_s=patience_s
        )
    return None if running is None else ServiceClient(running[0], token or running[1], patience_s=patience_s)


@contextmanager
def service_for_call(say: Say) -> Iterator[ServiceClient]:
    """Yield a client of the service to use; one that had to be started is stopped afterwards."""
    with _to_use(say) as client, closing(client):
        yield client


@contextmanager
def _to_use(say: Say) -> Iterator[ServiceClient]:
    url, token = _told("RATCHET_URL"), _told("RATCHET_TOKEN")
    data = DataDir(chosen_data_dir())
    running = connection_of(data)
    if url:
        # An address on this machine says little: behind it may be containers, which have files of their own.
        ours = _ours(running, url)
        # The administrator's token of our own folder is nothing that another service should see.
        own_token = ours[1] if ours else None
        yield ServiceClient(checked_address(url), token or own_token, reads_paths=ours is not None)
        return
    if running is not None:
        yield ServiceClient(running[0], token or running[1], reads_paths=True)
        return
    with _started(data, say) as client:
        yield client


def _ours(running: Running | None, url: str) -> Running | None:
    """Return the service of our own folder if that is the one at the address."""
    return running if running is not None and running[0] == url.rstrip("/") else None


@contextmanager
def _started(data: DataDir, say: Say) -> Iterator[ServiceClient]:
    # A service takes many imports, which who only asks one needs not.
    from app.local.stack import DEFAULT_WORKER, NO_WORKER, WORKER_VARIABLE, LocalStack, StackOptions

    kind = checked_kind(os.environ.get(WORKER_VARIABLE, DEFAULT_WORKER), NO_WORKER)
    data.make()
    running = _wait_for_folder(data, say)
    if running is not None:
        yield ServiceClient(*running, reads_paths=True)
        return
    stack = LocalStack(data, StackOptions(DEFAULT_HOST, 0, kind), say)
    try:
        stack.start()
        yield ServiceClient(stack.url, read_secret(data.admin_token), stays=False, reads_paths=True)
    finally:
        say("stopping the service")
        stack.stop()
        data.release()


def _wait_for_folder(data: DataDir, say: Say) -> Running | None:
    """Take the folder, after whoever has it now; return the service on it if one comes up meanwhile.

    A service that another call started is not borrowed: it ends with that call.
    """
    said = False
    while not data.acquire():
        if not said:
            say(f"waiting for another check's service on {data.path} to end")
            said = True
        time.sleep(_LOOK_AGAIN_S)
        running = connection_of(data)
        if running is not None:
            return running
    return None


def _told(variable: str) -> str | None:
    """Return what a variable of the environment says, without blanks around it; None where it says nothing."""
    return os.environ.get(variable, "").strip() or None


def checked_address(url: str) -> str:
    """Return the address of a service. Raises UsageError where it is none."""
    if not _is_address(url):
        raise UsageError(f"RATCHET_URL={url!r} is no address of a service: right is http://host:8440")
    return url


def _is_address(url: str) -> bool:
    try:
        host, port = httpx.URL(url).raw_host.decode(), urlsplit(url).port
        # The resolver encodes a name so, and fails where a label is empty or too long.
        host.encode("idna")
    except (ValueError, httpx.InvalidURL):
        return False
    return urlsplit(url).scheme in ("http", "https") and bool(host) and " " not in url and port != 0
