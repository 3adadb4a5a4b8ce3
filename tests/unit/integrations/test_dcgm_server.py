import gzip
import io
import json
import time
from email.utils import formatdate
from urllib.parse import parse_qs, urlsplit

import pytest
from pydantic import ValidationError
from requests.adapters import HTTPAdapter
from urllib3 import HTTPResponse

from app.config import ServiceSettings
from app.domain.errors import UnavailableError
from app.integrations.dcgm import session as session_module
from app.integrations.dcgm.server import LONGEST_S, Prometheus
from app.integrations.dcgm.session import AwayError

SETTINGS = {"database_url": "postgresql://x", "redis_url": "redis://x"}


class Script:
    """Answers every request with the same result, and keeps the requests."""

    def __init__(self, monkeypatch, result=(), headers=None, status=200, body=None):
        document = {"status": "success", "data": {"resultType": "matrix", "result": result}}
        self.body = json.dumps(document).encode() if body is None else body
        self.headers = headers or {}
        self.status = status
        self.requests = []
        self.options = []
        monkeypatch.setattr(HTTPAdapter, "send", self.send)

    def send(self, request, **options):
        self.requests.append(request)
        self.options.append(options)
        raw = HTTPResponse(
            io.BytesIO(self.body), headers=self.headers, status=self.status, preload_content=False
        )
        return HTTPAdapter().build_response(request, raw)

    def asked(self):
        return [
            {name: values[0] for name, values in parse_qs(urlsplit(request.url).query).items()}
            for request in self.requests
        ]


def test_samples_are_asked_for_as_they_were_scraped(monkeypatch):
    script = Script(monkeypatch, [{"metric": {}, "values": []}])
    with Prometheus("http://host:9090/prefix/").look_up() as look_up:
        assert look_up.samples('{UUID="GPU-1"}', 1000.25, 1060.5) == [{"metric": {}, "values": []}]
    assert urlsplit(script.requests[0].url).path == "/prefix/api/v1/query"
    assert script.asked() == [{"query": '{UUID="GPU-1"}[60250ms]', "time": "1060.500", "nocache": "1"}]


def test_a_long_time_is_asked_for_in_parts(monkeypatch):
    script = Script(monkeypatch, [{"metric": {}, "values": []}])
    with Prometheus("http://host").look_up() as look_up:
        rows = look_up.samples("x", 0.0, 2.5 * LONGEST_S)
    assert [(one["query"], one["time"]) for one in script.asked()] == [
        ("x[3600000ms]", "3600.000"),
        ("x[3600000ms]", "7200.000"),
        ("x[1800000ms]", "9000.000"),
    ]
    assert len(rows) == 3


def test_a_secret_without_a_user_is_a_token(monkeypatch, tmp_path):
    (tmp_path / "secret").write_text("sesame\n")
    script = Script(monkeypatch)
    with Prometheus("http://host", secret_file=str(tmp_path / "secret")).look_up() as look_up:
        look_up.samples("x", 0, 1)
    assert script.requests[0].headers["Authorization"] == "Bearer sesame"


def test_a_secret_with_a_user_is_a_password(monkeypatch, tmp_path):
    (tmp_path / "secret").write_text("sésame")
    script = Script(monkeypatch)
    with Prometheus("http://host", secret_file=str(tmp_path / "secret"), user="ratchet").look_up() as look_up:
        look_up.samples("x", 0, 1)
    assert script.requests[0].headers["Authorization"] == "Basic cmF0Y2hldDpzw6lzYW1l"


def test_a_secret_is_read_again_for_each_look_up(monkeypatch, tmp_path):
    script = Script(monkeypatch)
    server = Prometheus("http://host", secret_file=str(tmp_path / "secret"))
    for secret in ("one", "two"):
        (tmp_path / "secret").write_text(secret)
        with server.look_up() as look_up:
            look_up.samples("x", 0, 1)
    assert [request.headers["Authorization"] for request in script.requests] == ["Bearer one", "Bearer two"]


def test_a_secret_that_is_no_token_is_refused_and_not_told(tmp_path):
    (tmp_path / "secret").write_text("first line\nsesame")
    with (
        pytest.raises(UnavailableError) as caught,
        Prometheus("http://host", secret_file=str(tmp_path / "secret")).look_up(),
    ):
        pass
    assert "holds what no token is made of" in str(caught.value)
    assert "sesame" not in str(caught.value)


def test_a_netrc_of_the_services_user_is_not_for_prometheus(monkeypatch, tmp_path):
    (tmp_path / "netrc").write_text("machine host login somebody password else")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    script = Script(monkeypatch)
    with Prometheus("http://host").look_up() as look_up:
        look_up.samples("x", 0, 1)
    assert "Authorization" not in script.requests[0].headers


def test_certificates_and_time_limit_are_passed_on(monkeypatch):
    script = Script(monkeypatch)
    with Prometheus("https://host", ca_file="/ca.pem", timeout_s=1.5).look_up() as look_up:
        look_up.samples("x", 0, 1)
    connect_s, read_s = script.options[0]["timeout"]
    assert script.options[0]["verify"] == "/ca.pem"
    assert 0 < connect_s <= read_s <= 1.5


def test_a_look_up_that_took_its_time_asks_no_more(monkeypatch):
    script = Script(monkeypatch)
    with (
        pytest.raises(AwayError, match="takes longer than 1e-09 s"),
        Prometheus("http://host", timeout_s=1e-9).look_up() as look_up,
    ):
        look_up.samples("x", 0, 1)
    assert script.requests == []


@pytest.mark.parametrize(
    "result", [["1", "@"], [{"metric": {}, "value": [1, "@"]}]], ids=["scalar", "vector"]
)
def test_the_servers_clock_is_told_as_prometheus_and_as_others_tell_it(monkeypatch, result):
    told = time.time() + 42
    answer = json.loads(json.dumps(result).replace("@", f"{told:.3f}"))
    Script(monkeypatch, answer, {"Date": formatdate(told, usegmt=True)})
    with Prometheus("http://host").look_up() as look_up:
        clock = look_up.clock()
    assert clock.ahead_s == pytest.approx(42, abs=1)
    assert clock.within_s >= 0


def test_a_clock_that_contradicts_the_date_of_the_answer_is_not_believed(monkeypatch):
    now = time.time()
    Script(monkeypatch, [now, f"{now - 30:.3f}"], {"Date": formatdate(now, usegmt=True)})
    with Prometheus("http://host").look_up() as look_up:
        assert look_up.clock() is None


@pytest.mark.parametrize("result", [[], ["x", "y"], None, 3, [1.0, "NaN"], [{}]])
def test_a_clock_that_tells_no_time_is_not_known(monkeypatch, result):
    Script(monkeypatch, result)
    with Prometheus("http://host").look_up() as look_up:
        assert look_up.clock() is None


def test_a_date_that_is_none_is_done_without(monkeypatch):
    Script(monkeypatch, [1, f"{time.time():.3f}"], {"Date": "soon"})
    with Prometheus("http://host").look_up() as look_up:
        assert look_up.clock().ahead_s == pytest.approx(0, abs=1)


def test_warnings_are_kept_once_each(monkeypatch):
    document = {"status": "success", "data": {"result": []}, "warnings": ["partial", "partial", "stale"]}
    Script(monkeypatch, body=json.dumps(document).encode())
    with Prometheus("http://host").look_up() as look_up:
        look_up.samples("x", 0, 2 * LONGEST_S)
        assert look_up.notes == ["partial", "stale"]


def test_compressed_answers_are_read(monkeypatch):
    body = gzip.compress(b'{"status": "success", "data": {"result": [7]}}')
    Script(monkeypatch, body=body, headers={"Content-Encoding": "gzip"})
    with Prometheus("http://host").look_up() as look_up:
        assert look_up.samples("x", 0, 1) == [7]


def test_an_answer_without_end_is_not_read_to_it(monkeypatch):
    monkeypatch.setattr(session_module, "LARGEST_B", 2**20)
    Script(monkeypatch, body=b" " * (2**20 + 1))
    with (
        pytest.raises(UnavailableError, match="more than 1 MiB"),
        Prometheus("http://host").look_up() as look_up,
    ):
        look_up.samples("x", 0, 1)


def test_a_redirect_is_told_without_what_it_carries(monkeypatch):
    Script(monkeypatch, status=302, headers={"Location": "https://sso/login?state=secret"}, body=b"")
    with (
        pytest.raises(AwayError, match=r"sends us elsewhere, to https://sso/login$"),
        Prometheus("http://host").look_up() as look_up,
    ):
        look_up.samples("x", 0, 1)


def test_a_server_that_was_away_is_let_be_and_asked_again_later(monkeypatch):
    script = Script(monkeypatch, status=503, body=b"")
    server = Prometheus("http://host", rest_s=60)

    def ask():
        with server.look_up() as look_up:
            look_up.samples("x", 0, 1)

    with pytest.raises(AwayError, match=r"answers 503: "):
        ask()
    with pytest.raises(UnavailableError, match=r"answers 503: .*; it is not asked again for 60 s"):
        ask()
    assert len(script.requests) == 1
    later = time.monotonic() + 61
    monkeypatch.setattr(time, "monotonic", lambda: later)
    with pytest.raises(AwayError):
        ask()
    assert len(script.requests) == 2


def test_settings_without_an_address_name_no_server():
    assert Prometheus.of(ServiceSettings(**SETTINGS)) is None


def test_settings_name_the_server():
    settings = ServiceSettings(**SETTINGS, prometheus_url="https://host:9090/p/")
    assert Prometheus.of(settings).url == "https://host:9090/p"


@pytest.mark.parametrize(
    "url", ["host:9090", "ftp://host", "http://", "http://me:secret@host", "http://[host"]
)
def test_an_address_that_is_none_is_refused(url):
    with pytest.raises(ValidationError):
        ServiceSettings(**SETTINGS, prometheus_url=url)
