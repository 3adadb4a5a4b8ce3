"""How a run ended and what became of its invocations, in words. One whose every invocation failed measured nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from app.domain.jobs import Outcome
from app.reports.words import Word, count
from app.services.list_runs import RunLine
from app.services.read_run import InvocationLine, RunDetail
from app.web import words
from app.web.sentences import reason_sentence

PARTLY_VOID = Word(
    "∅", "void in part", "unmeasured", "kept, but what other programs may have moved is not counted"
)

POSTED = Word("+", "posted", "listed", "it was measured elsewhere, and somebody posted it")


def outcome_word(run: RunLine) -> Word:
    """Return how a run is shown: where no invocation succeeded, as a benchmark that failed."""
    return words.OUTCOMES[Outcome.BENCH_FAILED if run.is_barren else run.outcome]


def outcome_words(lines: Iterable[RunLine]) -> dict[int, Word]:
    """Return how each run of a list is shown, by its id."""
    return {line.id: outcome_word(line) for line in lines}


def why_no_results(run: RunDetail) -> str:
    """Return why a run has brought no results."""
    if run.line.outcome is None:
        return "They are published when the run comes to its end."
    if run.line.outcome is not Outcome.OK:
        return (
            "None was published: results come of runs that came to their end. What was measured stands below."
        )
    if not run.invocations:
        return "Nothing was measured, so there is nothing to publish."
    if all(one.status != "ok" for one in run.invocations):
        return f"{_all(run.invocations)} failed, so there is nothing to publish."
    if all(one.is_void or one.status != "ok" for one in run.invocations):
        return f"{_all(run.invocations)} failed or are void, so there is nothing to publish."
    return (
        "None was published: no value counts, or the commit is a stranger's, and joins no history. "
        "What was measured stands below."
    )


def _all(invocations: Collection[InvocationLine]) -> str:
    return f"All {count(len(invocations), 'invocation')}" if len(invocations) > 1 else "The only invocation"


def is_partly_void(one: InvocationLine) -> bool:
    """Tell whether some values of an invocation do not count, and others may."""
    return one.void_reason is not None and not one.is_void


def invocation_word(one: InvocationLine) -> Word:
    """Return how an invocation is shown."""
    if one.is_void:
        return words.VOID
    return PARTLY_VOID if is_partly_void(one) and one.status == "ok" else words.INVOCATIONS[one.status]


def void_counts(invocations: Iterable[InvocationLine]) -> str:
    """Return how many invocations are void, behind their number: `, 1 void, 88 in part`; nothing where none is."""
    n_void, n_partly = _voids(invocations)
    told = [f", {n_void} void"] * bool(n_void) + [f", {n_partly} void in part"] * bool(n_partly)
    return "".join(told)


def voids_sentence(invocations: Collection[InvocationLine]) -> str:
    """Return how many invocations are void and what that means."""
    n_void, n_partly = _voids(invocations)
    are = "is" if n_void == 1 else "are"
    meaning = ": kept, but not counted, and measured again." if n_void else "."
    told = f"{n_void or 'None'} of {len(invocations)} {are if n_void else 'is'} void{meaning}"
    return f"{told} {_partly_sentence(n_partly, are_others=n_void > 0)}" if n_partly else told


def _partly_sentence(n: int, *, are_others: bool) -> str:
    alone, several = ("Another", f"{n} others") if are_others else ("One", str(n))
    which = f"{alone} is" if n == 1 else f"{several} are"
    return (
        f"{which} void in part: other programs kept the processors busy. What repeats exactly counts, as the peak of "
        "memory, and times of which it is known what the others took; the rest does not, and is measured again."
    )


def _voids(invocations: Iterable[InvocationLine]) -> tuple[int, int]:
    known = list(invocations)
    return sum(one.is_void for one in known), sum(map(is_partly_void, known))


def remark(one: InvocationLine) -> str:
    """Return what is to be said of an invocation: why it does not count, and how it ended; the exit status once."""
    void = reason_sentence(one.void_reason or "void") if one.is_void or one.void_reason else ""
    ended = reason_sentence(one.reason)
    status = f"exit status {one.exit_code}" if one.exit_code and "status" not in ended else ""
    return "; ".join(filter(None, (void, ", ".join(filter(None, (ended, status))))))


def device_time(spent: str, granted: str, *, is_over: bool) -> str:
    """Return how long devices were held, of how much there was; what is beyond that goes to the control at the end."""
    if not is_over:
        return f"{spent} of {granted}"
    return f"{spent}, the control workload at the end included; no pair begins after {granted}"
