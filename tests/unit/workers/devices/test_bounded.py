"""Questions to a library that may hang."""

import threading

import pytest

from workers.devices.bounded import Asker, LateError


@pytest.fixture
def asker():
    asker = Asker("test")
    yield asker
    asker.close()


@pytest.fixture
def gate():
    gate = threading.Event()
    yield gate
    gate.set()


def test_an_answer_in_time_is_returned(asker):
    assert asker.ask(lambda: 3, 10) == 3
    assert asker.busy_s == 0


def test_questions_are_asked_one_after_the_other_by_one_thread(asker):
    names = [asker.ask(lambda: threading.current_thread().name, 10) for _ in range(3)]
    assert names == ["test"] * 3


def test_what_a_question_raises_is_raised(asker):
    def fail():
        raise TimeoutError("its own")

    with pytest.raises(TimeoutError, match="its own"):
        asker.ask(fail, 10)


def test_a_question_that_hangs_is_late_and_seen_to_be_on_its_way(asker, gate):
    with pytest.raises(LateError):
        asker.ask(gate.wait, 0.01)
    assert asker.busy_s > 0


def test_a_question_behind_one_that_hangs_is_late_and_never_asked(asker, gate):
    asked = []
    asker.begin(gate.wait)
    with pytest.raises(LateError):
        asker.ask(lambda: asked.append("late"), 0.01)
    gate.set()
    assert asker.ask(lambda: list(asked), 10) == []


def test_an_answer_that_comes_late_is_kept_for_who_began_the_question(asker, gate):
    answer = asker.begin(lambda: gate.wait() and "late")
    with pytest.raises(TimeoutError):
        answer.result(0.01)
    gate.set()
    assert answer.result(10) == "late"


def test_the_last_question_is_asked_before_the_thread_ends():
    asker, asked = Asker("test"), []
    asker.ask(lambda: None, 10)
    asker.close(lambda: asked.append("last"))
    assert asked == ["last"]
    assert all(thread.name != "test" for thread in threading.enumerate())
