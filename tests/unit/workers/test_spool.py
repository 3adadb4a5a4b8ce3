import os
import time

import httpx
import pytest

from tests.unit.workers.fake_clock import FakeClock
from tests.unit.workers.messages import an_invocation
from workers.errors import JobError, RefusedError, UnreachableError
from workers.lease.client import Patience, ServiceClient
from workers.lease.spool import KEPT_S, Spool
from workers.protocol import Invocation

BRIEFLY = Patience(limit_s=0.0)
ACCEPTED = httpx.Response(200, json={"open": []})
STALE = httpx.Response(409, json={"code": "stale_lease", "message": "ended"})
AWAY = httpx.Response(503)


def client(answer, seen=None):
    def transport(request):
        if seen is not None:
            seen.append(request)
        return answer

    return ServiceClient("http://s", "t", transport=httpx.MockTransport(transport), clock=FakeClock())


def test_a_document_is_on_disk_before_it_is_posted(tmp_path):
    Spool(tmp_path).put("lease-1", "7/0/base/1", an_invocation())
    waiting = Spool(tmp_path).pending()
    assert [(entry.lease_id, entry.key) for entry in waiting] == [("lease-1", "7/0/base/1")]
    assert Invocation.model_validate_json(waiting[0].document) == an_invocation()


def test_an_accepted_document_is_forgotten(tmp_path):
    spool, seen = Spool(tmp_path), []
    spool.post(spool.put("lease-1", "key", an_invocation()), client(ACCEPTED, seen), BRIEFLY)
    assert spool.pending() == []
    assert (seen[0].url.path, seen[0].headers["Idempotency-Key"]) == (
        "/api/v1/worker/leases/lease-1/invocations",
        "key",
    )


def test_a_document_of_an_ended_lease_is_forgotten(tmp_path):
    spool = Spool(tmp_path)
    with pytest.raises(RefusedError):
        spool.post(spool.put("lease-1", "key", an_invocation()), client(STALE), BRIEFLY)
    assert spool.pending() == []


def test_a_document_that_cannot_be_delivered_stays(tmp_path):
    spool = Spool(tmp_path)
    with pytest.raises(UnreachableError):
        spool.post(spool.put("lease-1", "key", an_invocation()), client(AWAY), BRIEFLY)
    assert len(spool.pending()) == 1


def test_what_earlier_leases_left_is_delivered_oldest_first(tmp_path):
    spool, seen = Spool(tmp_path), []
    for lease in ("lease-1", "lease-2"):
        spool.put(lease, "key", an_invocation())
    spool.deliver(client(ACCEPTED, seen), BRIEFLY)
    assert [request.url.path.split("/")[5] for request in seen] == ["lease-1", "lease-2"]
    assert spool.pending() == []


def test_a_refusal_of_one_leftover_does_not_keep_the_others(tmp_path):
    spool = Spool(tmp_path)
    for lease in ("lease-1", "lease-2"):
        spool.put(lease, "key", an_invocation())
    spool.deliver(client(STALE), BRIEFLY)
    assert spool.pending() == []


def test_a_service_that_is_away_ends_the_delivery(tmp_path):
    spool, seen = Spool(tmp_path), []
    for lease in ("lease-1", "lease-2"):
        spool.put(lease, "key", an_invocation())
    spool.deliver(client(AWAY, seen), BRIEFLY)
    assert (len(seen), len(spool.pending())) == (1, 2)


def test_a_leftover_older_than_a_day_is_removed(tmp_path):
    spool, seen = Spool(tmp_path), []
    entry = spool.put("lease-1", "key", an_invocation())
    long_ago = time.time() - KEPT_S - 60
    os.utime(entry.path, (long_ago, long_ago))
    spool.deliver(client(ACCEPTED, seen), BRIEFLY)
    assert (seen, spool.pending()) == ([], [])


def test_a_damaged_file_does_not_keep_the_others(tmp_path):
    (tmp_path / "0.json").write_bytes(b"\xff\n")
    spool = Spool(tmp_path)
    spool.put("lease-1", "key", an_invocation())
    assert [entry.lease_id for entry in spool.pending()] == ["lease-1"]
    assert not (tmp_path / "0.json").exists()


def test_a_folder_that_cannot_be_written_is_a_fault_of_the_machine(tmp_path):
    (tmp_path / "spool").write_text("in the way")
    with pytest.raises(JobError) as caught:
        Spool(tmp_path / "spool").put("lease-1", "key", an_invocation())
    assert caught.value.reason == "disk_full"
