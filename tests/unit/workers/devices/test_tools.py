"""Vendors' commands, asked within bounds."""

import sys
import time

import pytest

from workers.devices import tools
from workers.devices.tools import Stream, ToolError, ask


def python(code):
    return [sys.executable, "-c", code]


def test_an_answer_is_what_the_tool_prints():
    assert ask(python("print('hello')")) == "hello\n"


def test_an_answer_counts_whatever_the_status():
    assert ask(python("import sys; print('half'); sys.exit(3)")) == "half\n"


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("import sys; sys.exit('no device')", "failed with status 1: no device"),
        ("import time; time.sleep(60)", "did not answer within 0.5 s"),
        ("import os; os.close(1); os.close(2); import time; time.sleep(60)", "did not answer within 0.5 s"),
    ],
)
def test_a_tool_that_gives_no_answer_says_why(code, problem):
    with pytest.raises(ToolError, match=problem):
        ask(python(code), timeout_s=0.5)


def test_a_tool_that_is_not_there_is_named():
    with pytest.raises(ToolError, match="no-such-tool is not on PATH"):
        ask(["no-such-tool"])


def test_a_tool_that_floods_is_ended_at_the_limit(monkeypatch):
    monkeypatch.setattr(tools, "LONGEST_ANSWER_B", 100_000)
    with pytest.raises(ToolError, match="printed over 100000 bytes"):
        ask(python("while True: print('x' * 1000)"), timeout_s=30)


def test_a_stream_is_closed_while_its_thread_waits_for_a_line():
    stream = Stream(python("import time; print('first', flush=True); time.sleep(60)"), str.strip, oldest_s=60)
    deadline = time.monotonic() + 20
    while stream.latest() is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert stream.latest() == "first"
    stream.close()
    assert stream._thread is not None
    assert not stream._thread.is_alive()
