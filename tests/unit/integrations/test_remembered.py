"""What is asked again is asked with the tag of its last answer, and only so many answers are kept."""

from __future__ import annotations

from typing import Any

import httpx

from app.integrations.github.remembered import Remembered


class Server:
    """Answers with what it knows, and with 304 to who names the tag of that."""

    def __init__(self, told: Any, tag: str = '"1"') -> None:
        self.told, self.tag = told, tag
        self.asked: list[dict[str, str]] = []

    def __call__(self, headers: dict[str, str]) -> httpx.Response:
        self.asked.append(headers)
        if self.tag and headers.get("If-None-Match") == self.tag:
            return httpx.Response(304)
        return httpx.Response(200, json=self.told, headers={"etag": self.tag} if self.tag else {})


def test_what_has_not_changed_is_what_was_read_before() -> None:
    server, remembered = Server([1, 2]), Remembered()
    assert [remembered.ask("list", server, len) for _ in range(3)] == [2, 2, 2]
    assert server.asked == [{}, {"If-None-Match": '"1"'}, {"If-None-Match": '"1"'}]


def test_what_has_changed_is_read_again() -> None:
    server, remembered = Server([1, 2]), Remembered()
    remembered.ask("list", server, len)
    server.told, server.tag = [1], '"2"'
    assert remembered.ask("list", server, len) == 1
    assert remembered.ask("list", server, len) == 1
    assert server.asked[-1] == {"If-None-Match": '"2"'}


def test_an_answer_without_a_tag_is_not_kept() -> None:
    server, remembered = Server([1], tag=""), Remembered()
    for _ in range(2):
        assert remembered.ask("list", server, len) == 1
    assert server.asked == [{}, {}]


def test_what_was_not_asked_for_longest_is_forgotten_first() -> None:
    first, second, third, remembered = Server([1]), Server([2]), Server([3]), Remembered(most=2)
    for question, server in (
        ("a", first),
        ("b", second),
        ("a", first),
        ("c", third),
        ("a", first),
        ("b", second),
    ):
        remembered.ask(question, server, len)
    assert first.asked[-1] != {}
    assert second.asked == [{}, {}]
