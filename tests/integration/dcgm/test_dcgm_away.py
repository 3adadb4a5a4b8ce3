"""A Prometheus that is away, guarded, or something else at its address: each is a sentence, and none costs much."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from app.integrations.dcgm import Activity, Gpu, Prometheus, device_activity
from tests.integration.dcgm.world import Answer, prometheus, serving
from workers.keeper import Kept

GPU = Gpu.named("GPU-1")
JSON = {"Content-Type": "application/json"}
SESAME = "$2b$04$abcdefghijklmnopqrstuuinwY/tkBVrn3xrxQI/TgnMHhkvl85RW"
WEB = f"tls_server_config: {{cert_file: cert.pem, key_file: key.pem}}\nbasic_auth_users: {{ratchet: '{SESAME}'}}\n"


def asked(server: Prometheus) -> Activity:
    """Ask for a minute of a device."""
    now = datetime.now(UTC)
    return device_activity(server, GPU, [(now - timedelta(minutes=2), now - timedelta(minutes=1))])


@contextmanager
def answering(status: int, headers: dict[str, str], body: str) -> Iterator[Prometheus]:
    """Give one answer to every question."""

    def answer(path: str) -> Answer:
        return status, headers, body.encode()

    with serving(answer) as address:
        yield Prometheus(address)


@pytest.mark.parametrize(
    ("status", "headers", "body", "said"),
    [
        (
            200,
            {"Content-Type": "text/html"},
            "<html>Sign in</html>",
            "answers 200 with text/html, and not as",
        ),
        (
            302,
            {"Location": "https://sso.example/login"},
            "",
            "sends us elsewhere, to https://sso.example/login",
        ),
        (503, {"Retry-After": "600"}, "starting up", "answers 503: Service Unavailable"),
        (500, JSON, json.dumps({"status": "error", "error": "disk gone"}), "answers 500: disk gone"),
        (404, {}, "404 page not found", "is no address of a Prometheus: it answers 404"),
        (200, JSON, '{"name": "something else"}', "answers 200 with application/json, and not as"),
        (200, JSON, '{"status": "succ', "answers 200 with application/json, and not as"),
        (200, JSON, "[]", "answers 200 with application/json, and not as"),
    ],
)
def test_what_is_no_answer_of_prometheus_is_told_and_let_be_for_a_while(
    status: int, headers: dict[str, str], body: str, said: str
):
    with answering(status, headers, body) as server:
        first = asked(server)
    assert f"{server.url} {said}" in first.reason
    assert first.readings == {}
    assert asked(server).reason.startswith(first.reason + "; it is not asked again for ")


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (401, "refuses our credentials (401 Unauthorized): RATCHET_PROMETHEUS_SECRET_FILE"),
        (422, "refuses the question (422): too many samples"),
    ],
)
def test_what_the_server_refuses_is_told_and_asked_again(status: int, said: str):
    body = json.dumps({"status": "error", "error": "too many samples"}) if status == 422 else ""
    with answering(status, JSON, body) as server:
        assert said in asked(server).reason
        assert said in asked(server).reason
        assert "not asked again" not in asked(server).reason


@pytest.mark.parametrize(
    "result", [None, 7, {}, ["x"], [{"metric": {}}], [{"metric": {"__name__": "x"}, "values": 1}]]
)
def test_an_answer_that_is_not_of_its_form_is_told(result: object):
    body = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}})
    with answering(200, JSON, body) as server:
        told = asked(server)
    assert told.reason is not None
    assert told.readings == {}


def test_a_success_without_data_is_told():
    with answering(200, JSON, '{"status": "success"}') as server:
        assert asked(server).reason is not None


def test_nobody_at_the_address_is_told_at_once():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert "cannot be reached: Connection refused" in asked(Prometheus(f"http://127.0.0.1:{port}")).reason


def test_a_name_that_nobody_has_is_told(monkeypatch: pytest.MonkeyPatch):
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    said = asked(Prometheus("http://nobody.invalid")).reason
    assert said == "http://nobody.invalid cannot be reached: Name or service not known"


def test_a_server_that_says_nothing_costs_the_time_limit_once():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        server = Prometheus(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout_s=0.3)
        assert "does not answer within 0.3 s" in asked(server).reason
        assert "it is not asked again for 60 s" in asked(server).reason


def test_a_server_that_closes_without_a_word_is_told():
    with serving(lambda path: None) as address:
        assert "cannot be reached: Remote end closed connection" in asked(Prometheus(address)).reason


def test_a_server_that_answers_in_drips_is_left_in_the_end():
    with socket.create_server(("127.0.0.1", 0)) as listener, dripping(listener):
        server = Prometheus(f"http://127.0.0.1:{listener.getsockname()[1]}", timeout_s=0.5)
        assert "takes longer than 0.5 s" in asked(server).reason


@contextmanager
def dripping(listener: socket.socket) -> Iterator[None]:
    """Answer the first question with a byte every 50 ms, until the other side has had enough."""

    def drip() -> None:
        with listener.accept()[0] as connection, suppress(OSError):
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
            while not ended.wait(0.05):
                connection.sendall(b" ")

    ended, thread = threading.Event(), threading.Thread(target=drip)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def test_a_server_is_asked_again_after_its_rest():
    with answering(503, {}, "") as server:
        restless = Prometheus(server.url, rest_s=0)
        assert asked(restless).reason == asked(restless).reason


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str, Kept]]:
    """A Prometheus with TLS and a password, and nothing to scrape."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not on PATH: there is no certificate to make")
    folder = tmp_path_factory.mktemp("guarded")
    subprocess.run(
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=test "
        "-addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out cert.pem".split(),
        cwd=folder,
        check=True,
        capture_output=True,
    )
    (folder / "secret").write_text("sesame\n")
    (folder / "wrong").write_text("open up")
    with ExitStack() as stack:
        port, process = stack.enter_context(prometheus(folder, "scrape_configs: []\n", WEB))
        yield folder, f"https://127.0.0.1:{port}", process


def visitor(
    guarded: tuple[Path, str, Kept], secret: str = "secret", user: str = "ratchet", ca: str = "cert.pem"
):
    folder, url, _ = guarded
    ca_file = str(folder / ca) if ca else ""
    secret_file = str(folder / secret) if secret else ""
    return Prometheus(url, secret_file=secret_file, user=user, ca_file=ca_file)


def test_a_guarded_server_answers_who_has_name_password_and_its_certificate(guarded):
    assert asked(visitor(guarded)).reason.startswith("Prometheus has nothing of dcgm-exporter from this time")


@pytest.mark.parametrize(("secret", "user"), [("wrong", "ratchet"), ("", ""), ("secret", "")])
def test_a_guarded_server_refuses_others(guarded, secret: str, user: str):
    assert "refuses our credentials (401 Unauthorized)" in asked(visitor(guarded, secret, user)).reason


def test_a_certificate_that_nobody_vouches_for_is_told_with_the_setting(guarded):
    said = asked(visitor(guarded, ca="")).reason
    assert "shows a certificate that is not trusted: " in said
    assert "RATCHET_PROMETHEUS_CA_FILE" in said


def test_a_secret_that_cannot_be_read_is_told(guarded):
    assert "missing, the secret for Prometheus, cannot be read" in asked(visitor(guarded, "missing")).reason


def test_certificates_that_cannot_be_read_are_told(guarded):
    assert "no-such.pem" in asked(visitor(guarded, ca="no-such.pem")).reason


def test_a_secret_is_in_no_sentence(guarded):
    assert "sesame" not in json.dumps(asked(visitor(guarded, ca="")).document())


def test_a_server_that_ends_is_away_from_then_on(guarded):
    server = visitor(guarded)
    assert "cannot be reached" not in asked(server).reason
    guarded[2].stop(10)
    first = asked(server).reason
    assert "cannot be reached: Connection refused" in first
    assert asked(server).reason.startswith(first)
