"""Measures benchmark files inside the environment of the commit under test.

Started by its path in a fresh process, `python harness.py < request.json`, with any Python from 3.8 on. One
file, standard library only, because nothing of ours is installed where it runs. It neither plans nor judges:
the request says which cases, in which order and how often, and what the numbers mean is decided elsewhere.

The request is one JSON object::

    {"mode": "list" | "measure", "root": "/abs/checkout", "files": ["benchmarks/bench_x.py"], "device": "cpu",
     "devices": every device of the job, `device` first (left out: that one alone),
     "cases": [{"benchmark", "params", "seed", "k", "n_warmup", "n_batches", "t_case_s", "least_s"}],
     "result": "/abs/file", "spawned_ns": time.time_ns() just before this process was started,
     "simulate": null | {"arm", "pair", "devices": [{"noise_sd", "drift", "seed",
                         "faults": [{"kind": "crash" | "hang" | "slow", "factor", "arm", "pair"}]}]}}

`k` and `n_warmup` are null in the first block, where they are found out, and numbers afterwards; `least_s` is how long
a case is timed at least, whatever the other limits say (a counter of energy wants seconds). The result
file gets one JSON object a line, each written as soon as it is known: a `header`, then `case` and (when
listing) `failure` lines, then `end`. Standard output and error belong to the benchmarks.
"""

from __future__ import annotations

import faulthandler
import gc
import hashlib
import importlib
import importlib.util
import json
import math
import os
import random
import resource
import signal
import sys
import time
import traceback
from array import array
from itertools import repeat
from operator import sub
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

Record = Dict[str, Any]
Params = Dict[str, Any]
Run = Callable[[Any], Any]
Batch = Callable[[], int]
"""Runs one batch and returns how long it took [ns]."""

OWN_PATH = os.path.realpath(__file__)

MAX_CASES = 1000
MAX_BATCHES = 500_000  # of a case: the ledger has room for them
MAX_KEPT_BATCHES = 5000  # of a case, evenly; values are made of all
MAX_OWN_METRICS = 100
MAX_KEPT_REPORTS = 10_000
MAX_LOG_BYTES = 8192
MAX_REASON = 500
FEW_BATCHES = 10

RESOLUTIONS_PER_BATCH = 1000
SIMULATED_RESOLUTION_NS = 1000
MIN_WARMUP = 5
MIN_WINDOW = 20
MAX_WINDOWS = 10
MAX_WEIGHED = 1000  # batch times of a window, evenly
MAX_WARMUP_S = 60.0
SETTLED_SHARE = 0.005
CHECKED_BATCHES = 3
MAX_LATE_SHARE = 0.05
MAX_OTHER_SHARE = 0.01
MAX_OTHER_NS = 20_000  # two clocks are read, one after the other
MAX_WAIT_SHARE = 0.01
LOOK_EVERY_NS = 2_000_000
RUSAGE_THREAD = getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF)
SPIKE_SDS = 10
MEDIAN_TO_MEAN_SE = 1.2533  # sqrt(pi/2): standard error of a median over that of a mean, normal data
MAD_TO_SD = 1.4826  # 1/Phi^-1(3/4): standard deviation over median absolute deviation, normal data

CPU = "cpu"
"""The address of a job's device that is no accelerator."""
RATES = {"samples": "samples_per_s", "tokens": "tokens_per_s"}
COUNTABLE = ("samples", "tokens", "flop", "bytes")
"""What `units` may count; metrics of the last two are made where the device's peak figures are known."""
DESCRIBING = ("dtype", "scaling")
"""What `units` may say besides."""
SCALING = ("mode", "n", "n0", "base_s")
"""How a case scales: strong or weak, its devices, those of the base, and the base's time of a step [s]."""
MEASURED_ANYWAY = (
    "latency_p50",
    "latency_p90",
    "latency_p99",
    "peak_memory",
    "peak_device_memory",
    *RATES.values(),
)
CRASH_STATUS = 70


# --- errors -------------------------------------------------------------------------------------------------


class CaseError(Exception):
    """A case, or a whole file, that cannot be measured: its status, the reason in a line, the log's tail."""

    def __init__(self, reason: str, log_tail: str = "", status: str = "failed") -> None:
        super().__init__(reason)
        self.fields = {"status": status, "reason": _storable(reason)[:MAX_REASON], "log_tail": log_tail}


class InvalidValueError(ValueError):
    """A number that a benchmark gave and that is none; the message names it."""


class during:  # noqa: N801  # reads as a phrase: `with during("setup"):`
    """Turns what the measured code raises, `SystemExit` included, into a `CaseError` that names the stage."""

    def __init__(self, stage: str) -> None:
        self._stage = stage

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: Any, error: Optional[BaseException], _traceback: Any) -> None:
        if error is None or isinstance(error, CaseError):
            return
        if isinstance(error, InvalidValueError):
            raise CaseError(f"invalid_value: {error}", _log_tail(error)) from None
        summary = _summary(error)
        status = "oom" if _is_out_of_memory(error, summary) else "failed"
        raise CaseError(f"{self._stage} raised {summary}", _log_tail(error), status) from None


def _is_out_of_memory(error: BaseException, summary: str) -> bool:
    by_name = type(error).__name__ == "OutOfMemoryError"  # torch's, on an accelerator
    return isinstance(error, MemoryError) or by_name or "RESOURCE_EXHAUSTED" in summary  # XLA's


def _summary(error: BaseException) -> str:
    try:
        lines = traceback.format_exception_only(type(error), error)
    except Exception:  # an error that the measured code made up, such as a SyntaxError without text
        return type(error).__name__
    return " ".join(lines[-1].split())


def _log_tail(error: BaseException) -> str:
    """Return the end of the traceback, which begins at the first frame that is not ours."""
    frames = error.__traceback__
    while frames is not None and _is_machinery(frames.tb_frame.f_code.co_filename):
        frames = frames.tb_next
    try:
        text = "".join(traceback.format_exception(type(error), error, frames))
    except Exception:  # as in _summary; and memory may still be short
        text = type(error).__name__
    return _storable(text).encode()[-MAX_LOG_BYTES:].decode(errors="ignore")


def _is_machinery(filename: str) -> bool:
    return os.path.realpath(filename) == OWN_PATH or filename.startswith("<frozen importlib")


def _storable(text: str) -> str:
    """Return `text` without what neither JSON readers nor databases take: lone surrogates and NUL."""
    return text.encode(errors="replace").decode().replace("\x00", "\ufffd")


def finite_number(value: Any, what: str) -> float:
    """Return `value` as a float.

    Raises:
        InvalidValueError: it is no number (a bool is none), or not finite; the message begins with `what`.
    """
    is_numeric = hasattr(type(value), "__float__") or hasattr(type(value), "__index__")
    if isinstance(value, bool) or not is_numeric:
        raise InvalidValueError(f"{what} is no number but of type {type(value).__name__}")
    try:
        number = float(value)
    except Exception as error:
        raise InvalidValueError(f"{what} is no number: {_summary(error)}") from None
    if not math.isfinite(number):
        raise InvalidValueError(f"{what} is {number}")
    return number


# --- result file --------------------------------------------------------------------------------------------


class ResultFile:
    """JSON lines on disk, each complete before the next step, whatever the measured code does.

    The descriptor is checked before each use: measured code may have closed it, and opened a file of its own
    under the same number. A process that the measured code forked and let return into our loop ends at its
    first line, since two processes would write the same cases.
    """

    def __init__(self, path: str) -> None:
        self._path = os.path.abspath(path)
        self._owner = os.getpid()
        self._open()

    def write(self, record: Record) -> None:
        """Append one line.

        Raises:
            OSError: it cannot be written, as when the disk is full.
        """
        if os.getpid() != self._owner:
            os._exit(0)
        if not self._is_ours():
            self._open()
        data = json.dumps(record, allow_nan=False).encode() + b"\n"
        while data:
            data = data[os.write(self._fd, data) :]

    def _open(self) -> None:
        self._fd = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self._identity = os.fstat(self._fd)

    def _is_ours(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._fd), self._identity)
        except OSError:
            return False


# --- statistics ---------------------------------------------------------------------------------------------


def quantile(values: Sequence[float], q: float) -> float:
    """Return the `q`-quantile, linear between order statistics; `values` must not be empty."""
    ordered = sorted(values)
    position = q * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def median(values: Sequence[float]) -> float:
    """Return the middle value, or the mean of the two middle ones."""
    return quantile(values, 0.5)


def median_deviation(values: Sequence[float], center: float) -> float:
    """Return the median absolute deviation from `center`."""
    return median([abs(value - center) for value in values])


def is_settled(window: Sequence[float]) -> bool:
    """Tell whether the two halves of `window`, batch times in time order, have one median up to noise.

    Noise is two standard errors of a half's median, from the window's median absolute deviation, and at least
    0.5 % of its median. Of a long window evenly spaced times stand for all, so that sorting them needs little memory.
    """
    window = window[:: -(-len(window) // MAX_WEIGHED)]
    half = len(window) // 2
    center = median(window)
    shift = abs(median(window[:half]) - median(window[half:]))
    half_error = MEDIAN_TO_MEAN_SE * MAD_TO_SD * median_deviation(window, center) / math.sqrt(half)
    return shift <= max(SETTLED_SHARE * center, 2 * half_error)


def spikes(values: Sequence[float]) -> List[int]:
    """Return the indices of values further than ten robust standard deviations from the median.

    Where over half of the values are equal, 1 % of the median stands for the median absolute deviation.
    """
    center = median(values)
    deviation = median_deviation(values, center) or 0.01 * center
    limit = SPIKE_SDS * MAD_TO_SD * deviation
    return [index for index, value in enumerate(values) if abs(value - center) > limit]


# --- benchmark files ----------------------------------------------------------------------------------------


class Benchmark(NamedTuple):
    """A named workload: `owner` is the module or the class that has `run` and its companions."""

    name: str
    owner: Any
    cases: Dict[str, Params]
    """By canonical text, in declared order."""

    def instance(self) -> Any:
        """Return what to call the members of: the module, or a new object of the class."""
        return self.owner() if isinstance(self.owner, type) else self.owner


class Problem(NamedTuple):
    """Why one benchmark, or its whole file (`benchmark` None), cannot be used."""

    benchmark: Optional[str]
    fields: Record


class LoadedFile(NamedTuple):
    """What importing one benchmark file gave."""

    path: str
    name: str
    digest: str
    benchmarks: List[Benchmark]
    problems: List[Problem]


def load_files(root: str, paths: Sequence[str]) -> Iterator[LoadedFile]:
    """Import the files, one after another; what is wrong with one is kept as its problems."""
    firsts: Dict[str, str] = {}
    for path in paths:
        yield _load_file(root, path, firsts.setdefault(short_name(path), path))


def short_name(path: str) -> str:
    """Return NAME of `bench_NAME.py`."""
    return os.path.splitext(os.path.basename(path))[0][len("bench_") :]


def _load_file(root: str, path: str, first: str) -> LoadedFile:
    loaded = LoadedFile(path, short_name(path), "", [], [])
    try:
        _check_name(path, first)
        with during("import"):
            with open(os.path.join(root, path), "rb") as file:
                loaded = loaded._replace(digest=hashlib.sha256(file.read()).hexdigest())
            owners = _find_owners(_import_file(os.path.join(root, path)), loaded.name)
        for name, owner in owners:
            _add_benchmark(loaded, name, owner)
    except CaseError as error:
        loaded.problems.append(Problem(None, error.fields))
    return loaded


def _check_name(path: str, first: str) -> None:
    base, name = os.path.basename(path), short_name(path)
    if base != f"bench_{name}.py" or not name or "." in name:
        raise CaseError(f"{path}: a benchmark file is named bench_NAME.py, with no further dot")
    if first != path:
        raise CaseError(f"{path}: the name {name!r} is taken by {first}; rename one of the two")


def _import_file(path: str) -> Any:
    folder, base = os.path.split(path)
    if folder not in sys.path:
        sys.path.append(folder)
    name = os.path.splitext(base)[0]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # so that what it defines can be pickled
    spec.loader.exec_module(module)
    return module


def _find_owners(module: Any, name: str) -> List[Tuple[str, Any]]:
    """Return name and owner of each benchmark: the module's own `run` first, then its own classes."""
    classes = [
        (f"{name}.{attribute}", value)
        for attribute, value in vars(module).items()
        if attribute.startswith("Bench") and isinstance(value, type) and value.__module__ == module.__name__
    ]
    run = getattr(module, "run", None)
    # Beside classes, a `run` from elsewhere (subprocess.run, say) is a helper and no benchmark.
    is_benchmark = run is not None and (not classes or getattr(run, "__module__", None) == module.__name__)
    owners = [(name, module), *classes] if is_benchmark else classes
    if not owners:
        raise CaseError(f"bench_{name}.py: has neither run(ctx) nor a class whose name begins with Bench")
    return owners


def _add_benchmark(loaded: LoadedFile, name: str, owner: Any) -> None:
    try:
        with during("reading its members"):
            _check_members(name, owner)
            cases = expand_params(getattr(owner, "params", {}), name)
    except CaseError as error:
        loaded.problems.append(Problem(name, error.fields))
    else:
        loaded.benchmarks.append(Benchmark(name, owner, {_canonical(case): case for case in cases}))


def _check_members(name: str, owner: Any) -> None:
    run = getattr(owner, "run", None)
    if not callable(run):
        raise CaseError(f"{name}: has no function run(ctx); begin a base class's name with an underscore")
    generator, coroutine, async_generator = 0x20, 0x80, 0x200  # inspect.CO_*, without its slow import
    if getattr(getattr(run, "__code__", None), "co_flags", 0) & (generator | coroutine | async_generator):
        raise CaseError(f"{name}: run is a coroutine or generator function; calling it would do no work")
    for member in ("setup", "teardown", "units", "simulated_s"):
        if hasattr(owner, member) and not callable(getattr(owner, member)):
            raise CaseError(f"{name}: {member} must be a function of ctx")


def expand_params(axes: Any, name: str) -> List[Params]:
    """Return the cases of the benchmark `name`: the product of the axes, the last one fastest.

    Raises:
        CaseError: `axes` is no dict of lists of distinct scalars, or gives more than 1000 cases.
    """
    if not isinstance(axes, dict):
        raise CaseError(f"{name}: params must be a dict of lists, not {type(axes).__name__}")
    for axis, values in axes.items():
        _check_axis(axis, values, name)
    total = math.prod(len(values) for values in axes.values())
    if total > MAX_CASES:
        raise CaseError(f"{name}: params give {total} cases; at most {MAX_CASES} are allowed")
    cases: List[Params] = [{}]
    for axis, values in axes.items():
        cases = [{**case, axis: value} for case in cases for value in values]
    return cases


def _check_axis(axis: Any, values: Any, name: str) -> None:
    if not isinstance(axis, str) or not axis or axis != _storable(axis):
        raise CaseError(f"{name}: params has the key {axis!r}; keys must be text and not empty")
    where = f"{name}: params[{axis!r}]"
    if not isinstance(values, (list, tuple)):
        raise CaseError(f"{where} must be a list, not {type(values).__name__}")
    if not values:
        raise CaseError(f"{where} is empty; give it a value or remove it")
    for value in values:
        _check_scalar(value, where)
    texts = [_canonical(value) for value in values]
    twice = next((text for index, text in enumerate(texts) if text in texts[:index]), None)
    if twice is not None:
        raise CaseError(f"{where} has {twice} twice")


def _check_scalar(value: Any, where: str) -> None:
    if value is not None and type(value) not in (str, int, float, bool):
        raise CaseError(f"{where} has a {type(value).__name__}; values are text, numbers, booleans or None")
    if isinstance(value, float) and not math.isfinite(value):
        raise CaseError(f"{where} has {value}; numbers must be finite")
    if isinstance(value, str) and value != _storable(value):
        raise CaseError(f"{where} has {value!r}, which is no valid UTF-8 text or has a NUL")


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


# --- what a benchmark is given ------------------------------------------------------------------------------


class _Reported:
    """The values of one own metric, thinned evenly when there are many."""

    def __init__(self, unit: str, better: str) -> None:
        self.unit = unit
        self.better = better
        self.values = array("d")
        self._stride = 1
        self._seen = 0

    def add(self, value: float) -> None:
        if self._seen % self._stride == 0:
            self.values.append(value)
            if len(self.values) == MAX_KEPT_REPORTS:
                self.values = self.values[::2]
                self._stride *= 2
        self._seen += 1


class Reports:
    """The metrics that a case adds by `ctx.report`."""

    def __init__(self) -> None:
        self._metrics: Dict[str, _Reported] = {}
        self._refused: Optional[InvalidValueError] = None

    def add(self, metric: str, value: float, unit: str, better: str = "lower") -> None:
        """Report one value of a metric of your own; the case's value is the median over the timed calls.

        Args:
            metric: its name, 1 to 255 characters, and none that is measured anyway.
            value: any finite number.
            unit: of `value`, as in "s", "MB", "tokens/s" or "1".
            better: "lower" or "higher".

        Raises:
            InvalidValueError: any of these is not so. The case then counts as failed, even if this is caught.
        """
        try:
            number = finite_number(value, f"reported metric {metric!r}")
            if metric not in self._metrics:
                self._declare(metric, unit, better)
            reported = self._metrics[metric]
            if (reported.unit, reported.better) != (unit, better):
                raise InvalidValueError(f"reported metric {metric!r} changes its unit or direction")
            reported.add(number)
        except InvalidValueError as error:
            self._refused = self._refused or error
            raise

    def _declare(self, metric: str, unit: str, better: str) -> None:
        what = f"reported metric {metric!r}"
        for part, text in (("name", metric), ("unit", unit)):
            if not isinstance(text, str) or not 0 < len(text) <= 255 or text != _storable(text):
                raise InvalidValueError(f"{what}: the {part} must be text of 1 to 255 characters")
        if metric in MEASURED_ANYWAY:
            raise InvalidValueError(f"{what} is measured anyway; choose another name")
        if better not in ("lower", "higher"):
            raise InvalidValueError(f"{what}: better is {better!r}, not 'lower' or 'higher'")
        if len(self._metrics) == MAX_OWN_METRICS:
            raise InvalidValueError(f"{what} is one more than the {MAX_OWN_METRICS} allowed")
        self._metrics[metric] = _Reported(unit, better)

    def clear(self) -> None:
        """Forget the values so far: they were warm-up."""
        self._metrics.clear()

    def values(self) -> List[Record]:
        """Return one value for each metric, in the order of first report.

        Raises:
            InvalidValueError: a report was refused, and the measured code went on.
        """
        if self._refused is not None:
            raise self._refused
        return [_value(name, median(m.values), m.unit, m.better) for name, m in self._metrics.items()]


class Context:
    """What every function of a benchmark gets: the case's parameters, and what `setup` returned."""

    def __init__(self, params: Params, devices: Sequence[str], seed: int, reports: Reports) -> None:
        self.params = dict(params)
        self.devices = list(devices)
        self.device = self.devices[0]
        self.seed = seed
        self.state: Any = None
        self.report = reports.add

    def count_flop(self, work: Callable[[], Any]) -> int:
        """Return the floating-point operations of `work()` as torch counts them, for use in `units`; it is run once."""
        torch = sys.modules.get("torch")
        if torch is None:
            raise InvalidValueError("count_flop counts the operations of torch, which was not imported")
        counting = importlib.import_module("torch.utils.flop_counter")
        with counting.FlopCounterMode(display=False) as counter:
            work()
        return int(counter.get_total_flops())


def seed_generators(seed: int) -> None:
    """Seed `random`, and NumPy's global generator if the measured code has imported NumPy."""
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed & 0xFFFFFFFF)


# --- clocks -------------------------------------------------------------------------------------------------


def timer_resolution_ns() -> int:
    """Return the smallest step that two readings of the clock show, the cost of reading included [ns]."""
    clock = time.perf_counter_ns
    smallest = 10**9
    for _ in range(1000):
        first = second = clock()
        while second == first:
            second = clock()
        smallest = min(smallest, second - first)
    return smallest


def find_cuda() -> Any:
    """Return `torch.cuda` if the measured code has started CUDA through torch, else None."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    return cuda if cuda is not None and cuda.is_initialized() else None


def used_devices(cuda: Any) -> List[int]:
    """Return the CUDA devices that hold memory of this process; asking the others for work would start them."""
    return [device for device in range(cuda.device_count()) if cuda.memory_reserved(device)]


def synchroniser(cuda: Any, n_devices: int) -> Callable[[], None]:
    """Return what waits for the queued work of a job's devices: the current one, or all in use if it has several."""
    used = used_devices(cuda) if n_devices > 1 else []

    def synchronise() -> None:
        for device in used:
            cuda.synchronize(device)

    current: Callable[[], None] = cuda.synchronize
    return synchronise if len(used) > 1 else current


def waited(run: Run, result: Any) -> Run:
    """Return `run`, made to wait for results like `result` where those may be unfinished when returned.

    Arrays of JAX and its kin wait for themselves; a tree of them is waited for by JAX, if that is loaded.
    """
    if hasattr(type(result), "block_until_ready"):
        return lambda ctx: run(ctx).block_until_ready()
    wait = getattr(sys.modules.get("jax"), "block_until_ready", None)
    if wait is not None and isinstance(result, (tuple, list, dict)):
        return lambda ctx: wait(run(ctx))
    return run


class Workload(NamedTuple):
    """The code under the clock, and what waits for the device that it uses, if any."""

    run: Run
    ctx: Context
    sync: Optional[Callable[[], None]]

    def batch(self, k: int) -> Batch:
        """Return what times `k` calls, with nothing but them and their loop between the clock's readings."""
        shared_run, shared_ctx, sync, clock = self.run, self.ctx, self.sync, time.perf_counter_ns

        def batch() -> int:
            run, ctx, times = shared_run, shared_ctx, repeat(None, k)
            if sync is not None:
                sync()
            start = clock()
            for _ in times:
                run(ctx)
            if sync is not None:
                sync()
            return clock() - start

        return batch


class SynchronisationCheck:
    """A batch that, its first three times, looks for device work that outlives the clock's second reading."""

    def __init__(self, batch: Batch, cuda: Any) -> None:
        self._batch = batch
        self._cuda = cuda
        self._late: List[float] = []

    def __call__(self) -> int:
        """Time the batch [ns]."""
        elapsed_ns = self._batch()
        if len(self._late) < CHECKED_BATCHES:
            # The second call has nothing left to wait for: what it takes is the price of asking.
            late_ns = self._synchronise_all() - self._synchronise_all()
            self._late.append(late_ns / elapsed_ns)
        return elapsed_ns

    def verify(self) -> None:
        """Raise `CaseError` if each checked batch left over 5 % of its time's work behind."""
        if self._late and min(self._late) > MAX_LATE_SHARE:
            detail = "Device work went on when run had returned and its device was synchronised."
            raise CaseError("not_synchronised", f"{detail} Let run synchronise its other devices.\n")

    def _synchronise_all(self) -> int:
        start = time.perf_counter_ns()
        for device in used_devices(self._cuda):
            self._cuda.synchronize(device)
        return time.perf_counter_ns() - start


# --- the processor ------------------------------------------------------------------------------------------


class Preemption:
    """What batches lost because the processor was taken away from the measured thread and given to another.

    A thread that has not slept has run or has waited for the processor. How often it slept and how often it was
    interrupted is in getrusage(2).
    """

    def __init__(self) -> None:
        self._cpu_ns, self._slept, self._interrupted = self._read()

    def lost_ns(self, elapsed_ns: int) -> int:
        """Return what batches of this length in all have lost since the last look [ns].

        That is 0 if the thread has slept, as nobody can tell then.
        """
        cpu_before, slept_before, interrupted_before = self._cpu_ns, self._slept, self._interrupted
        self._cpu_ns, self._slept, self._interrupted = self._read()
        if self._slept > slept_before or self._interrupted == interrupted_before:
            return 0
        return max(0, elapsed_ns - (self._cpu_ns - cpu_before))

    @staticmethod
    def _read() -> Tuple[int, int, int]:
        usage = resource.getrusage(RUSAGE_THREAD)
        return time.thread_time_ns(), usage.ru_nvcsw, usage.ru_nivcsw


class OtherWork:
    """What of the measured program runs beside the thread that is timed: it may be what that thread waits for."""

    def __init__(self) -> None:
        self._begun_ns, self._own_ns = self._used_ns(), time.thread_time_ns()

    def is_none(self) -> bool:
        """Tell whether all of the program's work since this was made was this thread's.

        Other threads and children may have used a hundredth of its processor time; none of the children may be left, or
        have ended without account. False where Linux does not tell.
        """
        others_ns, own_ns = self._used_ns() - self._begun_ns, time.thread_time_ns() - self._own_ns
        if (
            others_ns > max(MAX_OTHER_NS, MAX_OTHER_SHARE * own_ns)
            or signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN
        ):
            return False
        return not has_relatives()

    @staticmethod
    def _used_ns() -> int:
        """Return the processor time of this process's other threads and of its ended children [ns]."""
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        of_children_ns = int(1e9 * (children.ru_utime + children.ru_stime))
        return of_children_ns + time.process_time_ns() - time.thread_time_ns()


def has_relatives() -> bool:
    """Tell whether there are processes of the same program: children, or what ended children have left behind.

    Those are taken over by the process that started this one and has no other child. True where Linux does not tell.
    """
    try:
        return bool(_children("self")) or _children(os.getppid()) != [str(os.getpid())]
    except OSError:
        return True


def _children(process: Any) -> List[str]:
    found = []
    for thread in os.listdir(f"/proc/{process}/task"):
        with open(f"/proc/{process}/task/{thread}/children") as file:
            found += file.read().split()
    return found


# --- warm-up and batches ------------------------------------------------------------------------------------


class Ledger:
    """Where the times of a case's batches are written down [ns].

    All of it is resident before a case begins, so that code which is faster, and of which more batches are timed, does
    not use more memory by that. What one part of a case has written down holds until the next part begins.
    """

    def __init__(self, room: int = MAX_BATCHES) -> None:
        """Make room for so many batches."""
        self.room = room
        self.times = memoryview(array("q", [0]) * room)
        self.lost = memoryview(array("q", [0]) * room)
        """What each batch lost to interruptions."""


class WarmUp(NamedTuple):
    """How a case got warm."""

    k: int
    """Batch size for what follows."""
    calls: int
    """Calls of `run`, the first one included."""
    spent_ns: int
    """Time of these calls but the first."""
    converged: bool


def batch_size(call_ns: float, resolution_ns: int) -> int:
    """Return the smallest power of two of calls that lasts at least 1000 times the timer's resolution."""
    needed = RESOLUTIONS_PER_BATCH * resolution_ns / max(call_ns, 1e-3)
    return 1 << max(0, math.ceil(math.log2(needed)))


def find_warm_up(workload: Workload, t_case_s: float, resolution_ns: int, ledger: Ledger) -> WarmUp:
    """Run until batch times have settled, and find the batch size; `run` has been called once before.

    The window is the last 20 batches, or as many as fill a quarter of `t_case_s`. Gives up after ten windows,
    60 s, or twice `t_case_s`.
    """
    limit_ns = int(1e9 * min(MAX_WARMUP_S, 2 * t_case_s))
    k, calls = 1, 2
    elapsed_ns = spent_ns = workload.batch(k)()
    is_short = elapsed_ns < RESOLUTIONS_PER_BATCH * resolution_ns
    while spent_ns < limit_ns and (is_short or calls < MIN_WARMUP):
        k = batch_size(elapsed_ns / k, resolution_ns)
        elapsed_ns = workload.batch(k)()
        is_short = elapsed_ns < RESOLUTIONS_PER_BATCH * resolution_ns
        spent_ns += elapsed_ns
        calls += k
    times, converged = _run_until_settled(workload.batch(k), t_case_s, limit_ns - spent_ns, ledger)
    last = times[-MIN_WINDOW:] if times else [elapsed_ns]
    settled_k = batch_size(median(last) / k, resolution_ns)
    return WarmUp(settled_k, calls + k * len(times), spent_ns + sum(times), converged)


def _run_until_settled(
    batch: Batch, t_case_s: float, limit_ns: int, ledger: Ledger
) -> Tuple[Sequence[int], bool]:
    times, done = ledger.times, 0
    spent_ns, next_look = 0, MIN_WINDOW
    while spent_ns < limit_ns and done < ledger.room:
        times[done] = batch()
        spent_ns, done = spent_ns + times[done], done + 1
        if done < next_look:
            continue
        window = max(MIN_WINDOW, math.ceil(t_case_s / 4 * 1e9 / median(times[done - MIN_WINDOW : done])))
        if done >= window and is_settled(times[done - window : done]):
            return times[:done], True
        if done >= MAX_WINDOWS * window:
            break
        next_look = max(window, done + math.ceil(window / 10))
    return times[:done], False


def repeat_warm_up(workload: Workload, k: int, n_warmup: int, limit_ns: int, ledger: Ledger) -> WarmUp:
    """Make the `n_warmup` calls that an earlier invocation found necessary, as far as `limit_ns` allows.

    Cut short, it has converged if the later half of its batches has settled.
    """
    batch, times, done = workload.batch(k), ledger.times, 0
    spent_ns = 0
    while 1 + k * done < n_warmup and spent_ns < limit_ns and done < ledger.room:
        times[done] = batch()
        spent_ns, done = spent_ns + times[done], done + 1
    calls, later = 1 + k * done, times[done // 2 : done]
    return WarmUp(k, calls, spent_ns, calls >= n_warmup or (len(later) >= MIN_WINDOW and is_settled(later)))


class Batches(NamedTuple):
    """The timed batches of a case, in time order; in the ledger where they were really timed."""

    host_ns: Sequence[int]
    wait_ns: Sequence[int]
    """What each batch lost to interruptions; empty if nothing."""
    is_alone: bool
    """Whether all that was lost went to other programs."""
    window_ns: Optional[Tuple[int, int]] = None
    """From the first to the last of them, on the host's monotonic clock; None where nothing was really timed."""

    @property
    def net_ns(self) -> Optional[Sequence[int]]:
        """The batches' times without what other programs took of them; None where that cannot be told."""
        if not self.is_alone:
            return None
        return list(map(sub, self.host_ns, self.wait_ns)) if self.wait_ns else self.host_ns

    @property
    def is_interrupted(self) -> bool:
        """Whether over a hundredth of the time was lost."""
        return sum(self.wait_ns) > MAX_WAIT_SHARE * sum(self.host_ns)


def time_batches(batch: Batch, n_batches: int, limit_ns: int, ledger: Ledger, least_ns: int = 0) -> Batches:
    """Time `n_batches` batches, fewer if `limit_ns` is over before, but at least one, and for `least_ns` anyhow.

    It is looked for preemption between batches, but not so often that this shows in the times of short ones. What some
    batches lost together is put down to the longest of them, which was interrupted.
    """
    clock, preemption, other_work = time.perf_counter_ns, Preemption(), OtherWork()
    times, lost = ledger.times, ledger.lost
    done, seen, is_over = 0, 0, False
    next_look = begun = clock()
    while not is_over:
        times[done], lost[done] = batch(), 0
        done, now = done + 1, clock()
        is_over = now >= begun + least_ns and (done >= n_batches or now >= begun + limit_ns)
        is_over = is_over or done == ledger.room
        if is_over or now >= next_look:
            _put_down(preemption.lost_ns(sum(times[seen:done])), times, lost, seen, done)
            seen, next_look = done, clock() + LOOK_EVERY_NS
    kept_lost = lost[:done] if any(lost[:done]) else []
    return Batches(times[:done], kept_lost, other_work.is_none(), (begun, now))


def _put_down(lost_ns: int, times: Sequence[int], lost: memoryview, first: int, end: int) -> None:
    """Write down what batches `first` to `end` lost as that of the longest of them, or as much as fits into it."""
    if lost_ns:
        longest = max(range(first, end), key=times.__getitem__)
        lost[longest] = min(lost_ns, times[longest] - 1)


# --- memory -------------------------------------------------------------------------------------------------


class PeakMemory:
    """Peak resident memory of this process [B].

    Linux can be asked to count it anew: proc(5), `clear_refs`; elsewhere it is unknown.
    """

    def __init__(self) -> None:
        self.highest: Optional[int] = None
        """Over the whole process, as far as it was read."""
        self._bare = resident_bytes(b"VmRSS:")
        self._of_case = self._bare
        self.is_available = self.reset()

    def reset(self) -> bool:
        """Begin to count anew from what is resident now; False where that is impossible."""
        self.read()
        try:
            with open("/proc/self/clear_refs", "w") as file:
                file.write("5")
        except OSError:
            return False
        return True

    def begin_case(self) -> None:
        """Begin a case: what earlier ones left resident is not its own."""
        self.reset()
        self._of_case = resident_bytes(b"VmRSS:")

    def of_case(self) -> Optional[int]:
        """Return what the process would have peaked at with this case alone, or None where that is unknown.

        That is what was resident before anything was imported, and the rise since the case began.
        """
        peak, before, bare = self.read(), self._of_case, self._bare
        if peak is None or before is None or bare is None:
            return None
        return bare + max(0, peak - before)

    def read(self) -> Optional[int]:
        """Return the peak since the last reset, or None where it is unknown."""
        peak = resident_bytes(b"VmHWM:")
        if peak is not None:
            self.highest = max(peak, self.highest or 0)
        return peak


def resident_bytes(field: bytes) -> Optional[int]:
    """Return a field of this process's memory status [B], or None where it is unknown."""
    try:
        with open("/proc/self/status", "rb") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith(field))
    except (OSError, StopIteration):
        return None


class DeviceMemory(NamedTuple):
    """Peak memory of one case on the devices [B], and how often torch's allocator had to free its cache to go on."""

    peak: Optional[int]
    retries: int

    @staticmethod
    def begin_case() -> None:
        """Begin to count anew, if the measured code has started CUDA."""
        cuda, used = DeviceMemory._counted()
        for device in used:
            cuda.reset_peak_memory_stats(device)
            cuda.reset_accumulated_memory_stats(device)

    @classmethod
    def of_case(cls) -> "DeviceMemory":
        """Return what torch says of the devices that the case used."""
        cuda, used = cls._counted()
        if not used:
            return cls(None, 0)
        retries = sum(cuda.memory_stats(device).get("num_alloc_retries", 0) for device in used)
        return cls(sum(cuda.max_memory_allocated(device) for device in used), retries)

    @staticmethod
    def _counted() -> Tuple[Any, List[int]]:
        """Return `torch.cuda` and the devices in use; none where it does not count memory."""
        cuda = find_cuda()
        counts = cuda is not None and hasattr(cuda, "reset_peak_memory_stats")
        return cuda, used_devices(cuda) if counts else []

    def values(self) -> List[Record]:
        """Return the metric, where there is one."""
        if self.peak is None:
            return []
        return [_value("peak_device_memory", self.peak, "B", "lower", "exact")]

    def flags(self) -> List[str]:
        """Return what a reader should know."""
        return ["alloc_retry"] if self.retries else []


# --- one case -----------------------------------------------------------------------------------------------


class Session:
    """What all cases of one invocation share."""

    def __init__(self, request: Record) -> None:
        self.root: str = request["root"]
        self.devices: List[str] = request.get("devices") or [request["device"]]
        self.simulate: Optional[Record] = request["simulate"]
        self.spawned_ns: int = request["spawned_ns"]
        self.startup_s: Optional[float] = None
        self.resolution_ns = timer_resolution_ns()
        self.memory = PeakMemory()
        self.ledger = Ledger()

    @property
    def measures_memory(self) -> bool:
        """Whether cases get a value of `peak_memory`: on a simulated device nothing is measured."""
        return self.memory.is_available and self.simulate is None

    def note_first_run(self) -> None:
        """Take the time since this process was started, the first time this is called."""
        if self.startup_s is None:
            self.startup_s = max(0.0, (time.time_ns() - self.spawned_ns) / 1e9)


class Timing(NamedTuple):
    """The raw times of one case in one invocation."""

    clock: str
    first_call_ns: int
    warm_up: WarmUp
    batches: Batches


def measure_case(benchmark: Benchmark, params: Params, spec: Record, session: Session) -> Record:
    """Measure one case; whatever its code raises is part of the returned record."""
    os.chdir(session.root)
    gc.collect()  # what the case before left in cycles is not this one's memory
    session.memory.begin_case()
    DeviceMemory.begin_case()
    reports = Reports()
    ctx = Context(params, session.devices, spec["seed"], reports)
    record, failures = blank_record(spec), []
    try:
        with during("creating the benchmark"):
            seed_generators(spec["seed"])
            members = benchmark.instance()
    except CaseError as error:
        return {**record, **error.fields}
    try:
        record.update(_measure(members, ctx, reports, spec, session))
    except CaseError as error:
        failures.append(error.fields)
    try:
        _call(members, "teardown", ctx)
    except CaseError as error:
        failures.append(error.fields)
    return {**blank_record(spec), **failures[0]} if failures else record


def blank_record(spec: Record) -> Record:
    """Return a `case` line with nothing measured yet."""
    named = {"type": "case", "benchmark": spec["benchmark"], "params": spec["params"]}
    outcome = {"status": "ok", "reason": "", "log_tail": "", "flags": []}
    timing = {"k": spec["k"] or 1, "clock": "host", "n_warmup": 0, "warmup_converged": True}
    return {
        **named,
        **outcome,
        **timing,
        "first_call_s": None,
        "batches": _batches(Batches([], [], is_alone=False)),
        "values": [],
        "units": {},
        "scaling": {},
        "dtype": None,
        "iterations": None,
        "window_ns": None,
    }


def _batches(timed: Batches) -> Record:
    step = max(1, -(-len(timed.host_ns) // MAX_KEPT_BATCHES))
    host_ns = list(timed.host_ns[::step])
    wait_ns = list(timed.wait_ns[::step]) if timed.is_alone else []
    kept = list((timed.net_ns or timed.host_ns)[::step])
    spike = spikes(kept) if kept else []
    batches = {"host_ns": host_ns, "wait_ns": wait_ns, "device_ns": [], "spike": spike}
    return {**batches, "thinned": step}


def _call(members: Any, name: str, ctx: Context) -> Any:
    """Call an optional function of the benchmark, if it has it."""
    function = getattr(members, name, None)
    with during(name):
        return function(ctx) if function is not None else None


def _measure(members: Any, ctx: Context, reports: Reports, spec: Record, session: Session) -> Record:
    ctx.state = _call(members, "setup", ctx)
    session.note_first_run()
    if session.simulate is None:
        timing = time_on_host(members.run, ctx, reports, spec, session)
    else:
        timing = simulate_times(members, ctx, spec, session.simulate)
    peak = session.memory.of_case() if session.measures_memory else None
    device_memory = DeviceMemory.of_case()
    with during("units"):
        units = _call(members, "units", ctx)
        counts, dtype = counted(units)
        scaling = scaling_of(units)
        values = estimates(timing, peak, counts) + device_memory.values() + reports.values()
    return {
        "k": timing.warm_up.k,
        "clock": timing.clock,
        "n_warmup": timing.warm_up.calls,
        "warmup_converged": timing.warm_up.converged,
        "first_call_s": timing.first_call_ns / 1e9,
        "batches": _batches(timing.batches),
        "values": values,
        "flags": _flags(timing, values) + device_memory.flags() + _scaling_flags(scaling),
        "scaling": scaling,
        "units": counts,
        "dtype": dtype or dtype_of(ctx.params),
        "iterations": timing.warm_up.k * len(timing.batches.host_ns),
        "window_ns": timing.batches.window_ns,
    }


def time_on_host(run: Run, ctx: Context, reports: Reports, spec: Record, session: Session) -> Timing:
    """Time a case with the host's clock: first call, warm-up, batches."""
    ledger = session.ledger
    with during("run"):
        start = time.perf_counter_ns()
        workload = _first_call(run, ctx)
        first_call_ns = time.perf_counter_ns() - start
        gc.collect()  # so that what set-up and compilation left is not collected under the clock
        limit_ns = int(1e9 * spec["t_case_s"])
        if spec["k"] is None or spec["n_warmup"] is None:
            warm_up = find_warm_up(workload, spec["t_case_s"], session.resolution_ns, ledger)
        else:
            warm_up = repeat_warm_up(workload, spec["k"], spec["n_warmup"], limit_ns // 2, ledger)
            limit_ns -= warm_up.spent_ns
        reports.clear()
        least_ns = int(1e9 * (spec.get("least_s") or 0.0))
        batches = _time_checked(workload, warm_up.k, spec["n_batches"], limit_ns, least_ns, ledger)
    return Timing("host", first_call_ns, warm_up, batches)


def _first_call(run: Run, ctx: Context) -> Workload:
    """Call `run` once and wait for its work; return how to go on doing so."""
    result = run(ctx)
    waited(lambda _: result, result)(ctx)  # this call's work, too, ends before the clock is read
    run, cuda = waited(run, result), find_cuda()
    if cuda is None:
        return Workload(run, ctx, None)
    synchronise = synchroniser(cuda, len(ctx.devices))
    synchronise()
    return Workload(run, ctx, synchronise)


def _time_checked(
    workload: Workload, k: int, n_batches: int, limit_ns: int, least_ns: int, ledger: Ledger
) -> Batches:
    batch, cuda = workload.batch(k), find_cuda()
    if cuda is not None:
        check = SynchronisationCheck(batch, cuda)
        timed = time_batches(check, n_batches, limit_ns, ledger, least_ns)
        check.verify()
    else:
        timed = time_batches(batch, n_batches, limit_ns, ledger, least_ns)
    # An accelerator goes on with its work while the thread waits.
    return timed if cuda is None and workload.ctx.device == CPU else timed._replace(is_alone=False)


# --- estimates ----------------------------------------------------------------------------------------------


def _value(metric: str, value: float, unit: str, better: str, kind: str = "sampled") -> Record:
    return {"metric": metric, "value": value, "unit": unit, "better": better, "kind": kind}


def estimates(timing: Timing, peak: Optional[int], units: Any) -> List[Record]:
    """Return the values that follow from the times, the peak memory [B] and the units of one call.

    What is made of times has also a value `net`, without what other programs took of them, or None.

    Raises:
        InvalidValueError: `units` is not what a benchmark's `units` may return.
    """
    k, net_ns = timing.warm_up.k, timing.batches.net_ns
    values = _of_times(timing.batches.host_ns, k, units)
    nets = (
        [net["value"] for net in _of_times(net_ns, k, units)] if net_ns is not None else [None] * len(values)
    )
    for value, net in zip(values, nets):  # noqa: B905  # as many of both; `strict` is younger than Python 3.8
        value["net"] = net
    if peak is not None:
        values.append(_value("peak_memory", peak, "B", "lower", "exact"))
    return values


def _of_times(batch_ns: Sequence[int], k: int, units: Any) -> List[Record]:
    """Return the values made of batches of `k` calls [ns].

    Tail quantiles are left out where they would rest on fewer than ten batches, or on means of several calls.
    """
    n = len(batch_ns)
    values = [_value("latency_p50", median(batch_ns) / k / 1e9, "s", "lower")]
    for percent in (90, 99):
        if k == 1 and n * (100 - percent) >= 10 * 100:
            values.append(
                _value(f"latency_p{percent}", quantile(batch_ns, percent / 100) / 1e9, "s", "lower")
            )
    return values + _rates(units, k * n / (sum(batch_ns) / 1e9))


def _rates(counts: Dict[str, float], calls_per_s: float) -> List[Record]:
    rates = {
        name: finite_number(count * calls_per_s, f"the rate of {name}") for name, count in counts.items()
    }
    return [_value(RATES[name], rate, f"{name}/s", "higher") for name, rate in rates.items() if name in RATES]


def counted(units: Any) -> Tuple[Dict[str, float], Optional[str]]:
    """Return what a call works off, by name, and the type that it computes in where `units` names one.

    Raises:
        InvalidValueError: it is not what a benchmark's `units` may return.
    """
    if units is None:
        return {}, None
    if not isinstance(units, dict):
        raise InvalidValueError(f"units returned a {type(units).__name__}, not a dict")
    dtype, counts = units.get("dtype"), {}
    if dtype is not None and not isinstance(dtype, str):
        raise InvalidValueError(f"units['dtype'] is {dtype!r}; it has to be a text such as 'bf16'")
    for name, count in units.items():
        if name not in (*COUNTABLE, *DESCRIBING):
            raise InvalidValueError(f"units has {name!r}; it may have {', '.join((*COUNTABLE, *DESCRIBING))}")
        if name not in DESCRIBING:
            counts[name] = finite_number(count, f"units[{name!r}]")
    return counts, dtype


def scaling_of(units: Any) -> Record:
    """Return what `units` says of how the case scales: `mode`, `n`, `n0`, `base_s`; empty where it says nothing.

    Raises:
        InvalidValueError: it says something else.
    """
    told = units.get("scaling") if isinstance(units, dict) else None
    if told is None:
        return {}
    if not isinstance(told, dict) or not set(told) <= set(SCALING):
        raise InvalidValueError(f"units['scaling'] is {told!r}; it has to be a dict of {', '.join(SCALING)}")
    if told.get("mode") not in (None, "strong", "weak"):
        raise InvalidValueError(f"units['scaling']['mode'] is {told['mode']!r}, not 'strong' or 'weak'")
    found = {name: told[name] for name in SCALING[:1] if told.get(name) is not None}
    for name in SCALING[1:]:
        if told.get(name) is not None:
            number = finite_number(told[name], f"units['scaling'][{name!r}]")
            found[name] = int(number) if number == int(number) else number
    return found


def _scaling_flags(scaling: Record) -> List[str]:
    return ["scaling_mode_missing"] if scaling and set(SCALING[:3]) - set(scaling) else []


def dtype_of(params: Params) -> Optional[str]:
    """Return the type that a case computes in, where one of its parameters is called so."""
    named = params.get("dtype")
    return named if isinstance(named, str) else None


def _flags(timing: Timing, values: Sequence[Record]) -> List[str]:
    metrics = {value["metric"] for value in values}
    raised = {
        "warmup_not_converged": not timing.warm_up.converged,
        "tail_unavailable": not {"latency_p90", "latency_p99"} <= metrics,
        "peak_memory_unavailable": "peak_memory" not in metrics,
        "few_batches": len(timing.batches.host_ns) < FEW_BATCHES,
        "processor_shared": timing.batches.is_interrupted and timing.batches.is_alone,
        "processor_contended": timing.batches.is_interrupted and not timing.batches.is_alone,
    }
    return [flag for flag, is_raised in raised.items() if is_raised]


# --- simulated devices --------------------------------------------------------------------------------------


def simulate_times(members: Any, ctx: Context, spec: Record, simulate: Record) -> Timing:
    """Call `run` once, then draw batch times around the benchmark's nominal time instead of measuring them.

    Nominal is what `simulated_s(ctx)` returns [s], else the time of the one call. The draws depend on the
    devices' seeds, the pair, the arm and the case alone. Several devices work in step: a batch lasts as long as
    on the slowest.
    """
    nominal_ns = _nominal_ns(members, ctx)
    factors = [_slowdown(simulate, device) for device in simulate["devices"]]
    k = spec["k"] or batch_size(nominal_ns * max(factors), SIMULATED_RESOLUTION_NS)
    least_ns = 1e9 * (spec.get("least_s") or 0.0)
    n_batches = min(
        max(spec["n_batches"], math.ceil(least_ns / (k * nominal_ns * max(factors)))), MAX_BATCHES
    )
    place = (simulate["pair"], simulate["arm"], spec["benchmark"], _canonical(spec["params"]))
    drawn = [
        _draw(device, place, k * nominal_ns * factors[index], n_batches)
        for index, device in enumerate(simulate["devices"])
    ]
    host_ns = [max(1, round(max(times[batch] for times in drawn))) for batch in range(n_batches)]
    return Timing(
        "simulated",
        round(nominal_ns * max(factors)),
        WarmUp(k, 1, 0, True),
        Batches(host_ns, [], is_alone=False),
    )


def _slowdown(simulate: Record, device: Record) -> float:
    factor = 1.0
    for fault in _faults(simulate, device, "slow"):
        factor *= fault["factor"]
    return factor


def _draw(device: Record, place: Tuple[Any, ...], batch_ns: float, n_batches: int) -> List[float]:
    """Draw the batch times of one device [ns]; `place` begins with the pair."""
    generator = random.Random("/".join(map(str, (device["seed"], *place))))
    expected_ns = batch_ns * math.exp(device["drift"] * place[0])
    return [expected_ns * math.exp(generator.gauss(0, device["noise_sd"])) for _ in range(n_batches)]


def _nominal_ns(members: Any, ctx: Context) -> float:
    with during("run"):
        start = time.perf_counter_ns()
        members.run(ctx)
        elapsed_ns = time.perf_counter_ns() - start
    declared = _call(members, "simulated_s", ctx)
    if declared is None:
        return elapsed_ns
    with during("simulated_s"):
        seconds = finite_number(declared, "the result of simulated_s")
        if seconds <= 0:
            raise InvalidValueError(f"the result of simulated_s is {seconds}; it must be positive")
    return seconds * 1e9


def _faults(simulate: Record, device: Record, kind: str) -> List[Record]:
    """Return the device's faults of this kind that strike this arm and pair; a key left out matches all."""
    here = {key: simulate[key] for key in ("arm", "pair")}
    of_kind = [fault for fault in device["faults"] if fault["kind"] == kind]
    return [fault for fault in of_kind if all(fault.get(key, here[key]) == here[key] for key in here)]


def strike(simulate: Record) -> None:
    """Crash or hang, if that is in the script of one of the devices for this arm and pair."""
    if any(_faults(simulate, device, "crash") for device in simulate["devices"]):
        os._exit(CRASH_STATUS)
    while any(_faults(simulate, device, "hang") for device in simulate["devices"]):
        time.sleep(3600)


# --- the two modes ------------------------------------------------------------------------------------------


def list_cases(request: Record, session: Session, out: ResultFile) -> None:
    """Write every case of every file, and every reason why there are not more."""
    metrics = [{"metric": "latency_p50", "unit": "s", "better": "lower", "kind": "sampled"}]
    if session.measures_memory:
        metrics.append({"metric": "peak_memory", "unit": "B", "better": "lower", "kind": "exact"})
    for loaded in load_files(session.root, request["files"]):
        shared = {"file": loaded.path, "file_digest": loaded.digest, "metrics": metrics}
        for benchmark in loaded.benchmarks:
            line = _line_of(benchmark, loaded.path)
            for params in benchmark.cases.values():
                out.write(
                    {"type": "case", "benchmark": benchmark.name, "params": params, "line": line, **shared}
                )
        for problem in loaded.problems:
            texts = {"reason": problem.fields["reason"], "traceback": problem.fields["log_tail"]}
            out.write({"type": "failure", "file": loaded.path, "benchmark": problem.benchmark, **texts})


def _line_of(benchmark: Benchmark, path: str) -> int:
    """Return the line where its `run` begins; 1 where that is not a function of this file."""
    code = getattr(getattr(benchmark.owner, "run", None), "__code__", None)
    if code is None or os.path.basename(code.co_filename) != os.path.basename(path):
        return 1
    return int(code.co_firstlineno)


def measure_cases(request: Record, session: Session, out: ResultFile) -> None:
    """Import the files of the cases asked for, then measure the cases in the order given."""
    wanted = {_file_part(spec["benchmark"]) for spec in request["cases"]}
    loaded = list(load_files(session.root, [path for path in request["files"] if short_name(path) in wanted]))
    if session.simulate is not None:
        strike(session.simulate)
    for spec in request["cases"]:
        try:
            benchmark, params = find_case(loaded, spec)
        except CaseError as error:
            out.write({**blank_record(spec), **error.fields})
        else:
            out.write(measure_case(benchmark, params, spec, session))


def _file_part(benchmark: str) -> str:
    return benchmark.partition(".")[0]


def find_case(files: Sequence[LoadedFile], spec: Record) -> Tuple[Benchmark, Params]:
    """Return the benchmark of a case, and its parameters as the file declares them.

    Raises:
        CaseError: its file or benchmark is broken (`failed`), or there is no such case (`missing`).
    """
    name, key = spec["benchmark"], _canonical(spec["params"])
    of_name = [loaded for loaded in files if loaded.name == _file_part(name)]
    for benchmark in [benchmark for loaded in of_name for benchmark in loaded.benchmarks]:
        if benchmark.name == name and key in benchmark.cases:
            return benchmark, benchmark.cases[key]
    for problem in [problem for loaded in of_name for problem in loaded.problems]:
        if problem.benchmark in (name, None):
            raise CaseError(**problem.fields)
    raise CaseError(f"there is no case {name} {key}", status="missing")


def header(session: Session) -> Record:
    """Return the first line: what measures, and with which clock."""
    with open(OWN_PATH, "rb") as file:
        version = hashlib.sha256(file.read()).hexdigest()[:12]
    python = {"python": ".".join(map(str, sys.version_info[:3])), "implementation": sys.implementation.name}
    clock = {"timer_resolution_s": session.resolution_ns / 1e9}
    return {"type": "header", "harness_version": version, **python, **clock}


def main() -> None:
    """Answer the request on standard input."""
    if os.path.realpath(sys.path[0]) == os.path.dirname(OWN_PATH):
        sys.path.pop(0)  # a script's folder comes first, and the modules in ours would shadow the user's
    faulthandler.enable()  # a benchmark that dies of a signal leaves a traceback on standard error
    request = json.loads(sys.stdin.buffer.read())
    out = ResultFile(request["result"])
    session = Session(request)
    out.write(header(session))
    os.chdir(session.root)
    answer = list_cases if request["mode"] == "list" else measure_cases
    answer(request, session, out)
    session.memory.read()
    out.write({"type": "end", "startup_s": session.startup_s, "mem_peak_rss_b": session.memory.highest})


def leave() -> None:
    """End the process now: a thread or an exit handler that a benchmark left must not hold up the next one."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            pass
    os._exit(0)


if __name__ == "__main__":
    main()
    leave()
