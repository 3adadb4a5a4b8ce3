"""A browser on the pages, without the browser: cookies and headers as one sends them, redirects left to be seen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser

from fastapi.testclient import TestClient
from sqlalchemy import Engine, event

from app.wiring import Service
from tests.factories.application import application
from tests.factories.in_process import InProcess

SAME_ORIGIN = {"Sec-Fetch-Site": "same-origin"}


def browser(service: Service, token: str | None = None, *, address: str = "http://testserver") -> TestClient:
    """A browser that has opened nothing yet, or that has signed in with this token."""
    client = InProcess(
        application(service),
        base_url=address,
        headers={"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"},
        follow_redirects=False,
        raise_server_exceptions=False,
    )
    if token is not None:
        answer = client.post("/sign-in", data={"token": token}, headers=SAME_ORIGIN)
        assert answer.status_code == 303, answer.text
    return client


@contextmanager
def counted(engine: Engine) -> Iterator[list[str]]:
    """Collect the statements that are sent meanwhile."""
    statements: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        statements.append(statement)

    event.listen(engine, "before_cursor_execute", note)
    try:
        yield statements
    finally:
        event.remove(engine, "before_cursor_execute", note)


class Page(HTMLParser):
    """What a reader and a browser see of a page: its text, its elements, and every address in it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.html = html
        self.elements: list[tuple[str, dict[str, str]]] = []
        self._texts: list[str] = []
        self._in: str = ""
        self.feed(html)

    @property
    def text(self) -> str:
        """The words, with single spaces."""
        return " ".join(" ".join(self._texts).split())

    @property
    def title(self) -> str:
        """The page's title."""
        found = re.search(r"<title>(.*?)</title>", self.html, re.DOTALL)
        assert found
        return found[1]

    @property
    def links(self) -> list[str]:
        """Where links lead."""
        return [attributes["href"] for tag, attributes in self.elements if tag == "a"]

    @property
    def refresh_s(self) -> int | None:
        """After how many seconds the page renews itself."""
        for tag, attributes in self.elements:
            if tag == "meta" and attributes.get("http-equiv") == "refresh":
                return int(attributes["content"])
        return None

    def addresses(self) -> list[str]:
        """Everything that the browser would load or send to without being asked by the reader."""
        loading = {
            "link": "href",
            "script": "src",
            "img": "src",
            "form": "action",
            "iframe": "src",
            "use": "href",
        }
        return [a[loading[tag]] for tag, a in self.elements if tag in loading and loading[tag] in a]

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attributes}))
        self._in = tag

    def handle_endtag(self, tag: str) -> None:
        self._in = ""

    def handle_data(self, data: str) -> None:
        if self._in not in ("style", "script", "title"):
            self._texts.append(data)


def shown(client: TestClient, path: str) -> Page:
    """Return the page at a path, which has to be there."""
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    return Page(answer.text)
