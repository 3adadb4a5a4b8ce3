"""The timed batches of a case as they cross the wire: what counts of them, and what is refused."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from workers.protocol import Batches


def test_what_counts_of_a_batch_is_without_what_other_programs_took() -> None:
    assert Batches(host_ns=[10, 20, 30], wait_ns=[0, 5, 29]).net_ns == [10, 15, 1]


def test_a_batch_of_which_no_wait_is_known_counts_whole() -> None:
    assert Batches(host_ns=[10, 20]).net_ns == [10, 20]


@pytest.mark.parametrize("wait_ns", [[1], [1, 2, 3], [10, 0], [0, -1]], ids=str)
def test_waits_that_do_not_fit_their_batches_are_refused(wait_ns: list[int]) -> None:
    with pytest.raises(ValidationError, match="wait_ns has to have, for each batch,"):
        Batches(host_ns=[10, 20], wait_ns=wait_ns)
