"""`ratchet doctor`: what was found on this machine, with the grades of a service."""

import json
import os
import subprocess
import sys

import httpx
import pytest

from app.cli import run
from app.commands import connection
from app.domain.errors import UnavailableError
from app.integrations.service_client import ServiceClient
from workers.devices.inspection import examination
from workers.readings.record import facts, tick

CHECK = {
    "run": 1,
    "sigma_pair": 0.004,
    "mde": 0.01,
    "verdicts": 4,
    "false_alarms": 0,
    "clocks_locked": True,
    "exclusive": True,
    "measured_at": "2026-11-21T02:10:33Z",
}


def device(hardware_id, kind="nvidia", device_class="nvidia-h100"):
    told = facts(index=0, uuid=hardware_id)
    return {
        "kind": kind,
        "device_class": device_class,
        "hardware_id": hardware_id,
        "facts": told,
        "readings": tick(),
    }


def ailment(code, where):
    return {"code": code, "where": where, "what": f"{code} is wrong", "cost": "time", "mend": "true"}


@pytest.fixture(autouse=True)
def machine(monkeypatch):
    """A machine with one GPU, and one thing to mend."""
    examined = {
        "version": 1,
        "devices": [device("GPU-1")],
        "ailments": [ailment("persistence_off", "GPU-1")],
        "advice": [ailment("clocks_unknown", "GPU-1")],
        "absent": [],
    }
    monkeypatch.setattr(examination, "examine", lambda host: examined)
    return examined


class Service:
    url = "http://ratchet.example"

    def __init__(self, answer):
        self.answer = answer

    def devices(self):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.fixture
def service(monkeypatch):
    """Has the service answer, or fail."""

    def have(answer):
        monkeypatch.setattr(
            connection, "running_service", lambda: None if answer is None else Service(answer)
        )

    have(None)
    return have


def graded(hardware_id="GPU-1", **check):
    return {"hardware_id": hardware_id, "grade": "A", "health": "good", "self_check": {**CHECK, **check}}


def outcome(capsys, *arguments):
    status = run(["doctor", *arguments])
    return status, *capsys.readouterr()


def document(capsys):
    return json.loads(outcome(capsys, "--json")[1])


def test_what_was_found_is_no_failure_of_the_command(capsys, service):
    status, out, err = outcome(capsys)
    assert (status, err) == (0, "")
    assert "✗ persistence_off is wrong  [nvidia-h100 0]" in out


def test_without_a_service_the_machine_is_looked_at_all_the_same(capsys, service):
    found = document(capsys)
    assert found["grades"] == [None]
    assert found["service"] == {"url": None, "trouble": "no service runs on the default data folder"}
    assert [one["code"] for one in found["ailments"]] == ["persistence_off"]


def test_the_grade_is_the_services_by_the_devices_own_self_check(capsys, service):
    service([graded("GPU-0"), graded(sigma_pair=0.002)])
    found = document(capsys)
    assert found["grades"][0]["self_check"]["sigma_pair"] == 0.002
    assert found["service"] == {"url": "http://ratchet.example", "trouble": None}
    assert outcome(capsys)[1].startswith("nvidia-h100 0  grade A")


def test_a_device_that_the_service_does_not_know_has_no_grade(capsys, service):
    service([graded("GPU-0")])
    assert document(capsys)["grades"] == [None]
    assert outcome(capsys)[1].startswith("nvidia-h100 0  no grade yet\n\n")


@pytest.mark.parametrize(("stood", "advice"), [(True, []), (False, ["clocks_unknown"])])
def test_a_clock_that_stood_in_the_last_self_check_needs_no_advice(capsys, service, stood, advice):
    service([graded(clocks_locked=stood)])
    assert [one["code"] for one in document(capsys)["advice"]] == advice


def test_a_device_without_a_self_check_keeps_its_advice(capsys, service):
    service([{**graded(), "grade": None, "self_check": None}])
    assert [one["code"] for one in document(capsys)["advice"]] == ["clocks_unknown"]


@pytest.mark.parametrize(
    ("answer", "trouble"),
    [
        (
            UnavailableError("the service at http://ratchet.example does not answer: refused."),
            "does not answer",
        ),
        (KeyError("devices"), "is no service of Ratchet"),
        (json.JSONDecodeError("Expecting value", "<html>", 0), "is no service of Ratchet"),
        (["words"], "is no service of Ratchet"),
    ],
)
def test_a_service_that_tells_no_grades_hides_nothing_else(capsys, service, answer, trouble):
    service(answer)
    status, out, err = outcome(capsys)
    assert (status, err) == (0, "")
    assert trouble in out
    assert "✗ persistence_off" in out
    assert trouble in document(capsys)["service"]["trouble"]


def test_an_address_that_is_none_is_wrong_usage(capsys, monkeypatch):
    monkeypatch.setenv("RATCHET_URL", "nowhere")
    status, out, err = outcome(capsys)
    assert (status, out) == (64, "")
    assert "is no address of a service" in err


def test_another_server_behind_the_address_is_told_as_such(capsys, monkeypatch):
    page = httpx.MockTransport(lambda request: httpx.Response(200, text="<html>hello</html>"))
    client = ServiceClient("http://other.example", None, patience_s=0)
    client._http = httpx.Client(base_url=client.url, transport=page)
    monkeypatch.setattr(connection, "running_service", lambda: client)
    assert "what answers at http://other.example is no service" in outcome(capsys)[1]


@pytest.mark.parametrize(
    ("url", "trouble"), [(None, "no service runs"), ("http://127.0.0.1:1", "does not answer")]
)
def test_where_only_the_agent_is_installed_the_machine_is_looked_at_all_the_same(url, trouble, tmp_path):
    program = (
        "import sys\n"
        "for name in ('sqlalchemy', 'fastapi', 'celery', 'pydantic_settings', 'numpy'): sys.modules[name] = None\n"
        "from app.cli import run\n"
        "sys.exit(run(['doctor', '--json']))"
    )
    environment = {**os.environ, "RATCHET_DATA_DIR": str(tmp_path), "RATCHET_URL": url or ""}
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, env=environment
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert trouble in json.loads(ended.stdout)["service"]["trouble"]
