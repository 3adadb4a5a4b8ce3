"""Control groups: found out, used and removed; against a folder that plays the kernel, and against the real one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from workers.programs import cgroups
from workers.programs.cgroups import Cgroup, Cgroups, own_group
from workers.programs.sandbox.bubblewrap import Limits


class FakeKernel:
    """Folders with the files that the kernel puts into a group; a group in `busy` takes so many kills to empty."""

    def __init__(self) -> None:
        self.can_kill = True
        self.can_join = True
        self.busy: dict[str, int] = {}
        self.killed: list[str] = []

    def make(self, folder: Path) -> None:
        folder.mkdir()
        if self.can_kill:
            (folder / "cgroup.kill").touch()
        if not self.can_join:
            (folder / "cgroup.procs").mkdir()  # nothing can be written there

    def remove(self, folder: Path) -> None:
        kill = folder / "cgroup.kill"
        self.killed += [folder.name] if kill.exists() and kill.read_text() else []
        if self.busy.get(folder.name, 0):
            self.busy[folder.name] -= 1
            raise OSError("Device or resource busy")
        shutil.rmtree(folder)


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> FakeKernel:
    its_kernel = FakeKernel()
    monkeypatch.setattr(cgroups, "make_folder", its_kernel.make)
    monkeypatch.setattr(cgroups, "remove_folder", its_kernel.remove)
    return its_kernel


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The folder that stands for the agent's own group."""
    folder = tmp_path / "agent.service"
    folder.mkdir()
    return folder


# --- against a folder ---


def test_each_program_gets_a_group_of_its_own_that_ends_with_it(
    kernel: FakeKernel, home: Path, tmp_path: Path
) -> None:
    with Cgroups(tmp_path / "data", home) as groups:
        with groups.new() as first, groups.new() as second:
            assert first is not None
            assert second is not None
            assert first.folder != second.folder
            assert first.folder.parent == second.folder.parent != home
            assert first.folder.parent.parent == home
        assert not first.folder.exists()
        assert not second.folder.exists()
    assert list(home.iterdir()) == []


def test_group_of_a_strangers_program_is_bounded_and_others_are_not(
    kernel: FakeKernel, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make(folder: Path) -> None:
        """Give a group the files of what its parent has switched on."""
        kernel.make(folder)
        control = folder.parent / "cgroup.subtree_control"
        if control.exists():
            (folder / "pids.max").write_text("max")
            (folder / "memory.max").write_text("max")

    monkeypatch.setattr(cgroups, "make_folder", make)
    with Cgroups(tmp_path / "data", home) as groups:
        with groups.new() as free:
            assert free is not None
            assert not (free.folder / "pids.max").exists()
        with groups.new(Limits(processes=40, memory_b=1_000)) as bounded:
            assert bounded is not None
            assert (bounded.folder / "pids.max").read_text() == "40"
            assert (bounded.folder / "memory.max").read_text() == "1000"
            control = bounded.folder.parent / "cgroup.subtree_control"
            assert control.read_text().startswith("+")
        assert control.read_text().startswith("-"), "so that nothing is counted for other programs"


def test_a_group_is_killed_before_it_is_removed_until_it_is_empty(
    kernel: FakeKernel, home: Path, tmp_path: Path
) -> None:
    with Cgroups(tmp_path / "data", home) as groups:
        with groups.new() as group:
            assert group is not None
            kernel.killed.clear()
            kernel.busy[group.folder.name] = 2
        assert kernel.killed == [group.folder.name] * 3
        assert not group.folder.exists()


def test_a_group_in_which_something_does_not_die_is_left_and_said(kernel: FakeKernel, tmp_path: Path) -> None:
    folder = tmp_path / "stuck"
    kernel.make(folder)
    kernel.busy["stuck"] = 10**9
    assert Cgroup(folder).remove(patience_s=0.03) is False
    assert folder.exists()


def test_groups_below_a_group_go_with_it(kernel: FakeKernel, tmp_path: Path) -> None:
    for folder in (tmp_path / "a", tmp_path / "a/b", tmp_path / "a/b/c"):
        kernel.make(folder)
    assert Cgroup(tmp_path / "a").remove()
    assert not (tmp_path / "a").exists()


def test_what_a_dead_agent_of_the_same_data_folder_left_is_killed_and_removed(
    kernel: FakeKernel, home: Path, tmp_path: Path
) -> None:
    dead, alive = Cgroups(tmp_path / "data", home), Cgroups(tmp_path / "other", home)
    with alive, alive.new() as kept:
        dead.__enter__()
        dead.new().__enter__()
        kernel.killed.clear()
        with Cgroups(tmp_path / "data", home):
            assert kernel.killed[0] == dead._name
        assert not (home / dead._name).exists()
        assert kept is not None
        assert kept.folder.exists()


@pytest.mark.parametrize("lack", ["can_kill", "can_join"])
def test_a_kernel_without_what_is_needed_gives_no_groups_and_keeps_no_trace(
    kernel: FakeKernel, home: Path, tmp_path: Path, lack: str
) -> None:
    setattr(kernel, lack, False)
    with Cgroups(tmp_path / "data", home) as groups, groups.new() as group:
        assert group is None
    assert list(home.iterdir()) == []


def test_a_home_that_is_not_there_gives_no_groups(tmp_path: Path) -> None:
    with Cgroups(tmp_path / "data", tmp_path / "missing") as groups, groups.new() as group:
        assert group is None


def test_a_group_that_cannot_be_made_is_done_without(
    kernel: FakeKernel, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(folder: Path) -> None:
        raise OSError(f"{folder}: Resource temporarily unavailable")

    with Cgroups(tmp_path / "data", home) as groups:
        monkeypatch.setattr(cgroups, "make_folder", refuse)
        with groups.new() as group:
            assert group is None


def test_there_are_no_groups_before_the_agent_lives(home: Path, tmp_path: Path) -> None:
    with Cgroups(tmp_path / "data", home).new() as group:
        assert group is None


# --- which group the agent is in ---

V2 = "30 24 0:26 {root} {mount} rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate"
V1 = "31 24 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu"


@pytest.mark.parametrize(
    ("mounts", "entries", "folder"),
    [
        (
            [V2.format(root="/", mount="/sys/fs/cgroup")],
            ["0::/user.slice/a b"],
            "/sys/fs/cgroup/user.slice/a b",
        ),
        ([V1, V2.format(root="/", mount="/u")], ["9:cpu:/x", "0::/"], "/u"),
        ([V2.format(root="/docker/1", mount="/c")], ["0::/docker/1/agent"], "/c/agent"),
        ([V2.format(root="/docker/1", mount="/c")], ["0::/elsewhere"], None),
        ([V2.format(root="/", mount="/a\\040group")], ["0::/x"], "/a group/x"),
        ([V1], ["0::/x"], None),
        ([V2.format(root="/", mount="/c")], ["9:cpu:/x"], None),
    ],
)
def test_the_agents_own_group_is_found_where_it_is_mounted(
    tmp_path: Path, mounts: list[str], entries: list[str], folder: str | None
) -> None:
    (tmp_path / "mountinfo").write_text("".join(f"{line}\n" for line in mounts))
    (tmp_path / "cgroup").write_text("".join(f"{line}\n" for line in entries))
    assert own_group(tmp_path) == (None if folder is None else Path(folder))


def test_a_system_without_proc_has_no_groups(tmp_path: Path) -> None:
    assert own_group(tmp_path / "missing") is None


# --- with the real kernel ---


def test_the_kernel_kills_all_that_is_in_a_group_and_takes_the_group_away(tmp_path: Path) -> None:
    with Cgroups(tmp_path / "data") as groups, groups.new() as group:
        if group is None:
            pytest.skip("this process may not make control groups, or the kernel has no cgroup.kill")
        join = f"echo 0 > '{group.folder}/cgroup.procs'; echo in; "
        with subprocess.Popen(
            ["sh", "-c", join + "exec sleep 600"], stdout=subprocess.PIPE, start_new_session=True
        ) as stranger:
            assert stranger.stdout is not None
            assert stranger.stdout.readline() == b"in\n"
            assert group.remove()
            assert stranger.wait(20) == -9
        assert not group.folder.exists()


AS_NOBODY = """
import os, sys
from pathlib import Path
from workers.programs.cgroups import Cgroups
os.setgid(65534)
os.setuid(65534)
with Cgroups(Path("/data"), Path(sys.argv[1])) as groups, groups.new() as group:
    print("none" if group is None else "group")
"""


def test_a_plain_user_gets_groups_exactly_where_they_were_delegated(tmp_path: Path) -> None:
    with Cgroups(tmp_path / "data") as groups, groups.new() as group:
        if group is None:
            pytest.skip("this process may not make control groups, or the kernel has no cgroup.kill")
        if os.geteuid() != 0:
            pytest.skip("only root can become another user")

        def groups_of_nobody() -> str:
            join = f"echo 0 > '{group.folder}/cgroup.procs'; exec \"$@\""
            command = ["sh", "-c", join, "sh", sys.executable, "-c", AS_NOBODY, str(group.folder)]
            done = subprocess.run(
                command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[3]
            )
            return done.stdout.strip()

        assert groups_of_nobody() == "none"
        for delegated in (group.folder, group.folder / "cgroup.procs"):
            shutil.chown(delegated, 65534, 65534)
        assert groups_of_nobody() == "group"
