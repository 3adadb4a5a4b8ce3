"""For all tests: how they were started, and how busy the machine is, makes no difference."""

from __future__ import annotations

import gc
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

# A property test asserts no speed, and gives the same answer for the same code; `make fuzz` looks further each time.
settings.register_profile(
    "ratchet", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "fuzz", deadline=None, max_examples=2_000, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ratchet"))


def pytest_collection_finish() -> None:
    """Leave eleven thousand tests, and what they import, out of every later look for garbage."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def recordings() -> Path:
    """The folder of real outputs of other tools, one folder a tool."""
    folder = os.environ.get("RATCHET_TEST_SAMPLES")
    if not folder:
        pytest.skip("RATCHET_TEST_SAMPLES names no folder of recordings")
    return Path(folder)


# A shell's background job ignores these two, and so would every process that a test starts and interrupts.
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


class OneProcessForWhatMeasures(LoadScopeScheduling):
    """Hands out the acceptance tests as one, since a CPU is measured by one agent at a time.

    Of all others a file at a time is handed out: what its tests begin with comes about once, and each piece of work
    costs the more to hand out the more there are. Files go in their own order, so the longest piece comes first, and
    the many short ones of unit tests fill what is left at the end.
    """

    def _split_scope(self, nodeid: str) -> str:
        return "tests/acceptance/" if nodeid.startswith("tests/acceptance/") else nodeid.partition("::")[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> OneProcessForWhatMeasures:
    """Take our own order of work; xdist's groups by mark are not seen by every release of pytest."""
    # Else the pieces with most tests would come first, and not those that take longest.
    config.option.loadscopereorder = False
    return OneProcessForWhatMeasures(config, log)
