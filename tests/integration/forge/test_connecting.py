"""`ratchet github connect`: the page from which GitHub makes the app, and what is kept of it."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import httpx
import pytest

from app.commands.github_connect import Connecting, Wanted
from app.domain.errors import ConflictError, UsageError
from app.integrations.github.manifest import app_manifest
from tests.factories.fake_github import APP_ID, FakeGitHub

SERVICE = "https://ratchet.example"


@pytest.fixture
def wanted(github: FakeGitHub, tmp_path: Path) -> Wanted:
    return Wanted(
        SERVICE, "Ratchet of acme", "acme", github.url, github.url, tmp_path / "a folder" / "github"
    )


@pytest.fixture
def connecting(wanted: Wanted) -> Iterator[Connecting]:
    """A page that is answered until the app is made, or the test is over."""
    its = Connecting(wanted)
    waiting = threading.Thread(target=its.wait, daemon=True)
    waiting.start()
    yield its
    its.stop()
    waiting.join()


def begin(connecting: Connecting) -> tuple[str, str, dict[str, object]]:
    """Open the page; return where its form leads, the state that goes there, and the manifest."""
    page = httpx.get(connecting.address).text
    to = unescape(re.search(r'action="([^"]+)"', page)[1])  # type: ignore[index]
    manifest = unescape(re.search(r'name="manifest" value="([^"]+)"', page)[1])  # type: ignore[index]
    address, _, state = to.partition("?state=")
    return address, state, json.loads(manifest)


def come_back(connecting: Connecting, state: str, code: str = "c0de") -> httpx.Response:
    return httpx.get(f"{connecting.address}/created", params={"code": code, "state": state})


def test_the_form_asks_github_for_the_app_that_the_manifest_describes(
    connecting: Connecting, github: FakeGitHub
) -> None:
    to, state, manifest = begin(connecting)
    assert to == f"{github.url}/organizations/acme/settings/apps/new"
    assert len(state) > 20
    assert manifest["callback_urls"] == [f"{SERVICE}/sign-in/github/callback"]
    assert manifest == app_manifest(SERVICE, "Ratchet of acme", back_to=f"{connecting.address}/created")


def test_what_github_made_is_kept_for_its_owner_alone(connecting: Connecting, wanted: Wanted) -> None:
    _, state, _ = begin(connecting)
    page = come_back(connecting, state)
    assert page.status_code == 200
    assert "Ratchet &lt;b&gt; is made" in page.text
    assert "/apps/ratchet/installations/new" in page.text
    assert (wanted.key_file.read_text(), wanted.secret_file.read_text()) == ("a key\n", "s3cret\n")
    assert wanted.login_secret_file.read_text() == "an0ther\n"
    assert {path.stat().st_mode & 0o777 for path in wanted.into.iterdir()} == {0o600}
    assert connecting.created is not None
    assert str(connecting.created.id) == APP_ID
    assert connecting.created.client_id == "Iv1.0"
    assert not [secret for secret in ("a key", "s3cret", "an0ther") if secret in repr(connecting.created)]


def test_who_was_not_sent_by_our_page_is_refused(connecting: Connecting, wanted: Wanted) -> None:
    begin(connecting)
    assert come_back(connecting, "another").status_code == 400
    assert not any(wanted.into.iterdir())


def test_what_github_refuses_is_told_and_can_be_tried_again(connecting: Connecting, wanted: Wanted) -> None:
    _, state, _ = begin(connecting)
    page = come_back(connecting, state, code="stale")
    assert page.status_code == 502
    assert "404 Not Found" in page.text
    assert not any(wanted.into.iterdir())
    assert come_back(connecting, state).status_code == 200


def test_files_of_another_app_are_not_written_over(wanted: Wanted) -> None:
    wanted.into.mkdir(parents=True)
    wanted.key_file.write_text("of another\n")
    with pytest.raises(ConflictError, match=r"app\.pem exists"):
        Connecting(wanted)


def test_the_page_loads_nothing(connecting: Connecting) -> None:
    page = re.sub(r"/\*.*?\*/", "", httpx.get(connecting.address).text, flags=re.DOTALL)
    assert not re.search(r'(?:src|href)="(?!#)', page)
    assert "@import" not in page
    assert "url(" not in page


def test_a_page_under_another_name_is_told_nothing(connecting: Connecting) -> None:
    page = httpx.get(
        connecting.address, headers={"Host": f"evil.example:{connecting.address.rpartition(':')[2]}"}
    )
    assert page.status_code == 403
    assert "state=" not in page.text


def test_where_nothing_can_be_written_github_is_not_even_asked(wanted: Wanted) -> None:
    wanted.into.parent.write_text("no folder")
    with pytest.raises(UsageError, match="nothing can be written into"):
        Connecting(wanted)
