"""Post to an address that somebody has given, and reach nothing that they should not.

The name is resolved here and the connection made to that very address, so that a name which answers otherwise the
second time leads nowhere else. Redirects are not followed, proxies of the environment not used, and of an answer a few
kilobytes are read. All of it has to be over within `DEADLINE_S`.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx

from app.domain.errors import DataError, UnavailableError
from app.integrations.notifiers.model import (
    Reach,
    ReceiverBusyError,
    ReceiverGoneError,
    ReceiverRefusedError,
)

DEADLINE_S = 20.0
"""How long one try may take, from the name to the end of the answer [s]."""

CONNECT_S, SILENCE_S = 5.0, 10.0

MOST_READ_B = 4_096
"""Of an answer; only its first words are shown."""

MOST_SAID = 120
LONGEST_URL = 2_000

LONGEST_WAIT_S = 3600.0
"""A receiver that asks for more time than this is asked again then."""

UNKNOWN_WAIT_S = 30.0

OF_A_CLOUD = frozenset({ipaddress.ip_address("168.63.129.16")})
"""Public by its number, and answered by the host that a virtual machine of Azure runs on."""

Ip = ipaddress.IPv4Address | ipaddress.IPv6Address


def checked_url(url: str, reach: Reach) -> str:
    """Return an address that can be posted to. Raises DataError, which does not repeat it: it may be a secret."""
    parts = _parts(url.strip())
    if parts is None:
        raise DataError("this is no address: right is https://host/path")
    scheme, host = parts
    if scheme == "http" and not reach.private and not (reach.loopback and _is_this_machine(host)):
        raise DataError("the address has to begin with https:// (RATCHET_NOTIFY_PRIVATE allows others)")
    literal = _literal(host)
    if literal is not None and not may_reach(literal, reach):
        raise DataError("the address is in a private network (RATCHET_NOTIFY_PRIVATE allows that)")
    return url.strip()


def _parts(url: str) -> tuple[str, str] | None:
    try:
        parts = urlsplit(url)
        httpx.URL(url)
        _ = parts.port
    except (ValueError, httpx.InvalidURL):
        return None
    is_good = parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
    if not is_good or len(url) > LONGEST_URL or not url.isprintable() or not url.isascii() or " " in url:
        return None
    return parts.scheme, parts.hostname or ""


def _is_this_machine(host: str) -> bool:
    literal = _literal(host)
    return host.lower() == "localhost" or (literal is not None and literal.is_loopback)


def _literal(host: str) -> Ip | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def may_reach(ip: Ip, reach: Reach) -> bool:
    """Say whether an address may be connected to; an IPv4 address within one of IPv6 counts as what it is."""
    if isinstance(ip, ipaddress.IPv6Address):
        within = (
            ip.ipv4_mapped
            or ip.sixtofour
            or (ip.teredo[1] if ip.teredo else None)
            or _nat64(ip)
            or _compatible(ip)
        )
        if within is not None:
            return may_reach(within, reach)
        if ip.is_site_local:
            return reach.private
    if ip.is_multicast or ip.is_unspecified:
        return False
    if ip.is_loopback:
        return reach.loopback or reach.private
    return (ip.is_global and ip not in OF_A_CLOUD) or reach.private


def _compatible(ip: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """Return the IPv4 address of `::127.0.0.1`, a form that is out of use; `::` and `::1` are what they are."""
    return ipaddress.IPv4Address(int(ip)) if 1 < int(ip) <= 0xFFFF_FFFF else None


def _nat64(ip: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    is_nat64 = ip in ipaddress.ip_network("64:ff9b::/96") or ip in ipaddress.ip_network("64:ff9b:1::/48")
    return ipaddress.IPv4Address(int(ip) & 0xFFFF_FFFF) if is_nat64 else None


@dataclass(frozen=True)
class _Answer:
    status: int
    said: str
    retry_after: str


def post(url: str, body: bytes, headers: Mapping[str, str], reach: Reach) -> None:
    """Post once. Raises the errors of `model`, none of which repeats the address, and UnavailableError."""
    checked_url(url, reach)
    try:
        answer = asyncio.run(_within_deadline(url, body, headers, reach))
    except TimeoutError:
        raise UnavailableError(f"no answer within {DEADLINE_S:g} s") from None
    except httpx.TimeoutException:
        raise UnavailableError("no answer in time") from None
    except httpx.HTTPError as error:
        raise UnavailableError(f"cannot be reached: {type(error).__name__}") from None
    _judge(answer)


async def _within_deadline(url: str, body: bytes, headers: Mapping[str, str], reach: Reach) -> _Answer:
    async with asyncio.timeout(DEADLINE_S):
        found = await _addresses(url, reach)
        # A client would tell its log the address, which is a secret; a transport does not.
        async with httpx.AsyncHTTPTransport(verify=httpx.create_ssl_context(), trust_env=False) as transport:
            for number, ip in enumerate(found, 1):
                try:
                    return await _post(transport, url, ip, body, headers)
                except (httpx.ConnectError, httpx.ConnectTimeout):
                    if number == len(found):
                        raise
    raise UnavailableError("cannot be reached")


async def _addresses(url: str, reach: Reach) -> list[Ip]:
    """Return what the name of a host stands for, each once. Raises where any of it may not be reached."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        told = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise UnavailableError("its host has no address just now") from None
    found = list(dict.fromkeys(ipaddress.ip_address(str(its[4][0]).partition("%")[0]) for its in told))
    if not found:
        raise UnavailableError("its host has no address just now")
    if not all(may_reach(ip, reach) for ip in found):
        raise ReceiverRefusedError(
            "the address leads into a private network (RATCHET_NOTIFY_PRIVATE allows that)"
        )
    return found


async def _post(
    transport: httpx.AsyncHTTPTransport, url: str, ip: Ip, body: bytes, headers: Mapping[str, str]
) -> _Answer:
    its = httpx.URL(url)
    extensions: dict[str, Any] = {"timeout": httpx.Timeout(SILENCE_S, connect=CONNECT_S).as_dict()}
    if its.scheme == "https":
        extensions["sni_hostname"] = its.host
    request = httpx.Request(
        "POST",
        its.copy_with(host=str(ip)),
        content=body,
        headers={**headers, "Host": its.netloc.decode("ascii")},
        extensions=extensions,
    )
    response = await transport.handle_async_request(request)
    try:
        said = bytearray()
        async for piece in response.aiter_raw(MOST_READ_B):
            said += piece
            if len(said) >= MOST_READ_B:
                break
    finally:
        await response.aclose()
    return _Answer(
        response.status_code, _words(bytes(said[:MOST_READ_B])), response.headers.get("retry-after", "")
    )


def _words(said: bytes) -> str:
    text = " ".join(said.decode("utf-8", "replace").split())
    return "".join(char for char in text if char.isprintable())[:MOST_SAID]


def _judge(answer: _Answer) -> None:
    """Raise what an answer means, unless it is that the message was taken."""
    status = answer.status
    if 200 <= status < 300:
        return
    told = f"answered {status}" + (f": {answer.said}" if answer.said else "")
    if status == 429 or (status == 503 and answer.retry_after):
        raise ReceiverBusyError(told, wait_s=_wait_s(answer.retry_after))
    if status in (404, 410):
        raise ReceiverGoneError(told, is_certain=status == 410)
    if status in (408, 425) or status >= 500:
        raise UnavailableError(told)
    if 300 <= status < 400:
        raise ReceiverRefusedError(f"answered {status}: it sends elsewhere, which is not followed")
    raise ReceiverRefusedError(told)


def _wait_s(text: str) -> float:
    """Return how long a receiver asks to be left alone; a date, which few send, is taken for the usual time."""
    try:
        seconds = float(text)
    except ValueError:
        return UNKNOWN_WAIT_S
    return min(max(seconds, 1.0), LONGEST_WAIT_S) if seconds == seconds else UNKNOWN_WAIT_S


def shown_url(url: str) -> str:
    """Return what of an address people see: its host and the last four characters of what follows."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    port = f":{parts.port}" if parts.port else ""
    rest = url.partition("://")[2].partition("/")[2]
    return f"{parts.scheme}://{host}{port}/" + (f"…{rest[-4:]}" if len(rest) > 8 else "…" if rest else "")
