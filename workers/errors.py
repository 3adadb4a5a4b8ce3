"""What can go wrong in an agent, as one tree.

WorkerError
├── UsageError             the agent was started wrongly (exit status 64)
├── InUseError             another agent has a device, or the data folder (exit status 75)
├── ServiceError           the service did not do what it was asked
│   ├── UnreachableError   no usable answer in the time there was
│   └── RefusedError       a final answer, with its HTTP status and code
│       └── StaleLeaseError   the lease has ended: stop measuring at once
├── JobError               nothing of this job can be measured here and now; says whether another try may help
├── ArmError               one commit cannot be prepared: a fact about the commit, not about this machine
└── LeaseEndedError        the lease is over (lost, cancelled, or the agent stops): unwinds whatever goes on
"""

from __future__ import annotations

from workers.protocol import ArmStatus


class WorkerError(Exception):
    """Root of every error that the agent raises on purpose."""


class UsageError(WorkerError):
    """The agent was started wrongly; the message says what would be right."""


class InUseError(WorkerError):
    """Another agent has one of the devices, or the data folder."""


class ServiceError(WorkerError):
    """The service did not do what it was asked."""


class UnreachableError(ServiceError):
    """No usable answer in the time there was."""


class RefusedError(ServiceError):
    """The service's final answer: HTTP `status`, machine-readable `code`, and its sentence."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(f"{message} (HTTP {status}, {code})")
        self.status = status
        self.code = code


class StaleLeaseError(RefusedError):
    """The lease has ended; whatever runs under it must stop at once."""


class JobError(WorkerError):
    """Nothing of this job can be measured here and now.

    Args:
        reason: a code such as `disk_full`.
        message: the sentence that people read.
        retryable: whether another attempt, perhaps elsewhere, may succeed.
        log_tail: the end of what the failing tool printed.
    """

    def __init__(self, reason: str, message: str, *, retryable: bool = True, log_tail: str = "") -> None:
        super().__init__(message)
        self.reason = reason
        self.retryable = retryable
        self.log_tail = log_tail


class ArmError(WorkerError):
    """One commit cannot be prepared; `reason` is a code and a sentence, `log_tail` the end of the log."""

    def __init__(self, status: ArmStatus, reason: str, log_tail: str = "") -> None:
        super().__init__(reason)
        self.status: ArmStatus = status
        self.reason = reason
        self.log_tail = log_tail


class LeaseEndedError(WorkerError):
    """The lease is over; unwinds whatever goes on under it."""
