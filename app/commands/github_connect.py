"""`ratchet github connect`: a page on this machine from which GitHub makes the app; its key and secrets are kept."""

from __future__ import annotations

import hmac
import json
import secrets
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from app.domain.errors import ConflictError, RatchetError, UsageError
from app.integrations.github.creation import CreatedApp, take_created_app
from app.integrations.github.manifest import app_manifest, creation_page
from app.local.data_dir import write_secret
from app.web.render import standalone

KEY_FILE, SECRET_FILE, LOGIN_SECRET_FILE = "app.pem", "webhook-secret", "login-secret"


@dataclass(frozen=True)
class Wanted:
    """What app is to be made: for which service, under which name, of whom, on which GitHub, its files into where."""

    url: str
    name: str
    organization: str | None
    web: str
    api: str
    into: Path

    @property
    def key_file(self) -> Path:
        """Where its private key goes."""
        return self.into / KEY_FILE

    @property
    def secret_file(self) -> Path:
        """Where its webhook's secret goes."""
        return self.into / SECRET_FILE

    @property
    def login_secret_file(self) -> Path:
        """Where the secret goes that people sign in by."""
        return self.into / LOGIN_SECRET_FILE


class Connecting:
    """The page, from its first request until GitHub has sent the browser back with what was made."""

    def __init__(self, wanted: Wanted, port: int = 0) -> None:
        """Listen on this machine's loopback. Raises ConflictError where there are an app's files already."""
        for path in (wanted.key_file, wanted.secret_file, wanted.login_secret_file):
            if path.exists():
                raise ConflictError(
                    f"{path} exists, and may be the key of another app; name a new folder by --into"
                )
        self._wanted = wanted
        _try_to_write(wanted.into)
        self._state = secrets.token_urlsafe(24)
        self._server = ThreadingHTTPServer(("127.0.0.1", port), _handler(self))
        self._lock = threading.Lock()
        self.created: CreatedApp | None = None

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def wait(self) -> CreatedApp | None:
        """Answer until the app is made, and return it; its files are written by then. None after `stop`."""
        try:
            self._server.serve_forever(poll_interval=0.1)
        finally:
            self._server.server_close()
        return self.created

    def stop(self) -> None:
        """Answer no more; for other threads."""
        self._server.shutdown()

    def answer(self, target: str, host: str) -> tuple[int, str]:
        """Return status and page for a request. Of a page under another name than ours nothing is answered."""
        if host not in (f"127.0.0.1:{self._server.server_port}", f"localhost:{self._server.server_port}"):
            return 403, self._page(problem="This page is asked for under a name that is not its own.")
        place = urlsplit(target)
        if place.path == "/":
            return 200, self._beginning()
        if place.path == "/created":
            return self._end(parse_qs(place.query))
        return 404, self._page(problem="There is no such page.")

    def _beginning(self) -> str:
        manifest = app_manifest(self._wanted.url, self._wanted.name, back_to=f"{self.address}/created")
        to = f"{creation_page(self._wanted.web, self._wanted.organization)}?state={self._state}"
        return self._page(to=to, manifest=json.dumps(manifest), name=self._wanted.name)

    def _end(self, query: dict[str, list[str]]) -> tuple[int, str]:
        code, state = (query.get(name, [""])[0] for name in ("code", "state"))
        if not code or not hmac.compare_digest(state, self._state):
            return 400, self._page(problem="This did not come from the page that this command has opened.")
        with self._lock:
            if self.created is None:
                try:
                    self._keep(take_created_app(self._wanted.api, code))
                except (RatchetError, OSError) as error:
                    return 502, self._page(problem=f"{error}")
        return 200, self._page(created=self.created, url=self._wanted.url)

    def _keep(self, made: CreatedApp) -> None:
        write_secret(self._wanted.key_file, made.private_key.strip())
        write_secret(self._wanted.secret_file, made.webhook_secret)
        write_secret(self._wanted.login_secret_file, made.client_secret)
        self.created = made
        threading.Thread(target=self._server.shutdown, daemon=True).start()

    def _page(self, **values: object) -> str:
        known = {"to": "", "manifest": "", "name": "", "problem": "", "created": None, "url": ""}
        return standalone("connect.html", **(known | values))


def _try_to_write(folder: Path) -> None:
    """Raise UsageError where no file can be written: GitHub gives the key out once, and it needs a place then."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        (folder / ".trial").touch()
        (folder / ".trial").unlink()
    except OSError as error:
        raise UsageError(
            f"nothing can be written into {folder}: {error}; name another folder by --into"
        ) from None


def _handler(connecting: Connecting) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # the name that http.server looks for
            status, page = connecting.answer(self.path, self.headers.get("Host", ""))
            raw = page.encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(raw)))
            self.send_header("Cache-Control", "no-store")
            self.send_header("Referrer-Policy", "no-referrer")
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *_: object) -> None:
            """Say nothing: a request's address holds a code."""

    return Handler
