"""NVIDIA's Jetson boards: one GPU, which shares its memory with the host.

Readings come from the kernel's files; what those do not tell comes from `tegrastats`, kept running, or from the service
of jetson-stats (`jtop`) where only that can be reached, as in a container. NVML tells little on these boards.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from workers.devices.base import KERNEL_FOLDERS, Device, DeviceTimer, Host, Lack
from workers.devices.cpu import host_id, memory_used_b
from workers.devices.jetson.board import (
    ROOT,
    Board,
    clock_policy,
    find_board,
    gpu_clocks,
    highest_clock_hz,
    locked_clock_hz,
    power_mode,
    said_mode,
)
from workers.devices.jetson.sensors import GPU_FILES, Sensors
from workers.devices.jetson.stats import JtopSource
from workers.devices.shared import HIDDEN, Holders, sees_others
from workers.devices.tools import Poller, Stream, ToolError, ask
from workers.host.fingerprint import read_text
from workers.readings.jetson import tegrastats
from workers.readings.record import Facts, Tick, facts, tick

TOOL = ("tegrastats", "--interval", "100")
NEEDED = ("util", "sm_clock_hz", "temp_c", "power_w")
"""Readings for which a tool is kept running where the kernel's files have none."""

TOOL_TELLS = (*NEEDED, "mem_util", "mem_clock_hz")
LACKS = {
    "power_w": Lack(
        "power_w",
        "no known set of power rails is in /sys/class/hwmon, and no tool tells it",
        "in a container, map /sys and tegrastats, or the socket of jetson-stats",
    ),
    "mem_clock_hz": Lack(
        "mem_clock_hz",
        "it is in debugfs, for root alone",
        "run the agent as root, with /sys/kernel/debug mounted",
    ),
    "over_current": Lack(
        "over_current",
        "the kernel counts no overloads of the supply (soctherm_oc)",
        "use JetPack 5 or later",
    ),
}
"""Why a reading may be missing, and what helps."""

OLDEST_S = 1.0
ASK_TIMEOUT_S = 5.0
DISPLAYS = (
    "Xorg",
    "Xwayland",
    "compiz",
    "gnome-shell",
    "gnome-session-c",
    "kwin_x11",
    "kwin_wayland",
    "lightdm-gtk-gre",
    "lxqt-panel",
    "mutter",
    "plasmashell",
    "unity-greeter",
    "weston",
)
"""Programs that draw the screen, as the kernel shortens their names. They have the GPU open at all times; what they do
is not compute."""


class JetsonDevice(Device):
    """The GPU of this board."""

    kind = "jetson"
    driver_files = (
        "/dev/nvhost*",
        "/dev/nvmap",
        "/dev/nvgpu/*/*",
        "/dev/nvsciipc",
        "/dev/dri/renderD*",
        *KERNEL_FOLDERS,
    )
    has_own_memory = False
    address = "cuda"
    root: ClassVar[Path] = ROOT
    """Where the kernel's files are."""

    def __init__(self, host: Host, board: Board) -> None:
        self._board = board
        super().__init__(
            host,
            hardware_id=f"jetson:{host_id(host.state_dir)}",
            device_class=board.device_class,
            model=board.model,
        )
        self._clocks = gpu_clocks(self.root)
        self._sensors = Sensors(self.root)
        self._tool = self._tool_for_the_rest()
        self._last_mode = self._power_mode()
        self._mode: Poller[str | None] = Poller(
            self._said_mode, period_s=ASK_TIMEOUT_S, oldest_s=4 * ASK_TIMEOUT_S
        )
        self._files = [self.root / name for name in GPU_FILES]
        self._holders = Holders(self._files, DISPLAYS)

    @classmethod
    def detect(cls, host: Host) -> list[Self]:
        """Return the GPU of a board with NVIDIA's driver; none elsewhere."""
        board = find_board(cls.root)
        return [cls(host, board)] if board is not None and cls._has_driver(board) else []

    @classmethod
    def _has_driver(cls, board: Board) -> bool:
        return board.l4t is not None or any((cls.root / name).exists() for name in GPU_FILES)

    @classmethod
    def absent(cls) -> Lack | None:
        """Return that this board lacks NVIDIA's driver; None on other machines, and where all is well."""
        board = find_board(cls.root)
        if board is None or cls._has_driver(board):
            return None
        why = f"{board.model} has neither /etc/nv_tegra_release nor a file of the GPU's driver in /dev"
        how = "install Jetson Linux; in a container, use NVIDIA's runtime (--runtime nvidia)"
        return Lack("Jetson GPU", why, how)

    def facts(self) -> Facts:
        """Return what the board tells; memory is the host's, which the GPU shares."""
        locked_hz = locked_clock_hz(self._clocks)
        return facts(
            index=0,
            uuid=self.hardware_id,
            serial=read_text(self.root / "proc/device-tree/serial-number"),
            model=self.model,
            architecture=self._board.chip,
            memory_b=self._board.memory_b,
            driver=read_text(self.root / "sys/module/nvgpu/version"),
            firmware=read_text(self.root / "sys/class/dmi/id/bios_version"),
            runtime=self._board.l4t,
            sm_clock_max_hz=highest_clock_hz(self._clocks),
            app_sm_clock_hz=locked_hz,
            clock_policy=clock_policy(self._clocks),
            power_mode=self._power_mode(),
        )

    def _power_mode(self) -> str | None:
        """Return the power mode's name, now; the tool is waited for where its files may not be read."""
        return power_mode(self.root) or self._said_mode()

    def _said_mode(self) -> str | None:
        try:
            return said_mode(ask(["nvpmodel", "-q"], timeout_s=ASK_TIMEOUT_S))
        except ToolError:
            return None

    def telemetry(self) -> Tick:
        """Return the readings of this moment; those of a tool are up to a second old."""
        told = self._sensors.readings()
        others = self._told_by_the_tool()
        told |= {name: value for name, value in others.items() if told.get(name) is None}
        return tick(
            **{**told, "t_ns": time.monotonic_ns(), "time": None},
            mem_used_b=memory_used_b(),
            mode=self._mode_text(),
            foreign_pids=self._holders.latest(self._files),
        )

    def _told_by_the_tool(self) -> dict[str, Any]:
        latest = self._tool.latest() if self._tool is not None else None
        return {name: latest[name] for name in TOOL_TELLS if name in latest} if latest else {}

    def _mode_text(self) -> str | None:
        """Return power mode and clock policy; a mode that cannot be read just now is the last one that was."""
        self._last_mode = power_mode(self.root) or self._mode.latest() or self._last_mode
        words = {"power mode": self._last_mode, "gpu clock": clock_policy(self._clocks)}
        return ", ".join(f"{what} {word}" for what, word in words.items() if word) or None

    def _tool_for_the_rest(self) -> Stream[Tick] | JtopSource | None:
        """Return a tool, not running yet, where the kernel's files do not tell everything."""
        told = self._sensors.readings()
        if all(told.get(name) is not None for name in NEEDED):
            return None
        if shutil.which(TOOL[0]) is not None:
            return Stream(TOOL, tegrastats.read_line, oldest_s=OLDEST_S)
        return JtopSource.open(OLDEST_S)

    def processes(self) -> list[int]:
        """Return other processes that have the GPU open, but for those that draw the screen."""
        return self._holders.now(self._files)

    def lacks(self) -> list[Lack]:
        """Return what cannot be read here, and how it could be."""
        told = self.telemetry()
        lacking = [lack for name, lack in LACKS.items() if told[name] is None]
        return lacking if sees_others() else [*lacking, HIDDEN]

    def close(self) -> None:
        """End what was started to read the board."""
        for source in (self._tool, self._mode, self._holders):
            if source is not None:
                source.close()

    def sync(self) -> None:
        """Return at once: the agent queues no work here; the harness waits for what the measured process queues."""

    def device_timer(self) -> DeviceTimer | None:
        """Return None: the GPU's clock is read in the measured process alone."""
        return None

    def flush_cache(self) -> bool:
        """Return False: nothing of the agent's runs on the GPU."""
        return False

    @classmethod
    def visible_env(cls, devices: Sequence[Device]) -> dict[str, str]:
        """Return the variable that shows CUDA the board's one GPU."""
        return {"CUDA_VISIBLE_DEVICES": "0"}
