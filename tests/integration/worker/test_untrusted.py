"""A job with a stranger's head, carried out by a real agent: what its code must not do fails, and it is measured."""

from __future__ import annotations

import json
import socket
import textwrap
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.factories.sandbox import isolation, needs_sandbox
from tests.integration.worker.bench import ADD, Repository, agent_on, job, make_agent, simulated
from tests.integration.worker.service_double import ServiceDouble
from workers.host.processes import all_pids
from workers.programs.sandbox.bubblewrap import Limits
from workers.programs.sandbox.probe import Isolation

pytestmark = needs_sandbox

PLAIN = {"benchmarks/bench_add.py": ADD}
SECRET = "ratchet_0123_the-agents-own-token"

HOSTILE = """
import ctypes, errno, json, os, socket, sys

LIBC = ctypes.CDLL(None, use_errno=True)

def tried(attempt, *arguments, **named):
    try:
        return [attempt(*arguments, **named)]
    except Exception as error:
        return errno.errorcode.get(getattr(error, "errno", None) or 0, repr(error))

def called(name, *arguments):
    if getattr(LIBC, name)(*arguments) < 0:
        raise OSError(ctypes.get_errno(), name)
    return "done"

def write(path):  # so that nothing is left even where it may
    its = os.O_TMPFILE if os.path.isdir(path) else os.O_APPEND
    os.close(os.open(path, its | os.O_WRONLY))

def read(path):
    with open(path) as file:
        return file.read()

def opened(number):
    return tried(os.readlink, "/proc/self/fd/" + number)

def attack():
{attack}

def run(ctx):
    raise RuntimeError("FOUND" + json.dumps(attack()) + "END")

def simulated_s(ctx):
    return 0.001
"""


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path / "a repository")


def untrusted(repository, base, head, **suite):
    fields = {"sandbox": 2, "benchmarks_from": suite.pop("benchmarks_from", "head")}
    return job(repository, base, head, **suite).model_copy(update=fields)


def carried_out(service, folder, **settings):
    agent_on(service.client(), folder, simulated(folder, SIMULATED), **settings).run()
    return service


SIMULATED = {"class": "sim-test", "hardware_id": "sim-test-0", "noise_sd": 0.01}


def attacked(repository, folder, attack, *, base=PLAIN, **settings):
    """Return what a stranger's benchmark got, in each arm."""
    source = HOSTILE.format(attack=textwrap.indent(textwrap.dedent(attack), "    "))
    head = repository.commit({"benchmarks/bench_evil.py": source})
    service = ServiceDouble(untrusted(repository, repository.commit(base), head))
    carried_out(service, folder, **settings)
    return {arm: found(service, arm) for arm in ("base", "head")}


def found(service, arm):
    (case,) = service.arm(arm).cases
    return json.loads(case.failure.partition("FOUND")[2].partition("END")[0].replace("\\'", "'"))


def test_agent_tells_its_level_and_measures_both_arms_in_the_sandbox(repository, tmp_path):
    base, head = repository.commit(PLAIN), repository.commit(PLAIN | {"x": "y"})
    service = ServiceDouble(untrusted(repository, base, head))
    make_agent(service, tmp_path).run()
    assert service.registered[0].sandbox == 2
    assert service.finish.outcome == "ok", service.finish
    assert {(i.arm, i.status) for i in service.invocations} == {("base", "ok"), ("head", "ok")}
    assert {case.status for case in service.measured()} == {"ok"}


def test_agent_without_a_sandbox_measures_nothing_of_it(repository, tmp_path, monkeypatch):
    monkeypatch.setattr("workers.agent.probe", lambda *_: Isolation(0, reason="the kernel refuses"))
    commit = repository.commit(PLAIN)
    service = carried_out(ServiceDouble(untrusted(repository, commit, commit)), tmp_path)
    assert service.registered[0].sandbox == 0
    assert (service.finish.outcome, service.finish.reason) == ("infra_failed", "no_sandbox")
    assert "the kernel refuses" in service.finish.message
    assert service.prepared is None


def test_stranger_finds_neither_token_nor_environment_nor_files_of_the_agent(
    repository, tmp_path, monkeypatch
):
    monkeypatch.setenv("RATCHET_TOKEN", SECRET)
    monkeypatch.setenv("GITHUB_TOKEN", SECRET)
    monkeypatch.setenv("PIP_INDEX_URL", f"https://user:{SECRET}@packages.example.org/simple")
    token = tmp_path / "token"
    token.write_text(SECRET)
    attack = f"""
    return {{
        "token": tried(read, {str(token)!r}),
        "lock": tried(read, {str(tmp_path / "data/agent.lock")!r}),
        "data": sorted(os.listdir({str(tmp_path / "data")!r})),
        "work": sorted(os.listdir({str(tmp_path / "data/work/7/arms")!r})),
        "environment": [value for value in os.environ.values() if {SECRET!r} in value],
        "shadow": tried(read, "/etc/shadow"),
        "parents": tried(read, f"/proc/{{os.getppid()}}/environ"),
    }}
    """
    got = attacked(repository, tmp_path, attack, token_file=token)
    assert got["head"] == {
        "token": "ENOENT",
        "lock": "ENOENT",
        "data": ["environments", "work"],
        "work": ["head"],
        "environment": [],
        "shadow": "ENOENT",
        "parents": got["head"]["parents"],
    }
    assert SECRET not in str(got)
    assert got["base"]["work"] == ["base"]


def test_stranger_reaches_nobody(repository, tmp_path):
    with socket.socket() as listener, socket.socket(socket.AF_UNIX) as abstract:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        abstract.bind("\0ratchet-test")
        abstract.listen()
        attack = f"""
        def connect(family, address):
            with socket.socket(family) as its:
                its.settimeout(5)
                its.connect(address)
        return {{
            "loopback": tried(connect, socket.AF_INET, ("127.0.0.1", {listener.getsockname()[1]})),
            "abstract": tried(connect, socket.AF_UNIX, "\\0ratchet-test"),
            "outwards": tried(connect, socket.AF_INET, ("192.0.2.1", 80)),
            "interfaces": [name for _, name in socket.if_nameindex()],
        }}
        """
        got = attacked(repository, tmp_path, attack)
    assert got["head"] == {
        "loopback": "ECONNREFUSED",
        "abstract": "ECONNREFUSED",
        "outwards": "ENETUNREACH",
        "interfaces": ["lo"],
    }


def test_stranger_writes_nowhere_but_in_its_own_work_tree_and_home(repository, tmp_path):
    plain = repository.commit(PLAIN)
    mine = carried_out(ServiceDouble(job(repository, plain, plain)), tmp_path)
    (environment,) = (tmp_path / "data/environments").iterdir()
    packages = tmp_path / "data/packages"
    packages.mkdir(exist_ok=True)
    attack = f"""
    base = {str(tmp_path / "data/work/7/arms/base")!r}
    paths = ["/", "/usr", "/etc", "/etc/passwd", "/dev", "/sys", "/proc/sys/kernel/core_pattern", sys.base_prefix]
    paths += [{str(packages)!r}, {str(environment)!r}, sys.prefix]
    paths += [{str(environment / "pyvenv.cfg")!r}, os.getcwd() + "/.git", os.getcwd() + "/.git/config", base]
    own = [os.getcwd(), os.environ["HOME"], "/tmp", "/dev/shm"]
    return {{
        "written": [path for path in paths if isinstance(tried(write, path), list)],
        "own": [path for path in own if not isinstance(tried(write, path), list)],
        "arm": os.path.basename(os.getcwd()),
    }}
    """
    got = attacked(repository, tmp_path, attack)
    assert mine.finish.outcome == "ok"
    assert got["head"] == {"written": [], "own": [], "arm": "head"}
    # Base's arm runs the stranger's benchmark file, too: base's work tree is its own then, and nothing else.
    assert got["base"] == {"written": [f"{tmp_path}/data/work/7/arms/base"], "own": [], "arm": "base"}


def test_stranger_sees_no_processes_and_gains_nothing(repository, tmp_path):
    attack = """
    status = dict(line.split(":\\t", 1) for line in read("/proc/self/status").splitlines() if ":\\t" in line)
    pids = [name for name in os.listdir("/proc") if name.isdigit()]
    parent, child = os.getppid(), os.fork()
    if child == 0:
        import time
        time.sleep(30)
    traced = tried(called, "ptrace", 16, child, 0, 0)
    os.kill(child, 9)
    return {
        "commands": sorted({read(f"/proc/{pid}/comm").strip() for pid in pids}),
        "few": len(pids) < 8,
        "killed": tried(os.kill, 1, 9),
        "unshare": [tried(called, "unshare", flag) for flag in (0x10000000, 0x20000, 0x40000000)],
        "setns": tried(called, "setns", 0, 0),
        "mount": tried(called, "mount", b"none", b"/tmp", b"tmpfs", 0, None),
        "traced": traced,
        "keys": tried(called, "syscall", 250, 0, -3, 0),
        "setuid": tried(os.setuid, 0),
        "privileges": [status["CapEff"], status["CapPrm"], status["NoNewPrivs"], status["Seccomp"]],
        "locks": [file for file in map(opened, os.listdir("/proc/self/fd")) if "lock" in str(file)],
    }
    """
    got = attacked(repository, tmp_path, attack)["head"]
    assert got["few"]
    assert "python" in str(got["commands"])
    assert set(got["unshare"]) == {"EPERM"}
    refused = [got[name] for name in ("setns", "mount", "traced", "keys")]
    assert refused == ["EPERM"] * 4
    assert got["privileges"] == ["0" * 16, "0" * 16, "1", "2"]
    assert got["locks"] == []


def test_daemon_of_a_stranger_ends_with_its_invocation(repository, tmp_path):
    mark = f"daemon-{time.monotonic_ns()}"
    attack = f"""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.closerange(0, 64)
            os.execv("/bin/sh", ["sh", "-c", "sleep 300; : {mark}"])
        os._exit(0)
    return {{}}
    """
    assert attacked(repository, tmp_path, attack) == {"base": {}, "head": {}}
    assert [pid for pid in all_pids() if mark in _command(pid)] == []


def _command(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def test_fork_bomb_meets_a_bound(repository, tmp_path, monkeypatch):
    small = replace(isolation().sandbox, limits=replace(Limits(), processes=40))
    monkeypatch.setattr("workers.agent.probe", lambda *_: Isolation(2, small))
    attack = """
    children = []
    while len(children) < 1000:
        child = tried(os.fork)
        if child == [0]:
            import signal
            signal.pause()
        if not isinstance(child, list):
            return {"ended": child, "children": len(children) < 40}
        children += child
    return {"children": len(children)}
    """
    got = attacked(repository, tmp_path, attack)
    assert got["head"] == {"ended": "EAGAIN", "children": True}


def test_files_that_a_stranger_leaves_lead_the_agent_nowhere(repository, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    evil = f"""
import os

def run(ctx):
    home = os.environ["HOME"]
    for name in ("request.json", "result.jsonl"):
        os.path.lexists(f"{{home}}/{{name}}") and os.unlink(f"{{home}}/{{name}}")
        os.symlink({str(victim)!r}, f"{{home}}/{{name}}")
    os._exit(7)
"""
    other = evil.replace(f"os.symlink({str(victim)!r}, ", "os.mkfifo(")
    head = repository.commit({"benchmarks/bench_a.py": evil, "benchmarks/bench_b.py": other, **PLAIN})
    service = ServiceDouble(untrusted(repository, repository.commit(PLAIN), head))
    carried_out(service, tmp_path)
    assert victim.read_text() == "precious"
    failures = {case.benchmark: case.failure for case in service.arm("head").cases}
    assert failures["add"] is None
    assert set(failures) == {"a", "b", "add"}
    assert all("exit status 7" in (failures[name] or "") for name in ("a", "b"))


@pytest.mark.parametrize("trap", ["link", "folder", "pipe"])
def test_traps_in_a_strangers_work_tree_do_not_lead_bases_files_elsewhere(repository, tmp_path, trap):
    """With base's benchmark files, those are put into head's work tree after head's own code has run there."""
    victim = tmp_path / "victim"
    victim.mkdir(mode=0o777)
    (victim / "bench_new.py").write_text("precious")
    (victim / "bench_add.py").write_text("precious")
    traps = {
        "link": f"os.symlink({str(victim / 'bench_new.py')!r}, 'benchmarks/bench_new.py')",
        "folder": f"os.rename('benchmarks', 'was'); os.symlink({str(victim)!r}, 'benchmarks')",
        "pipe": "os.mkfifo('benchmarks/bench_new.py')",
    }
    evil = {"benchmarks/bench_add.py": f"import os\n{traps[trap]}\n\n\n{ADD}"}
    base = repository.commit(PLAIN | {"benchmarks/bench_new.py": ADD})
    head = repository.commit(evil)
    service = ServiceDouble(untrusted(repository, base, head, benchmarks_from="base"))
    carried_out(service, tmp_path)
    assert {path.name: path.read_text() for path in victim.iterdir()} == {
        "bench_new.py": "precious",
        "bench_add.py": "precious",
    }
    assert service.finish.outcome == "ok", service.finish
    assert {case.benchmark for case in service.measured("head")} == {"add", "new"}


def test_folders_of_a_stranger_deeper_than_python_goes_are_removed(repository, tmp_path):
    attack = """
    for _ in range(3000):
        os.mkdir("d")
        os.chdir("d")
    return {}
    """
    assert attacked(repository, tmp_path, attack)["head"] == {}
    assert not (tmp_path / "data/work/7").exists()


@pytest.mark.parametrize("output", [None, "out/of/this/result.jsonl"])
def test_suite_of_a_command_runs_in_the_sandbox(repository, tmp_path, output):
    command = (
        'cat /proc/net/dev | wc -l > lines; echo "{\\"metric\\": \\"lines\\", \\"value\\": $(cat lines), '
        '\\"unit\\": \\"count\\", \\"better\\": \\"lower\\"}" >> "$RATCHET_RESULT_FILE"; test ! -e '
        f"'{tmp_path / 'data/agent.lock'}'"
    )
    commit = repository.commit({"a": "b"})
    service = ServiceDouble(untrusted(repository, commit, commit, command=command, output=output))
    carried_out(service, tmp_path)
    assert service.finish.outcome == "ok", service.finish
    assert {value.value for case in service.measured() for value in case.values} == {3.0}
