import pytest

from workers.errors import JobError
from workers.measuring.blocks import with_bounded_logs
from workers.measuring.measure import check_disk, order_seed
from workers.protocol import CaseMeasurement


def test_a_disk_without_room_is_refused_before_anything_is_written(tmp_path):
    check_disk(tmp_path, needed_b=1)
    with pytest.raises(JobError, match="MiB free") as caught:
        check_disk(tmp_path, needed_b=2**62)
    assert (caught.value.reason, caught.value.retryable) == ("disk_full", True)


def test_logs_are_kept_in_order_until_there_are_too_many():
    cases = [CaseMeasurement(benchmark=name, status="failed", log_tail=name * 10) for name in "abc"]
    kept = with_bounded_logs(cases, limit=25)
    assert [case.log_tail for case in kept] == ["a" * 10, "b" * 10, ""]
    assert [case.benchmark for case in kept] == ["a", "b", "c"]


def test_the_order_of_a_run_follows_from_its_lease():
    assert order_seed("lease-1") == order_seed("lease-1") != order_seed("lease-2")
