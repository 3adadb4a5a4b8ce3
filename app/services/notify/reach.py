"""What notifications may reach, and how mail leaves: of the service's settings."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from urllib.parse import urlsplit

from app.config import ServiceSettings
from app.domain.errors import UnavailableError
from app.integrations.notifiers import Reach


def reach_of(settings: ServiceSettings) -> Reach:
    """Return what may be reached. Raises UnavailableError where the file with the password cannot be read.

    This machine's own addresses may be where the service itself is for this machine alone.
    """
    return Reach(
        private=settings.notify_private,
        loopback=_is_loopback(settings.host) and not settings.public_url,
        smtp_url=settings.smtp_url,
        smtp_password=_password(settings.smtp_password_file),
        mail_from=settings.mail_from or f"Ratchet <ratchet@{_host(settings)}>",
        host=_host(settings),
    )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _host(settings: ServiceSettings) -> str:
    host = urlsplit(settings.address).hostname or "ratchet"
    return f"[{host}]" if ":" in host else host


def _password(file: str) -> str:
    if not file:
        return ""
    try:
        return Path(file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise UnavailableError("RATCHET_SMTP_PASSWORD_FILE cannot be read") from None
