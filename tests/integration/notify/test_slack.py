"""What Slack is told: short, with an update that names the first message, and names without any effect."""

from __future__ import annotations

import pytest

from tests.integration.notify.conftest import Crowd

pytestmark = pytest.mark.postgres


def said(crowd: Crowd) -> list[str]:
    return [post.json["text"] for post in crowd.hook.posts]


def test_alert_is_told_with_its_link_and_its_end_as_a_short_update(crowd: Crowd) -> None:
    crowd.add("chat", "slack")
    (alert,) = crowd.alert()
    crowd.settle()
    crowd.move(alert, "fixed", comment="reverted")
    crowd.settle()
    first, update = said(crowd)
    link = f"http://testserver/alerts/{alert}"
    assert first.splitlines()[0] == f"*<{link}|acme/vision: new: Latency_p50 of resize +36 %>*"
    assert "Use cubic · by Grace · on main" in first
    assert update.startswith(f"*fixed*: <{link}|alert {alert}> of acme/vision, told at 20")
    assert "by ada: reverted" in update
    assert len(update.splitlines()) == 2


def test_names_mention_nobody_and_link_nowhere(crowd: Crowd) -> None:
    crowd.add("chat", "slack")
    crowd.alert(
        "regressed: <!channel> <@U1> @everyone & <http://evil.example|safe> *b* `c` https://evil.example"
    )
    crowd.settle()
    (text,) = said(crowd)
    ours = text.replace("<http://testserver/alerts/1|", "").replace(">*", "", 1)
    assert "<" not in ours
    assert ">" not in ours.replace("&gt;", "")
    assert "&lt;!channel&gt;" in text
    assert "@everyone" not in text
    assert "https://evil" not in text
    assert "*b*" not in text
    assert "`" not in text


def test_many_at_once_are_a_list_that_fits(crowd: Crowd) -> None:
    crowd.add("chat", "slack")
    crowd.alert("regressed: " + "x" * 3_000, n=40)
    crowd.settle()
    (text,) = said(crowd)
    assert (
        text.splitlines()[0]
        == "*<http://testserver/alerts?project=acme%2Fvision|acme/vision: 40 new alerts>*"
    )
    assert len(text) < 4_000
    assert text.count("•") == 5
    assert "And 35 more alerts." in text
