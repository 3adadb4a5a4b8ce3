"""The system calls that a sandboxed program does not get, as a classic BPF program for seccomp(2).

A deny list, since nobody can list what every benchmark needs: it takes away what makes other namespaces and mounts,
looks into other processes, or reaches parts of the kernel that measured code has no use for. What is refused fails
with EPERM, as for want of a privilege. `clone3` and io_uring do not exist there (ENOSYS), so that callers fall back to
what can be judged by its arguments. Another calling convention than the machine's own (32 bit) ends the process; x32 is
refused. Numbers are from the kernel's `asm/unistd_64.h` and `asm-generic/unistd.h`.
"""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

NAMESPACES: Final = 0x7E020000
"""The flags of clone(2) that make a namespace: user, pid, net, ipc, uts, cgroup and mount."""

TERMINAL: Final = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX of ioctl(2): they type into a terminal that somebody else reads."""

ABSENT: Final = ("clone3", "io_uring_setup", "io_uring_enter", "io_uring_register")
"""Answered as by a kernel that lacks them."""

_X86_64: Final[Mapping[str, int]] = {
    "ioctl": 16,
    "clone": 56,
    "ptrace": 101,
    "syslog": 103,
    "pivot_root": 155,
    "chroot": 161,
    "acct": 163,
    "mount": 165,
    "umount2": 166,
    "swapon": 167,
    "swapoff": 168,
    "reboot": 169,
    "iopl": 172,
    "ioperm": 173,
    "init_module": 175,
    "delete_module": 176,
    "quotactl": 179,
    "lookup_dcookie": 212,
    "kexec_load": 246,
    "add_key": 248,
    "request_key": 249,
    "keyctl": 250,
    "unshare": 272,
    "perf_event_open": 298,
    "fanotify_init": 300,
    "name_to_handle_at": 303,
    "open_by_handle_at": 304,
    "setns": 308,
    "process_vm_readv": 310,
    "process_vm_writev": 311,
    "kcmp": 312,
    "finit_module": 313,
    "kexec_file_load": 320,
    "bpf": 321,
    "userfaultfd": 323,
}
_AARCH64: Final[Mapping[str, int]] = {
    "lookup_dcookie": 18,
    "ioctl": 29,
    "umount2": 39,
    "mount": 40,
    "pivot_root": 41,
    "chroot": 51,
    "quotactl": 60,
    "acct": 89,
    "unshare": 97,
    "kexec_load": 104,
    "init_module": 105,
    "delete_module": 106,
    "syslog": 116,
    "ptrace": 117,
    "reboot": 142,
    "add_key": 217,
    "request_key": 218,
    "keyctl": 219,
    "clone": 220,
    "swapon": 224,
    "swapoff": 225,
    "perf_event_open": 241,
    "fanotify_init": 262,
    "name_to_handle_at": 264,
    "open_by_handle_at": 265,
    "setns": 268,
    "process_vm_readv": 270,
    "process_vm_writev": 271,
    "kcmp": 272,
    "finit_module": 273,
    "bpf": 280,
    "userfaultfd": 282,
    "kexec_file_load": 294,
}
_EVERYWHERE: Final[Mapping[str, int]] = {
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "clone3": 435,
    "pidfd_getfd": 438,
    "mount_setattr": 442,
    "quotactl_fd": 443,
    "open_tree_attr": 467,
}
"""Calls of newer kernels have one number on all machines."""


@dataclass(frozen=True)
class Machine:
    """A processor's calling convention: its audit number, its calls, and the bit that marks x32's."""

    audit: int
    calls: Mapping[str, int]
    x32_bit: int | None = None


MACHINES: Final[Mapping[str, Machine]] = {
    "x86_64": Machine(0xC000003E, {**_X86_64, **_EVERYWHERE}, x32_bit=0x40000000),
    "aarch64": Machine(0xC00000B7, {**_AARCH64, **_EVERYWHERE}),
}

# linux/filter.h, linux/seccomp.h; struct seccomp_data is nr, arch, instruction pointer, six arguments of 64 bits.
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER_AT, _ARCH_AT, _FIRST_ARGUMENT_AT = 0, 4, 16
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _refuse(number: int) -> bytes:
    return _step(_RETURN, _ERRNO | number)


def deny_filter(machine: str = platform.machine()) -> bytes:
    """Return the filter for a machine as `bwrap --seccomp` reads it: an array of `struct sock_filter`.

    Raises:
        KeyError: the machine's system calls are not known here.
    """
    its = MACHINES[machine]
    steps = [
        _step(_LOAD, _ARCH_AT),
        _step(_EQUAL, its.audit, if_true=1),
        _step(_RETURN, _KILL),
        _step(_LOAD, _NUMBER_AT),
    ]
    if its.x32_bit is not None:
        steps += [_step(_AT_LEAST, its.x32_bit, if_false=1), _refuse(errno.EPERM)]
    by_argument = {"clone": (0, _with_namespace()), "ioctl": (1, _with_request())}
    for name, number in its.calls.items():
        if name in by_argument:
            position, judgement = by_argument[name]
            steps += _judged(number, position, judgement)
        else:
            refusal = _refuse(errno.ENOSYS if name in ABSENT else errno.EPERM)
            steps += [_step(_EQUAL, number, if_false=1), refusal]
    return b"".join([*steps, _step(_RETURN, _ALLOW)])


def _judged(number: int, position: int, judgement: Sequence[bytes]) -> list[bytes]:
    """Return the steps for a call that its argument decides on; the kernel reads the lower half of those two alone."""
    argument = _step(_LOAD, _FIRST_ARGUMENT_AT + 8 * position)  # both machines are little-endian
    body = [argument, *judgement, _step(_RETURN, _ALLOW)]
    return [_step(_EQUAL, number, if_false=len(body)), *body]


def _with_namespace() -> list[bytes]:
    return [_step(_ANY_BIT, NAMESPACES, if_false=1), _refuse(errno.EPERM)]


def _with_request() -> list[bytes]:
    return [
        step for request in TERMINAL for step in (_step(_EQUAL, request, if_false=1), _refuse(errno.EPERM))
    ]
