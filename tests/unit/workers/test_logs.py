"""Lines of the log: their form, what they are about, and what is struck out of them."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from contextvars import copy_context
from io import StringIO

import pytest

from workers import logs

OURS = f"ratchet_{'0a' * 6}_{'c4' * 32}"


class Lines(logging.Logger):
    """A logger of its own, and what it has written."""

    def __init__(self, form: logging.Formatter) -> None:
        super().__init__("app.somewhere")
        self.stream = StringIO()
        handler = logging.StreamHandler(self.stream)
        handler.addFilter(logs._Bound())
        handler.setFormatter(form)
        self.addHandler(handler)

    @property
    def text(self) -> str:
        return self.stream.getvalue()

    @property
    def told(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.text.splitlines()]


@pytest.fixture
def lines() -> Lines:
    return Lines(logs.JsonForm())


@pytest.fixture(autouse=True)
def nothing_bound() -> Iterator[None]:
    token = logs._bound.set(None)
    yield
    logs._bound.reset(token)


def test_a_record_is_one_object_with_time_level_logger_and_message(lines: Lines) -> None:
    lines.warning("the %s of %d", "end", 3)
    (line,) = lines.told
    assert line.pop("time").endswith("Z")  # type: ignore[attr-defined]
    assert line == {"level": "warning", "logger": "app.somewhere", "message": "the end of 3"}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\u2028", "\x85", "\x00", "\x1b[2K"])
def test_nothing_in_a_message_ends_its_line(lines: Lines, end: str) -> None:
    lines.error("before%safter", end)
    assert lines.text.isascii()
    assert len(lines.text.splitlines()) == 1
    assert lines.told[0]["message"] == f"before{end}after"


def test_a_traceback_is_within_the_line(lines: Lines) -> None:
    try:
        raise ValueError(f"with {OURS}")
    except ValueError:
        lines.exception("it failed")
    (line,) = lines.told
    assert str(line["exception"]).splitlines()[-1] == f"ValueError: with ratchet_{'0a' * 6}_[redacted]"


def test_what_is_bound_is_said_until_it_ends(lines: Lines) -> None:
    token = logs.begin(request_id="abc")
    logs.bind(job_id=7)
    lines.info("within")
    logs.end(token)
    lines.info("after")
    within, after = lines.told
    assert (within["request_id"], within["job_id"]) == ("abc", 7)
    assert not {"request_id", "job_id"} & set(after)


def test_what_a_thread_binds_is_said_by_whoever_waits_for_it(lines: Lines) -> None:
    token = logs.begin(request_id="abc")
    thread = threading.Thread(target=copy_context().run, args=(lambda: logs.bind(run_id=5),))
    thread.start()
    thread.join()
    lines.info("back")
    logs.end(token)
    assert lines.told[0]["run_id"] == 5


def test_a_block_within_another_adds_to_it_and_takes_back_only_its_own(lines: Lines) -> None:
    with logs.about(task="ratchet.sweep"):
        with logs.about(run_id=1):
            lines.info("both")
        lines.info("one")
    both, one = lines.told
    assert (both["task"], both["run_id"]) == ("ratchet.sweep", 1)
    assert "run_id" not in one


def test_to_bind_where_nothing_was_begun_does_nothing(lines: Lines) -> None:
    logs.bind(job_id=1)
    lines.info("x")
    assert "job_id" not in lines.told[0]


@pytest.mark.parametrize(
    ("said", "left"),
    [
        (f"token {OURS} is wrong", f"token ratchet_{'0a' * 6}_[redacted] is wrong"),
        ("Authorization: Bearer abc.def-123", "Authorization: Bearer [redacted]"),
        ("authorization='Basic dXNlcjpwYXNz'", "authorization='Basic [redacted]'"),
        ("ghs_" + "a1" * 18, "ghs_[redacted]"),
        ("github_pat_11ABCDEF0_" + "x9" * 29, "github_pat_11ABCDEF0_[redacted]"),
        ("postgresql://ratchet:hunter2@db/ratchet", "postgresql://ratchet:[redacted]@db/ratchet"),
        (f"acme_{'a' * 8}_{'b' * 40}", f"acme_{'a' * 8}_[redacted]"),
        ("run 12 of job 7, commit " + "d" * 40, "run 12 of job 7, commit " + "d" * 40),
        ("the bearer of this says nothing", "the bearer of this says nothing"),
        ("http://127.0.0.1:8440/healthz", "http://127.0.0.1:8440/healthz"),
    ],
)
def test_secrets_are_struck_out_and_all_else_stays(lines: Lines, said: str, left: str) -> None:
    lines.warning("%s", said)
    assert lines.told[0]["message"] == left
    as_text = Lines(logs.TextForm())
    as_text.warning("%s", said)
    assert as_text.text.endswith(f": {left}\n")


def test_secrets_are_struck_out_of_what_a_line_is_about(lines: Lines) -> None:
    with logs.about(request_id=OURS):
        lines.info("x")
    assert OURS not in lines.text


def test_text_is_a_line_a_record_and_says_what_it_is_about() -> None:
    lines = Lines(logs.TextForm())
    with logs.about(job_id=7, worker="bench-01"):
        lines.warning("two\nlines")
    (line,) = lines.text.splitlines()
    assert line.endswith("WARNING app.somewhere: two\\nlines [job_id=7 worker=bench-01]")


def test_another_form_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="RATCHET_LOG_FORMAT is 'xml'; right is one of json, text"):
        logs.set_up(logging.INFO, "xml")
