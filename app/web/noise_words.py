"""How noisy a series is and why it has its grade, and the smallest effect that is found in it, in words."""

from __future__ import annotations

from app.analysis.grades import LARGEST_SD, PAIRS
from app.analysis.history_noise import STEP_POINTS
from app.analysis.judge import GRADE_A_SD, GRADE_B_SD
from app.reports.quantities import ABSENT, percent, threshold
from app.reports.words import count
from app.services.weigh_noise import Noise


def noise_sentence(noise: Noise) -> str:
    """Return how noisy a series is and why it has its grade: `pairs differ by 0.8 % (12 runs), more than 0.5 %`."""
    if noise.told_by == "unknown":
        return f"{count(noise.n, 'point')}: too few to tell"
    if noise.told_by == "exact":
        return "repeats, and is compared exactly"
    of_pairs = noise.told_by == "pairs"
    what = "pairs of a check" if of_pairs else "neighbouring points"
    seen = count(noise.n, "run" if of_pairs else "point")
    return f"{what} differ by {percent(noise.sd)} ({seen}){_why(noise)}"


def _why(noise: Noise) -> str:
    if noise.grade == "A":
        return ", on a device of its own with locked clocks"
    if noise.devices.is_shared:
        return "; its devices have other work, too"
    limit = GRADE_A_SD if noise.grade == "B" else GRADE_B_SD
    if noise.sd > limit:
        return f", more than {threshold(limit)}"
    if noise.devices.has_locked_clocks is None:
        return "; whether its clocks are locked nobody knows"
    return "; its clocks are not locked"


def detectable_sentence(noise: Noise) -> str:
    """Return the smallest effect that is found, and in how much: `at least 2.4 %, in 10 new points`."""
    if noise.told_by == "unknown":
        return ABSENT
    if noise.told_by == "exact":
        return "any change beyond its tolerance"
    if noise.told_by == "history":
        return f"at least {percent(noise.smallest)}, in {STEP_POINTS} new points"
    least = (
        f"at least {threshold(noise.smallest)}" if noise.smallest else f"over {threshold(max(LARGEST_SD))}"
    )
    return f"{least} beyond the minimum effect, in {PAIRS} pairs"
