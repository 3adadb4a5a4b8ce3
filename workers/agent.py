"""The agent: it registers, claims one lease after another, and carries each to its end.

    lease → prepare → run → upload → release

with heartbeats beside it (`tenure`). Whatever goes wrong with a job ends that job, with a reason for the service; the
agent goes on. One agent has its data folder and its devices for itself.
"""

from __future__ import annotations

import errno
import importlib.metadata
import logging
import secrets
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from http import HTTPStatus

from workers import logs
from workers.arms.workspace import remove_tree
from workers.config import Config
from workers.devices.base import Device
from workers.devices.group import DeviceGroup
from workers.errors import (
    InUseError,
    JobError,
    LeaseEndedError,
    RefusedError,
    ServiceError,
    StaleLeaseError,
    UnreachableError,
    UsageError,
)
from workers.host.clock import Clock
from workers.host.locks import LockFile
from workers.lease.client import Patience, ServiceClient
from workers.lease.queue import Hints
from workers.lease.spool import Spool
from workers.lease.tenure import End, Tenure
from workers.measuring.measure import Means, measure
from workers.programs.cgroups import Cgroups
from workers.programs.sandbox.probe import Isolation, probe
from workers.protocol import Claim, Finish, Lease, Register, Registered, SignOff

log = logging.getLogger(__name__)

CLAIM_WAIT_S = 15.0
SLOW_POLL_S = 5.0
LATE_LEASE_S = 1.0
"""How long a stopping agent waits for a claim's answer; a lease that it never sees keeps a job until it expires."""

LAST_WORD_S = 3.0
"""How long a stopping agent tries to hand its lease back."""

TAKEN_OVER = ("device_in_use", "name_in_use", "superseded_agent")
"""What the service says when another agent has this one's device, or its name."""

Measure = Callable[[Tenure, DeviceGroup, Means], Finish]


class Agent:
    """One agent on its host. `run` works until `stop` is called from another thread."""

    def __init__(
        self,
        config: Config,
        devices: Sequence[Device],
        client: ServiceClient,
        clock: Clock,
        *,
        hints: Hints | None = None,
        measure: Measure = measure,
    ) -> None:
        self._config = config
        self._devices = {device.hardware_id: device for device in devices}
        self._client = client
        self._clock = clock
        self._hints = hints
        self._measure = measure
        self._spool = Spool(config.spool_dir)
        self._cgroups = Cgroups(config.data_dir)
        self._isolation = Isolation(0)
        self._instance = secrets.token_hex(16)
        self._stopping = threading.Event()
        self._news = threading.Event()
        """Set when a claim is answered, and when the agent is stopped."""
        self._tenure: Tenure | None = None

    def stop(self) -> None:
        """End the current lease as `agent_stopped`, and the agent after it; for other threads."""
        self._stopping.set()
        self._news.set()
        if self._hints:
            self._hints.wake()
        tenure = self._tenure
        if tenure is not None:
            tenure.end(End.STOPPED)

    def run(self) -> None:
        """Work until stopped, or through one claim if the configuration says `once`.

        Raises:
            InUseError: another agent has a device or the data folder.
            UsageError: the service refuses this agent's token.
        """
        with self._own_things():
            remove_tree(self._config.work_dir)
            self._config.alive_file.unlink(missing_ok=True)
            self._isolation = probe(self._config.data_dir, self._config.token_file)
            _tell(self._isolation)
            try:
                self._work()
            except UnreachableError:
                if not self._stopping.is_set():
                    raise

    def _own_things(self) -> ExitStack:
        """Take, for life, the devices and the data folder."""
        stack = ExitStack()
        try:
            for device in self._devices.values():
                stack.callback(device.close)
            # Slices of one device have its lock: it is taken once.
            for lock in {device.lock_id: device.agent_lock for device in self._devices.values()}.values():
                stack.enter_context(lock)
            self._config.data_dir.mkdir(parents=True, exist_ok=True)
            busy = f"another agent works in {self._config.data_dir}; give this one a folder of its own by --data-dir"
            stack.enter_context(LockFile(self._config.data_dir / "agent.lock", busy))
            stack.enter_context(self._cgroups)
        except BaseException:
            stack.close()
            raise
        return stack

    def _work(self) -> None:
        me = self._register()
        while not self._stopping.is_set():
            self._spool.deliver(self._client, self._patience())
            asked_at = self._clock.now()
            try:
                lease = self._claim(me)
            except RefusedError as error:
                _check_final(error)
                log.warning("the claim was refused, registering anew: %s", error)
                self._clock.wait(self._stopping, SLOW_POLL_S)
                me = self._register()
                continue
            if lease is not None:
                with logs.about(job_id=lease.job.job_id, run_id=lease.run_id, worker=self._config.name):
                    self._serve(lease, me, asked_at)
            if self._config.once:
                break
            if lease is None:
                self._await_work()
        self._sign_off(me)

    # --- work to do ---

    def _patience(self) -> Patience:
        return Patience(over=self._stopping)

    def _register(self) -> Registered:
        message = Register(
            name=self._config.name,
            host=socket.gethostname(),
            instance=self._instance,
            agent_version=_version(),
            devices=[device.report() for device in self._devices.values()],
            sandbox=self._isolation.level,
        )
        try:
            answer = self._client.register(message, self._patience())
        except RefusedError as error:
            _check_final(error)
            raise
        log.info("registered as worker %d, %s", answer.worker_id, ", ".join(self._devices))
        return answer

    def _claim(self, me: Registered) -> Lease | None:
        """Ask for work, in another thread, so that an agent that is stopped need not wait for the answer."""
        message = Claim(worker_id=me.worker_id, instance=self._instance, hardware_ids=list(self._devices))
        wait_s = 0.0 if self._hints else CLAIM_WAIT_S
        self._news.clear()
        answer = _Answer(
            lambda: self._client.claim(message, wait_s=wait_s, patience=self._patience()), self._news
        )
        answer.start()
        if not self._stopping.is_set():
            self._news.wait()
        answer.join(LATE_LEASE_S if self._stopping.is_set() else None)
        return answer.lease()

    def _sign_off(self, me: Registered) -> None:
        """Say that this agent ends as it should; one that is gone without a word is missed."""
        message = SignOff(worker_id=me.worker_id, instance=self._instance)
        try:
            self._client.sign_off(message, answer_s=LAST_WORD_S)
        except ServiceError as error:
            log.info("the service was not told that this agent ends: %s", error)

    def _await_work(self) -> None:
        """Wait until a claim may find something; the service itself waits when there is no broker."""
        if self._hints:
            self._hints.wait(SLOW_POLL_S)

    # --- one lease ---

    def _serve(self, lease: Lease, me: Registered, claimed_at: float) -> None:
        """Carry out a lease and tell the service how it ended."""
        log.info("run %d: %s, suite %s", lease.run_id, lease.job.project, lease.job.suite.name)
        tenure = Tenure(lease, me, self._client, self._clock, claimed_at)
        self._tenure = tenure
        if self._stopping.is_set():  # it may have come before there was a tenure to end
            tenure.end(End.STOPPED)
        with tenure:
            finish = self._carry_out(tenure)
        self._tenure = None
        if tenure.is_lost:
            log.warning("run %d: lost: %s", lease.run_id, tenure.why)
        else:
            self._finish(lease, finish, me)

    def _carry_out(self, tenure: Tenure) -> Finish:
        try:
            finish = self._measure(tenure, self._devices_of(tenure.lease), self._means())
        except InUseError as error:
            finish = _infrastructure("device_busy", str(error))
        except JobError as error:
            finish = _infrastructure(
                error.reason, str(error), retryable=error.retryable, log_tail=error.log_tail
            )
        except (LeaseEndedError, ServiceError) as error:
            finish = _ended(tenure, error)
        except OSError as error:
            finish = _system_fault(error)
        except Exception as error:  # the edge of the loop: one job's fault must not end the agent
            log.exception("run %d failed", tenure.lease.run_id)
            finish = _infrastructure("agent_fault", f"{type(error).__name__}: {error}")
        return finish.model_copy(update={"device_s": tenure.device_s})

    def _means(self) -> Means:
        its = (self._client, self._spool, self._config, self._clock, self._cgroups, self._isolation)
        return Means(*its)

    def _devices_of(self, lease: Lease) -> DeviceGroup:
        """Return the lease's devices, in its order."""
        wanted = list(dict.fromkeys(lease.job.hardware_ids))
        found = [self._devices[name] for name in wanted if name in self._devices]
        if not found or len(found) < len(wanted):
            message = f"this agent measures on {sorted(self._devices)}, not on {wanted}"
            raise JobError("no_such_device", message)
        kinds = sorted({device.kind for device in found})
        if len(kinds) > 1:
            message = (
                f"the devices {wanted} are of the kinds {kinds}; those of one kind are measured on together"
            )
            raise JobError("mixed_devices", message, retryable=False)
        return DeviceGroup(found)

    def _finish(self, lease: Lease, finish: Finish, me: Registered) -> None:
        limit_s = LAST_WORD_S if self._stopping.is_set() else me.lease_ttl_s
        try:
            self._client.finish(lease.lease_id, finish, Patience(limit_s=limit_s))
        except ServiceError as error:
            log.warning("run %d: its end could not be reported: %s", lease.run_id, error)
        else:
            log.info("run %d: %s %s", lease.run_id, finish.outcome, finish.reason)


class _Answer(threading.Thread):
    """A claim on its way."""

    def __init__(self, ask: Callable[[], Lease | None], news: threading.Event) -> None:
        super().__init__(name="claim", daemon=True)
        self._ask = ask
        self._news = news
        self._lease: Lease | None = None
        self._error: Exception | None = None

    def run(self) -> None:
        try:
            self._lease = self._ask()
        except Exception as error:  # the edge of the thread: whoever takes the answer raises it
            self._error = error
        finally:
            self._news.set()

    def lease(self) -> Lease | None:
        """Return the lease, or None where there is none (yet)."""
        if self._error is not None:
            raise self._error
        return self._lease


def _check_final(error: RefusedError) -> None:
    """Raise what ends this agent, if the refusal is one that trying again cannot change."""
    if error.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        message = f"the service refuses this agent's token: {error}; give the right one by --token-file"
        raise UsageError(message) from error
    if error.code in TAKEN_OVER:
        raise InUseError(str(error)) from error


def _ended(tenure: Tenure, error: LeaseEndedError | ServiceError) -> Finish:
    """Return the end of a job whose lease is over, or whose documents were refused."""
    if isinstance(error, StaleLeaseError):
        tenure.end(End.STALE)
    if tenure.why is End.CANCELLED:
        return Finish(outcome="cancelled", reason=End.CANCELLED)
    if tenure.why is not None:
        return _infrastructure(tenure.why, "the agent was stopped while it measured")
    return _infrastructure("refused", f"the service refused what was measured: {error}")


def _system_fault(error: OSError) -> Finish:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return _infrastructure("disk_full", str(error))
    log.error("the job failed", exc_info=error)
    return _infrastructure("agent_fault", str(error))


def _infrastructure(reason: str, message: str, *, retryable: bool = True, log_tail: str = "") -> Finish:
    return Finish(
        outcome="infra_failed", reason=reason, message=message, retryable=retryable, log_tail=log_tail
    )


def _tell(isolation: Isolation) -> None:
    if isolation.reason:
        log.info("sandbox: level %d, no untrusted jobs: %s", isolation.level, isolation.reason)
    else:
        log.info("sandbox: level %d", isolation.level)


def _version() -> str:
    try:
        return importlib.metadata.version("ratchet-perf")
    except importlib.metadata.PackageNotFoundError:  # run from a checkout
        return ""
