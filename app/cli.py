"""The `ratchet` command. Commands are found by name and imported when they run, so that `--help` is quick."""

from __future__ import annotations

import gc
import importlib
import sys
from keyword import iskeyword
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click

COMMANDS = {
    "up": ("app.commands.up", "The whole service on this machine, a local worker included."),
    "demo": ("app.commands.demo", "A small repository with three pull requests, checked by the real path."),
    "check": ("app.commands.check", "A pull request's check from a terminal."),
    "detect": ("app.commands.detect", "Where the series of a CSV file changed."),
    "compare": (
        "app.commands.compare",
        "Base against head, from a CSV file, or of what a service has stored.",
    ),
    "history": ("app.commands.history", "How stored numbers have moved, with sparklines, JSON or CSV."),
    "runs": ("app.commands.runs", "Runs that were measured or posted, the newest first."),
    "export": ("app.commands.export", "A project's histories as JSON Lines, for `ratchet import` elsewhere."),
    "alerts": ("app.commands.alerts", "What became worse and waits for somebody, as a table, JSON or CSV."),
    "notifier": ("app.commands.notifier", "Who is told of a project's alerts, and whether messages arrive."),
    "report": ("app.commands.report", "A week's efficiency: what it cost, what moved, who should act."),
    "import": ("app.commands.import_history", "Bring the history of another tool into a project."),
    "mcp": ("app.commands.mcp", "The stored numbers as tools for assistants (Model Context Protocol)."),
    "devices": ("app.commands.devices", "What this machine can measure on, and what it tells of itself."),
    "doctor": ("app.commands.doctor", "What makes this machine a bad place to measure, and how to mend it."),
    "api": ("app.commands.processes", "The HTTP service by itself, for a deployment."),
    "tasks": ("app.commands.processes", "The Celery worker of the service by itself."),
    "beat": ("app.commands.processes", "The service's clock by itself."),
    "migrate": ("app.commands.processes", "Bring a database to this release's schema."),
    "setup": ("app.commands.processes", "Schema and first tokens of a deployment."),
    "token": ("app.commands.token", "Issue, list and revoke API tokens."),
    "prune": ("app.commands.prune", "Delete what is older than it is kept, or say what that is."),
    "backup": ("app.commands.backup", "The database and what belongs to it, in one file."),
    "restore": ("app.commands.restore", "A database and a data folder as a backup has them."),
    "resume": ("app.commands.restore", "Have a restored service measure, and tell GitHub, again."),
    "verify": ("app.commands.verify", "Whether what the database holds can be, or a backup."),
    "user": ("app.commands.user", "Add, list and change the people who sign in by name."),
    "github": (
        "app.commands.github",
        "The connection with GitHub: what is wrong with it, and how it is made.",
    ),
}
"""Name -> (module, one line of help); the module holds a click command of that name, `import_` for a word of Python."""

USAGE, DATA, FAULT, INTERRUPTED = 64, 65, 70, 130
"""Exit statuses of every command; 0 to 3 are a check's."""

EXTRAS = {"detect": "analysis", "compare": "analysis", "mcp": "mcp"}
"""Name -> the extra of the distribution that it needs; the others need those of the service."""

SERVICE_EXTRAS = "server,embedded"

GARBAGE_AFTER = 50_000
"""How many more objects there are when garbage is looked for; at the interpreter's own number, 700, a sixth of the time
that a service takes to start goes into looking through what it imports."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its status."""
    gc.set_threshold(GARBAGE_AFTER)
    sys.exit(run(arguments))


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    import click

    try:
        result = _group().main(args=arguments, prog_name="ratchet", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except click.exceptions.Abort:
        return INTERRUPTED
    except click.ClickException as error:
        error.show()
        return USAGE
    except KeyboardInterrupt:
        return INTERRUPTED
    except ModuleNotFoundError as error:
        if error.name and error.name.split(".")[0] in ("app", "workers"):
            raise
        return _report_missing(error.name, arguments)
    except Exception as error:
        return _report(error)


def _report_missing(package: str | None, arguments: list[str] | None) -> int:
    """Name the extra that brings what could not be imported, and return the status."""
    words = sys.argv[1:] if arguments is None else arguments
    command = next((word for word in words if word in COMMANDS), "")
    extra = f"ratchet-perf[{EXTRAS.get(command, SERVICE_EXTRAS)}]"
    print(
        f"ratchet: `{f'ratchet {command}'.strip()}` needs packages that are missing ({package}): "
        f"pip install '{extra}'",
        file=sys.stderr,
    )
    return FAULT


def _report(error: Exception) -> int:
    """Say what went wrong and return the status: our own errors in one sentence, faults with their trace."""
    from app.domain.errors import AccessError, DataError, NotFoundError, RatchetError, UsageError

    if isinstance(error, OSError):
        print(f"ratchet: {error.strerror or error}: {error.filename or 'no file named'}", file=sys.stderr)
        return FAULT
    if not isinstance(error, RatchetError):
        import traceback

        traceback.print_exception(error)
        print("ratchet: this is a fault of Ratchet; please report it with the lines above", file=sys.stderr)
        return FAULT
    print(f"ratchet: {error}", file=sys.stderr)
    if isinstance(error, UsageError | AccessError):
        return USAGE
    return DATA if isinstance(error, DataError | NotFoundError) else FAULT


def _group() -> click.Group:
    import click

    class Commands(click.Group):
        """Looks commands up in `COMMANDS`."""

        def list_commands(self, ctx: click.Context) -> list[str]:
            return list(COMMANDS)

        def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
            if cmd_name not in COMMANDS:
                return None
            name = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name
            command = getattr(importlib.import_module(COMMANDS[cmd_name][0]), name)
            assert isinstance(command, click.Command)
            return command

        def resolve_command(
            self, ctx: click.Context, args: list[str]
        ) -> tuple[str | None, click.Command | None, list[str]]:
            if not ctx.resilient_parsing:
                _refuse_misspelt(ctx, args[0])
            return super().resolve_command(ctx, args)

        def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
            with formatter.section("Commands"):
                formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    @click.group(cls=Commands, invoke_without_command=False)
    @click.version_option(package_name="ratchet-perf", prog_name="ratchet")
    def ratchet() -> None:
        """Continuous performance-regression checks for machine-learning code."""

    return ratchet


def _refuse_misspelt(ctx: click.Context, name: str) -> None:
    """End with the command that was probably meant, where there is one like it."""
    if name in COMMANDS or name.startswith("-"):
        return
    from app.settings.wording import nearest

    near = nearest(name, COMMANDS)
    if near:
        ctx.fail(f"No such command {name!r}. Did you mean {near!r}?")


if __name__ == "__main__":
    main()
