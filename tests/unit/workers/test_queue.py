import pytest

from workers.lease.queue import Hints, is_hint


def test_a_hint_is_a_celery_message_with_a_job():
    assert is_hint([[], {"v": 1, "job_id": 17}, {"callbacks": None}])


@pytest.mark.parametrize(
    "payload",
    [
        None,
        {},
        "text",
        [[], {"v": 1, "job_id": 17}],
        [[], [], {}],
        [[], {"v": 2, "job_id": 17}, {}],
        [[], {"job_id": 17}, {}],
        [[], {"v": 1, "job_id": "17"}, {}],
        [[], {"v": 1, "job_id": True}, {}],
    ],
)
def test_anything_else_is_no_hint(payload):
    assert not is_hint(payload)


class Message:
    def __init__(self, payload):
        self._payload = payload

    @property
    def payload(self):
        if isinstance(self._payload, Exception):
            raise self._payload
        return self._payload


def test_a_hint_ends_the_wait():
    hints = Hints("memory://", ["sim"])
    hints._take(Message([[], {"v": 1, "job_id": 17}, {}]))
    assert hints._hinted.is_set()
    hints.wait(3600.0)
    assert not hints._hinted.is_set()


@pytest.mark.parametrize("payload", [[1, 2, 3], ValueError("no JSON")])
def test_a_bad_message_is_dropped(payload):
    hints = Hints("memory://", ["sim"])
    hints._take(Message(payload))
    assert not hints._hinted.is_set()


def test_a_wait_without_a_hint_ends_by_itself():
    Hints("memory://", ["sim"]).wait(0.0)


def test_each_device_class_has_one_queue():
    assert Hints("memory://", ["cpu-x-2t", "sim", "sim"])._queues == ["hints.cpu-x-2t", "hints.sim"]
