"""For all tests: how they were started, and how busy the machine is, makes no difference."""

from __future__ import annotations

import signal

from hypothesis import HealthCheck, settings

# A property test asserts no speed.
settings.register_profile("ratchet", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ratchet")

# A shell's background job ignores these two, and so would every process that a test starts and interrupts.
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
