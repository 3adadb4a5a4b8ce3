from datetime import UTC, datetime

import pytest

from workers.runner import KEPT_B, Ended, Output


def ended(exit_code, **fields):
    times = {
        "started_at": datetime(2026, 1, 31, tzinfo=UTC),
        "t_start_ns": 0,
        "duration_ns": 1,
        "timeout_s": 300.0,
    }
    return Ended(
        exit_code, **{"timed_out": False, "out_of_memory": False, "output": Output()} | times | fields
    )


def test_short_output_is_kept_whole():
    output = Output()
    for chunk in (b"one ", b"two"):
        output.add(chunk)
    assert output.text == "one two"
    assert output.tail() == "one two"


def test_endless_output_keeps_its_beginning_and_end_and_says_what_is_missing():
    output = Output()
    output.add(b"first")
    for _ in range(100):
        output.add(b"." * KEPT_B)
    output.add(b"last")
    assert len(output.raw) == 2 * KEPT_B
    assert output.text.startswith("first")
    assert output.text.endswith("last")
    assert f"[{98 * KEPT_B + len('firstlast')} bytes left out]" in output.text


def test_the_tail_is_at_most_as_long_as_asked():
    output = Output()
    output.add(b"a" * KEPT_B + b"b" * KEPT_B)
    assert output.tail(10) == "b" * 10


def test_the_tail_spans_both_kept_parts():
    output = Output(kept_b=4)
    output.add(b"abcdef")
    assert output.tail(5) == "bcdef"


def test_output_that_is_no_text_is_made_readable():
    output = Output()
    output.add(b"\xff\0ok")
    assert output.text == "\ufffd\ufffdok"


@pytest.mark.parametrize(
    ("end", "status", "code"),
    [
        (ended(0), "ok", ""),
        (ended(3), "failed", "exit_code: it ended with exit status 3"),
        (ended(137), "failed", "killed: it was ended by signal 9 (SIGKILL)"),
        (ended(137, out_of_memory=True), "oom", "oom: the kernel killed it because memory ran out"),
        (ended(143, timed_out=True), "timeout", "timeout: it ran for over 300 s and was stopped"),
        (ended(0, timed_out=True), "timeout", "timeout: it ran for over 300 s and was stopped"),
    ],
)
def test_an_end_has_a_status_and_a_reason(end, status, code):
    assert (end.status, end.reason, end.ok) == (status, code, status == "ok")
