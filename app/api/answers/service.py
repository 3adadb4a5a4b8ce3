"""Devices, bundles, measure requests and schedules."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from app.api.answers.one_series import TIME
from app.api.answers.shape import Answer, Listed, maybe, told


class SelfCheckAnswer(Answer):
    """The newest A/A measurement of a device; a token that is bound to a project is told less."""

    sigma_pair: float | None = told("Standard deviation of a pair's logarithm.", 0.004)
    mde: float | None = told("The smallest change that is seen in most cases.", 0.006)
    clocks_locked: bool | None = told("Whether its clocks were fixed.", True)
    exclusive: bool | None = told("Whether nobody else could use it.", True)
    measured_at: datetime = told("When.", TIME)
    run: int | None = maybe("Its run.", 12)
    verdicts: int | None = maybe("Verdicts that were reached.", 40)
    false_alarms: int | None = maybe("Those that said that something changed.", 0)


class EpochAnswer(Answer):
    """Since when a device is this very machine."""

    id: int = told("Its number.", 3)
    began_at: datetime = told("When it began.", TIME)
    machine_hash: str = told("Equal where the machine is.", "0b54…")
    changes: Any = told("What is new about the machine.", {"driver": ["565.57.01", "570.86.15"]})


class QuarantineAnswer(Answer):
    """Why a device measures nothing."""

    since: datetime = told("Since when.", TIME)
    why: str = told("Why.", "the control workload is 8 % slower than at its calibration")
    ends_by: Literal["calibration", "administrator"] = told("What ends it.", "calibration")


class MovedAnswer(Answer):
    """Why a processor is not what it was: it goes on measuring."""

    since: datetime = told("Since when.", TIME)
    why: str = told("What was seen.", "gemm_f64 of its control took 13 ms, 10 ms is usual (+30.0 %)")


class DeviceAnswer(Answer):
    """A device."""

    id: int = told("Its number.", 2)
    hardware_id: str = told("What its driver calls it.", "GPU-5d2f…")
    device_class: str = told("What it is.", "nvidia-h100-sxm5-80gb")
    kind: str = told("How it is spoken to.", "nvidia")
    model: str = told("Its maker's name for it.", "NVIDIA H100 80GB HBM3")
    health: str = told("`good`, `suspect` or `quarantined`.", "good")
    grade: str | None = told("How good a place to measure it is.", "A")
    self_check: SelfCheckAnswer | None = told("Its newest A/A.")
    epoch: EpochAnswer | None = told("Since when it is this machine.")
    quarantine: QuarantineAnswer | None = told("Why it measures nothing.")
    moved: MovedAnswer | None = told("Why it is not what it was, of a processor.")


class DeviceListAnswer(Listed):
    """Devices, by class."""

    devices: list[DeviceAnswer] = told("The devices.")


class ReleasedAnswer(Answer):
    """A device after its release."""

    id: int = told("Its number.", 2)
    hardware_id: str = told("What its driver calls it.", "GPU-5d2f…")
    health: str = told("How it is now.", "good")


class BundleAnswer(Answer):
    """A bundle that was uploaded."""

    digest: str = told("What a check's `source.location` names it by.", "9f86d081…")
    size_b: int = told("Its size [B].", 48_213)


class MeasureAnswer(Answer):
    """What came of a wish to have something measured."""

    request: int = told("Its number.", 17)
    state: Literal["waiting", "checked", "not_measured", "refused"] = told("What came of it.", "checked")
    check: int | None = told("The check to watch.", 5)
    message: str | None = told("Why there is none.", None)


class ProjectAnswer(Answer):
    """A project."""

    project: str = told("Its name.", "acme/vision")
    branch: str = told("The branch whose history counts.", "main")
    series: int = told("How many series it has.", 120)


class ProjectListAnswer(Answer):
    """Projects by name."""

    projects: list[ProjectAnswer] = told("The projects.")


class ScheduleAnswer(Answer):
    """A schedule of a project."""

    name: str = told("Its name.", "nightly")
    cron: str = told("When it is due, as cron writes it [UTC].", "0 2 * * *")
    due_at: datetime | None = told("When it is due next.", TIME)
    last_at: datetime | None = told("When it was due last.", TIME)
    outcome: str | None = told("What followed.", "checked")
    check: int | None = told("The check that followed.", 5)


class SchedulesAnswer(Answer):
    """The schedules of a project."""

    schedules: list[ScheduleAnswer] = told("The schedules.")


class BadgeAnswer(Answer):
    """A badge for a README."""

    image: str = told("Where it is.", "https://ratchet.example.org/badge/series/34.svg")
    page: str = told("Where it leads to.", "https://ratchet.example.org/series/34")
    markdown: str = told(
        "What to paste into a README.",
        "[![resize latency](https://ratchet.example.org/badge/series/34.svg)](https://ratchet.example.org/series/34)",
    )


class StatusAnswer(Answer):
    """That the process lives, or can serve."""

    status: str = told("`ok` or `ready`.", "ok")
