"""The tools of `ratchet mcp`: each asks the service one question and answers with its JSON, if that is not too long."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable
from importlib.metadata import version
from typing import Annotated, Any, Literal

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import ToolAnnotations
from pydantic import Field

from app.commands.asking import read_moment
from app.domain.errors import RatchetError
from app.domain.verdicts import Verdict
from app.integrations.service_client import ServiceClient

MOST_CHARACTERS = 40_000
"""Of one answer: some ten thousand tokens, which leave an assistant room to think."""

_INSTRUCTIONS = " ".join(
    """
    Ratchet keeps performance numbers of commits. A series is one metric of one benchmark (with its parameters) on
    one device class, over the commits of a branch. Begin with find_series, list_alerts or list_changes. Values are
    in the unit of their series; `change` is head/base - 1 or after/before - 1, so that 0.1 is 10 % more; `better`
    says which way is good. Only a check (read_check) gives a verdict; compare puts stored numbers of different days
    and machines side by side.
    """.split()
)

_POINT_COLUMNS = ("row", "commit", "time", "value", "low", "high", "n", "run")

Project = Annotated[str | None, Field(description="Name of the project, such as acme/vision.")]
TheProject = Annotated[str, Field(description="Name of the project, such as acme/vision.")]
Benchmark = Annotated[str | None, Field(description="Exact name of the benchmark.")]
DeviceClass = Annotated[str | None, Field(description="Exact device class, such as nvidia-h100-sxm5-80gb.")]
Since = Annotated[
    str | None, Field(description="ISO 8601 time, without an offset UTC, or how long ago: 36h, 30d, 2w.")
]
Sought = Annotated[
    str, Field(description="A commit by its first 7 digits or more, a branch, or a device class.")
]


def tool_server(service: ServiceClient) -> MCPServer[Any]:
    """Return the server of all tools, which ask this service."""
    tools = Tools(service)
    asked = (
        tools.find_series,
        tools.read_series,
        tools.compare,
        tools.list_alerts,
        tools.list_changes,
        tools.list_runs,
        tools.read_run,
        tools.read_check,
    )
    return MCPServer(
        "ratchet",
        title="Ratchet",
        instructions=_INSTRUCTIONS,
        version=version("ratchet-perf"),
        tools=[_tool(one) for one in asked],
        log_level="WARNING",
    )


def _tool(method: Callable[..., dict[str, Any]]) -> Tool:
    """Return the tool, which refuses arguments that it does not know instead of passing over them."""
    read_only = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
    tool = Tool.from_function(
        _answering(method),
        description=inspect.getdoc(method),
        annotations=read_only,
        structured_output=False,
    )
    arguments = tool.fn_metadata.arg_model
    arguments.model_config["extra"] = "forbid"
    arguments.model_rebuild(force=True)
    tool.parameters = arguments.model_json_schema()
    return tool


def _answering(tool: Callable[..., dict[str, Any]]) -> Callable[..., str]:
    """Return the tool with its answer as JSON, and with errors that the assistant is told."""

    @functools.wraps(tool)
    def answer(**arguments: Any) -> str:
        try:
            text = json.dumps(tool(**arguments), separators=(",", ":"), ensure_ascii=False)
        except RatchetError as error:
            raise ToolError(str(error)) from None
        if len(text) > MOST_CHARACTERS:
            raise ToolError(
                f"the answer has {len(text)} characters, more than {MOST_CHARACTERS}: narrow the query, by a smaller "
                "limit or by naming more (project, benchmark, metric, device class, commit, rows)"
            )
        return text

    return answer


class Tools:
    """What can be asked of a service."""

    def __init__(self, service: ServiceClient) -> None:
        self._service = service

    def find_series(
        self,
        words: Annotated[
            str,
            Field(
                description="Words that all are in project, benchmark, parameters, metric or device class."
            ),
        ] = "",
        project: Project = None,
        benchmark: Benchmark = None,
        metric: Annotated[str | None, Field(description="Exact metric, such as latency_p50.")] = None,
        device_class: DeviceClass = None,
        limit: Annotated[int, Field(ge=1, le=200, description="The most series.")] = 30,
    ) -> dict[str, Any]:
        """Find series by words and names; each has its id, unit, number of points and newest value."""
        named = _given(project=project, benchmark=benchmark, metric=metric, device_class=device_class)
        return self._service.find_series({**named, "q": words}, limit)

    def read_series(
        self,
        series: Annotated[int, Field(ge=1, description="Id of the series, as find_series tells it.")],
        branch: Annotated[str | None, Field(description="The branch (default: the project's).")] = None,
        first: Annotated[int, Field(ge=0, description="First row wanted; 0 is the oldest point.")] = 0,
        last: Annotated[int | None, Field(ge=0, description="Last row wanted (default: the newest).")] = None,
        detail: Annotated[
            int, Field(ge=1, le=60, description="How finely: about 4 points for each of so many columns.")
        ] = 20,
    ) -> dict[str, Any]:
        """Read how a series moved: its points in the order of the commits, thinned, and where it changed for good.

        Points are lists under `columns`. Extremes and changes are kept; first and last zoom in.
        """
        wanted = _given(branch=branch, first=first, last=last, columns=detail)
        told = self._service.trend(series, **wanted)
        points = told["points"]
        rows = zip(*(points[name] for name in _POINT_COLUMNS), strict=True)
        heads = {
            row: {"subject": subject, "author": author}
            for row, subject, author in zip(points["row"], points["subject"], points["author"], strict=True)
        }
        return told | {
            "columns": _POINT_COLUMNS,
            "points": list(rows),
            "changes": [change | heads.get(change["row"], {}) for change in told["changes"]],
        }

    def compare(
        self,
        project: TheProject,
        base: Sought,
        head: Sought,
        base_device_class: DeviceClass = None,
        head_device_class: DeviceClass = None,
        limit: Annotated[
            int, Field(ge=1, le=200, description="The most series, largest changes first.")
        ] = 30,
    ) -> dict[str, Any]:
        """Put the newest stored numbers of two commits, branches or device classes side by side; this is no verdict."""
        named = _given(base_device_class=base_device_class, head_device_class=head_device_class)
        told = self._service.compare(project=project, base=base, head=head, **named)
        pairs = sorted(told.pop("series"), key=lambda pair: -abs(pair["change"] or 0.0))
        alone = {f"n_{name}": len(told.pop(name)) for name in ("only_base", "only_head")}
        if told["hardware"]:
            told["hardware"] = _in_short(told["hardware"], limit)
        return told | alone | {"n_series": len(pairs), "series": pairs[:limit]}

    def list_alerts(
        self,
        project: Project = None,
        state: Annotated[
            Literal["open", "closed", "all"], Field(description="Only those that stand so.")
        ] = "open",
        before: Annotated[
            int | None, Field(description="`next` of the page before, for older alerts.")
        ] = None,
        limit: Annotated[int, Field(ge=1, le=100, description="The most alerts.")] = 20,
    ) -> dict[str, Any]:
        """List what became worse, one entry for each cause: state, owner, commit, largest changes, failed checks."""
        return self._service.alerts(_given(project=project, state=state), before=before, limit=limit)

    def list_changes(
        self,
        project: TheProject,
        since: Since = None,
        state: Annotated[
            Literal["suspected", "confirmed", "withdrawn", "episode", "corrected", "all"] | None,
            Field(description="Only those in this state (default: those that stand)."),
        ] = None,
        limit: Annotated[int, Field(ge=1, le=100, description="The most changes.")] = 20,
    ) -> dict[str, Any]:
        """List where series of a project changed for good, the newest first: commit, size, interval, state."""
        told = self._service.changes(project, **_given(since=_moment(since), state=state, limit=limit))
        return told | {
            "changes": [
                {name: value for name, value in change.items() if name != "evidence"}
                for change in told["changes"]
            ]
        }

    def list_runs(
        self,
        project: Project = None,
        benchmark: Benchmark = None,
        commit: Annotated[str | None, Field(description="First 7 digits or more of a commit.")] = None,
        device_class: DeviceClass = None,
        since: Since = None,
        before: Annotated[str | None, Field(description="`next` of the page before, for older runs.")] = None,
        limit: Annotated[int, Field(ge=1, le=100, description="The most runs.")] = 20,
    ) -> dict[str, Any]:
        """List what was measured or posted, the newest first: commits, device class, outcome, number of results."""
        named = _given(project=project, benchmark=benchmark, commit=commit, device_class=device_class)
        return self._service.runs(**named, **_given(since=_moment(since), before=before), limit=limit)

    def read_run(
        self,
        run: Annotated[int | str, Field(description="Name of the run: 12, or upload-3.")],
        benchmark: Benchmark = None,
        values: Annotated[bool, Field(description="Whether to have every measured value, in order.")] = False,
        after: Annotated[
            int | None, Field(description="`next` of the page before, for more results.")
        ] = None,
        limit: Annotated[int, Field(ge=1, le=200, description="The most results.")] = 30,
    ) -> dict[str, Any]:
        """Read one run: commits, machine and software that it ran in, and its results."""
        results = self._service.run_results(str(run), **_given(benchmark=benchmark, after=after, limit=limit))
        left_out = () if values else ("values", "void")
        shown = [
            {name: value for name, value in one.items() if name not in left_out} for one in results["results"]
        ]
        return {"about": self._service.run(str(run)), "results": shown, "next": results["next"]}

    def read_check(
        self,
        check: Annotated[int, Field(ge=1, description="Number of the check.")],
        every_case: Annotated[
            bool, Field(description="Whether to have also the cases that show no regression.")
        ] = False,
    ) -> dict[str, Any]:
        """Read a check, base against head measured in pairs: its conclusion, and the verdict on each case."""
        told = self._service.check(check)
        return told | {"suites": [suite if every_case else _notable(suite) for suite in told["suites"]]}


def _moment(told: str | None) -> str | None:
    return told and read_moment(told)


def _notable(suite: dict[str, Any]) -> dict[str, Any]:
    """Return the suite with the cases that a reader has to look at, and how many there are of the others."""
    shown = [case for case in suite["cases"] if case["verdict"] != Verdict.NO_REGRESSION]
    return suite | {"cases": shown, "n_no_regression": len(suite["cases"]) - len(shown)}


def _in_short(hardware: dict[str, Any], limit: int) -> dict[str, Any]:
    """Return a hardware comparison with the ratios of its cases alone, of at most so many."""
    cases = [
        {name: case[name] for name in ("benchmark", "params")}
        | {kind: {name: case[kind][name] for name in ("ratio", "best")} for kind in hardware["means"]}
        for case in hardware["cases"]
    ]
    return hardware | {"n_cases": len(cases), "cases": cases[:limit]}


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
