"""What the values made of others rest on, of what an agent told."""

import pytest

from app.services.derive_values import circumstances
from app.store.tables import Job


@pytest.mark.parametrize("strange", ["90 W", float("nan"), True, None])
def test_idle_power_that_is_no_number_is_not_told(strange):
    job = Job(device_class="cpu-test", policy={})
    given = circumstances(job, [], [{"power_w": 80.0}, {"power_w": strange}])
    assert (given.idle_power.value, given.tells_energy) == (None, False)
    assert circumstances(job, [], [{"power_w": 80.0}, {"power_w": 20}]).idle_power.value == 100.0
