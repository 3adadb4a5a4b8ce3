"""Badges for a README: what they say, and who sees them."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from fastapi.testclient import TestClient

from app.main import create_app
from app.services.access import Scope
from app.tasks.sweeping import sweep_alerts
from app.wiring import Service
from tests.factories.histories import PROJECT, Poster, deliver, noisy, sha, stepped
from tests.factories.posted_results import bound_token

pytestmark = pytest.mark.postgres


@pytest.fixture
def poster(client, service, admin_token) -> Poster:
    return Poster(client, service, admin_token)


def grown(poster: Poster, values: list[float]) -> None:
    for commit, value in enumerate(values):
        poster.post(value, commit)
    deliver(poster.service)


def texts(client, address: str, **headers: str) -> list[str]:
    response = client.get(address, headers=headers)
    assert response.headers["content-type"] == "image/svg+xml"
    return [
        element.text
        for element in ElementTree.fromstring(response.text).iter()
        if element.tag.endswith("text")
    ]


def answer_alert(poster: Poster, state: str) -> None:
    sweep_alerts(poster.service)
    headers = {"Authorization": f"Bearer {poster.token}"}
    poster.client.post("/api/v1/alerts/1", json={"state": state}, headers=headers).raise_for_status()


def links(poster: Poster) -> tuple[dict[str, str], dict[str, str]]:
    return poster.get(f"series/{poster.series}/badge"), poster.get("badge", project=PROJECT)


def test_badges_tell_what_became_worse_until_it_is_better(poster: Poster):
    grown(poster, stepped(40, at=30, by=0.1))
    of_series, of_project = links(poster)
    about, says = texts(poster.client, of_series["image"])
    assert about == "resize[batch=32] latency_p50"
    assert says == "10.9 ms (+10.0 %)"
    assert texts(poster.client, of_project["image"]) == ["performance", "1 regressed"]
    answer_alert(poster, "not_ours")
    assert texts(poster.client, of_project["image"]) == ["performance", "no open regressions"]
    answer_alert(poster, "new")
    assert texts(poster.client, of_project["image"]) == ["performance", "1 regressed"]
    for commit, value in enumerate(noisy(15), 40):
        poster.post(value, commit)
    deliver(poster.service)
    assert texts(poster.client, of_project["image"]) == ["performance", "no open regressions"]
    assert texts(poster.client, of_series["image"])[1] == "9.85 ms (−9.2 %)"


def test_signed_address_opens_its_badge_alone(poster: Poster, service, admin_token):
    grown(poster, [1.0, 1.0])
    of_series, of_project = links(poster)
    assert (
        of_series["markdown"]
        == f"[![resize\\[batch=32\\] latency\\_p50]({of_series['image']})]({of_series['page']})"
    )
    with TestClient(create_app(service)) as stranger:
        first = stranger.get(of_series["image"])
        assert (first.status_code, first.headers["cache-control"]) == (200, "public, max-age=300")
        assert stranger.get(of_project["image"]).status_code == 200
        path, _, key = of_series["image"].partition("?")
        for wrong in (path, f"{path}?key=x", of_project["image"].partition("?")[0] + "?" + key):
            answer = stranger.get(wrong)
            assert (answer.status_code, answer.headers["cache-control"]) == (404, "private, no-cache")
            assert "1 ms" not in answer.text
        own = stranger.get(path, headers={"Authorization": f"Bearer {admin_token}"})
        assert (own.status_code, own.headers["cache-control"]) == (200, "private, no-cache")
        other = bound_token(service, "acme/other", Scope.RESULTS_READ)
        assert stranger.get(path, headers={"Authorization": f"Bearer {other}"}).status_code == 404


@pytest.mark.parametrize(
    ("settings_", "status"), [({"anonymous_read": True}, 200), ({"report_link_days": 0}, 404)]
)
def test_settings_say_whether_everyone_sees_them(poster: Poster, settings, settings_, status):
    grown(poster, [1.0])
    signed = links(poster)[0]["image"]
    with TestClient(create_app(Service(settings.model_copy(update=settings_)))) as stranger:
        answer = stranger.get(signed if status == 404 else signed.partition("?")[0])
        assert answer.status_code == status


def test_project_with_any_name_has_a_badge(poster: Poster):
    for name in ("a/b c", "ü/<b>", "50%?#"):
        poster.post(1.0, sha(1), project=name)
        assert texts(poster.client, poster.get("badge", project=name)["image"])[0] == "performance"
