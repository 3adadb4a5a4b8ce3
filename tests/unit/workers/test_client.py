import gzip
import json
import threading

import httpx
import pytest

from tests.unit.workers.fake_clock import FakeClock
from tests.unit.workers.messages import a_lease
from workers.errors import RefusedError, StaleLeaseError, UnreachableError
from workers.lease.client import COMPRESS_ABOVE_B, LONGEST_PAUSE_S, Patience, ServiceClient
from workers.protocol import Claim, Finish, Heartbeat

CLAIM = Claim(worker_id=1, instance="i", hardware_ids=["sim-0"])
NOTHING_OPEN = httpx.Response(200, json={"open": []})


class Script:
    """A transport that gives its answers one after another, the last one for ever, and keeps the requests."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.requests = []
        self.clock = FakeClock()

    def __call__(self, request):
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def client(self):
        transport = httpx.MockTransport(self)
        return ServiceClient(
            "http://service/ratchet", "secret", transport=transport, clock=self.clock, draw=lambda: 1.0
        )


def test_a_request_carries_the_token_and_the_whole_path():
    script = Script(httpx.Response(204))
    script.client().claim(CLAIM, wait_s=15, patience=Patience())
    request = script.requests[0]
    assert str(request.url) == "http://service/ratchet/api/v1/worker/claim?wait=15"
    assert request.headers["Authorization"] == "Bearer secret"


def test_a_claim_without_work_gives_none():
    assert Script(httpx.Response(204)).client().claim(CLAIM, wait_s=0, patience=Patience()) is None


def test_a_claim_with_work_gives_the_lease():
    lease = a_lease()
    script = Script(httpx.Response(200, content=lease.model_dump_json()))
    assert script.client().claim(CLAIM, wait_s=0, patience=Patience()) == lease


@pytest.mark.parametrize(
    "trouble",
    [httpx.ConnectError("refused"), httpx.ReadTimeout("slow"), httpx.Response(503), httpx.Response(429)],
)
def test_trouble_that_may_pass_is_tried_again(trouble):
    script = Script(trouble, trouble, httpx.Response(204))
    assert script.client().claim(CLAIM, wait_s=0, patience=Patience()) is None
    assert len(script.requests) == 3


def test_pauses_grow_up_to_a_limit():
    script = Script(*[httpx.Response(503)] * 20, httpx.Response(204))
    script.client().claim(CLAIM, wait_s=0, patience=Patience())
    assert script.clock.waits[:4] == pytest.approx([0.2, 0.3, 0.45, 0.675])
    assert script.clock.waits == sorted(script.clock.waits)
    assert script.clock.waits[-1] == LONGEST_PAUSE_S


def test_pauses_are_jittered_downwards_by_up_to_half():
    script = Script(httpx.Response(503), httpx.Response(204))
    transport = httpx.MockTransport(script)
    client = ServiceClient("http://s", "t", transport=transport, clock=script.clock, draw=lambda: 0.0)
    client.claim(CLAIM, wait_s=0, patience=Patience())
    assert script.clock.waits == pytest.approx([0.1])


def test_the_pause_that_the_service_asks_for_is_kept():
    script = Script(httpx.Response(503, headers={"Retry-After": "7"}), httpx.Response(204))
    script.client().claim(CLAIM, wait_s=0, patience=Patience())
    assert script.clock.waits == [7.0]


def test_patience_that_runs_out_ends_in_unreachable():
    script = Script(httpx.ConnectError("refused"))
    with pytest.raises(UnreachableError, match="refused"):
        script.client().claim(CLAIM, wait_s=0, patience=Patience(limit_s=10.0))
    assert sum(script.clock.waits) <= 10.0


def test_patience_that_is_over_ends_in_unreachable_at_once():
    over = threading.Event()
    over.set()
    script = Script(httpx.ConnectError("refused"))
    with pytest.raises(UnreachableError):
        script.client().claim(CLAIM, wait_s=0, patience=Patience(over=over))
    assert len(script.requests) == 1


def test_a_refusal_is_final_and_says_why():
    script = Script(httpx.Response(422, json={"code": "bad_payload", "message": "cases[0]: no such case"}))
    with pytest.raises(RefusedError, match="no such case") as caught:
        script.client().finish("lease-1", Finish(outcome="ok"), Patience())
    assert (caught.value.status, caught.value.code, len(script.requests)) == (422, "bad_payload", 1)


def test_a_refusal_without_a_document_still_names_the_request():
    with pytest.raises(RefusedError, match="/api/v1/worker/leases/lease-1/finish"):
        Script(httpx.Response(404, text="<html>")).client().finish(
            "lease-1", Finish(outcome="ok"), Patience()
        )


def test_a_stale_lease_is_an_error_of_its_own():
    script = Script(httpx.Response(409, json={"code": "stale_lease", "message": "ended"}))
    with pytest.raises(StaleLeaseError):
        script.client().heartbeat("lease-1", Heartbeat(phase="measuring"), answer_s=1)


def test_an_answer_of_another_kind_is_refused():
    with pytest.raises(RefusedError, match="is this Ratchet"):
        Script(httpx.Response(200, text="hello")).client().claim(CLAIM, wait_s=0, patience=Patience())


def test_a_heartbeat_is_tried_once():
    script = Script(httpx.Response(503))
    with pytest.raises(UnreachableError):
        script.client().heartbeat("lease-1", Heartbeat(phase="measuring"), answer_s=1)
    assert len(script.requests) == 1


def test_a_large_document_travels_compressed():
    document = json.dumps(["x" * COMPRESS_ABOVE_B]).encode()
    script = Script(NOTHING_OPEN)
    script.client().invocation("lease-1", "7/0/base/1", document, Patience())
    request = script.requests[0]
    assert request.headers["Content-Encoding"] == "gzip"
    assert request.headers["Idempotency-Key"] == "7/0/base/1"
    assert gzip.decompress(request.content) == document


def test_a_small_document_travels_as_it_is():
    script = Script(NOTHING_OPEN)
    script.client().invocation("lease-1", "k", b"{}", Patience())
    assert script.requests[0].content == b"{}"
    assert "Content-Encoding" not in script.requests[0].headers


def test_a_bundle_is_written_to_its_file(tmp_path):
    script = Script(httpx.Response(200, content=b"pack"))
    script.client().download_bundle("ab12", tmp_path / "bundle", Patience())
    assert (tmp_path / "bundle").read_bytes() == b"pack"
    assert script.requests[0].url.path == "/ratchet/api/v1/bundles/ab12"


def test_accepted_request_dates_the_file_that_says_so_and_a_refused_one_does_not(tmp_path):
    script = Script(httpx.Response(404), httpx.Response(204))
    file = tmp_path / "alive"
    client = ServiceClient(
        "http://s", "t", transport=httpx.MockTransport(script), clock=script.clock, alive_file=file
    )
    with pytest.raises(RefusedError):
        client.claim(CLAIM, wait_s=0, patience=Patience())
    assert not file.exists()
    client.claim(CLAIM, wait_s=0, patience=Patience())
    assert file.exists()


def test_file_that_cannot_be_dated_stops_nobody(tmp_path):
    script = Script(httpx.Response(204))
    file = tmp_path / "none" / "alive"
    client = ServiceClient(
        "http://s", "t", transport=httpx.MockTransport(script), clock=script.clock, alive_file=file
    )
    assert client.claim(CLAIM, wait_s=0, patience=Patience()) is None
