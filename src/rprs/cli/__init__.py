"""The command line: each verb is a few lines over the library.

Data goes to standard output, messages and progress to standard error. An error of the user is one line and the exit
code 2; problems that `rprs verify` finds give 1, an interruption 130.
"""

from __future__ import annotations

import gc
import inspect
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Annotated, Any, cast

import typer
from typer.core import TyperGroup

from rprs import __version__
from rprs.cautions import NetworkStorage, SlowStart
from rprs.errors import RprsError

__all__ = ["app", "main"]

# New objects before Python looks for garbage. A start makes 150,000 that stay: to look through them again and again
# would take a tenth of a first search.
COLLECT_AFTER = 100_000
ANYWHERE = ("--debug", "--quiet")  # general options that may also follow the verb

# The verbs in the order of the help, by the module that has them.
VERBS = (
    "indexing.index",
    "indexing.add",
    "syncing.sync",
    "indexing.remove",
    "indexing.compact",
    "indexing.verify",
    "indexing.repair",
    "indexing.backup",
    "indexing.refit",
    "indexing.upgrade",
    "indexing.info",
    "browsing.list_",
    "browsing.find",
    "browsing.show",
    "system.systems",
    "searching.search",
    "searching.explain",
    "steering.sentences",
    "aligning.align",
    "covering.coverage",
    "passages.passages",
    "serving.serve",
    "assisting.mcp",
    "matching.matrix",
    "running.run",
    "running.rerank",
    "converting.convert",
    "measuring.evaluate",
    "measuring.compare",
    "tuning.tune",
    "studying.study",
    "indexing.pull",
)

# The only public error of Typer; the others share its parent class.
WrongUsage = cast("type[Exception]", typer.BadParameter.__base__)


class Verbs(TyperGroup):
    """All verbs; an error of the user is one line and an exit code."""

    def main(self, args: Any = None, *rest: Any, **options: Any) -> Any:
        """Run a command line and exit with its code."""
        words = list(sys.argv[1:] if args is None else args) or ["--help"]
        end = words.index("--") if "--" in words else len(words)
        front = [word for word in words[:end] if word in ANYWHERE]
        ordered = front + [word for word in words[:end] if word not in ANYWHERE] + words[end:]
        try:
            code = super().main(ordered, *rest, **{**options, "prog_name": "rprs", "standalone_mode": False})
        except WrongUsage as error:
            context = getattr(error, "ctx", None)
            command = context.command_path if context else "rprs"
            code = _fail(f"{error.format_message().rstrip('.')}: see {command} --help")  # type: ignore[attr-defined]  # see WrongUsage
        sys.exit(code if isinstance(code, int) else 0)

    def invoke(self, ctx: Any) -> Any:
        """Run the verb; an error that the user can act on becomes one line and an exit code."""
        try:
            with warnings.catch_warnings():
                for category in (NetworkStorage, SlowStart):
                    warnings.simplefilter("always", category)
                warnings.showwarning = _print_warning
                value = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:  # the reader has closed the pipe: `rprs search ... | head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(1) from None
        except (RprsError, OSError) as error:
            if ctx.params["debug"]:
                raise
            raise typer.Exit(_fail(_one_line(error))) from None
        except MemoryError:
            if ctx.params["debug"]:
                raise
            _fail("out of memory; committed work is kept: close other programs, or use a machine with more memory")
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            if ctx.params["debug"]:
                raise
            _fail("interrupted; committed work is kept")
            raise typer.Exit(130) from None
        return value


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return " ".join(str(error).split())


def _print_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"rprs: {message}", file=sys.stderr)


def _fail(line: str) -> int:
    print(f"rprs: {line}", file=sys.stderr)
    return 2


def _print_version(is_set: bool) -> None:
    if is_set:
        typer.echo(f"rprs {__version__}")
        raise typer.Exit


def general(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error. May follow the verb.")
    ] = False,
    quiet: Annotated[
        bool,
        typer.Option("--quiet", help="Print only data and errors, no messages and no progress. May follow the verb."),
    ] = False,
) -> None:
    """Options of all verbs."""
    from rprs.cli.messages import Messages

    context.obj = Messages(quiet)


def _unwrapped(docstring: str) -> str:
    """Each paragraph on one line: the terminal wraps it."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in inspect.cleandoc(docstring).split("\n\n"))


def _add(verbs: typer.Typer, verb: Callable[..., None]) -> None:
    verbs.command(verb.__name__.rstrip("_"), help=_unwrapped(verb.__doc__ or ""))(verb)


@cache
def make_app(verb: str | None = None) -> typer.Typer:
    """The command line with all verbs, or with one of them: importing the modules of all takes a tenth of a second."""
    app = typer.Typer(
        cls=Verbs,
        add_completion=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["--help", "-h"]},
    )
    app.callback(help="Which documents are like this whole document, and why?")(general)
    for each in VERBS:
        if verb in (None, _name(each)):
            _add(app, _function(each))
    for name, add in {"adapt": _add_adapt, "matter": _add_matter, "cluster": _add_cluster}.items():
        if verb in (None, name):
            add(app)
    return app


def _name(path: str) -> str:
    return path.partition(".")[2].rstrip("_")


def _function(path: str) -> Callable[..., None]:
    module, _, name = path.partition(".")
    function: Callable[..., None] = getattr(import_module(f"rprs.cli.{module}"), name)
    return function


def _add_group(app: typer.Typer, group: Callable[..., None], *verbs: Callable[..., None], **options: Any) -> None:
    """Verbs after a common first word."""
    within = typer.Typer(rich_markup_mode="rich", context_settings={"help_option_names": ["--help", "-h"]})
    within.callback(help=_unwrapped(group.__doc__ or ""), **options)(group)
    for verb in verbs:
        _add(within, verb)
    app.add_typer(within, name=group.__name__)


def _add_adapt(app: typer.Typer) -> None:
    from rprs.cli import adapting

    _add_group(app, adapting.adapt, adapting.tsdae, adapting.sdr, adapting.mtft, invoke_without_command=True)


def _add_matter(app: typer.Typer) -> None:
    from rprs.cli import matter_export, matters

    verbs = (matters.new, matters.add, matters.mark, matters.show, matters.run, matter_export.export)
    _add_group(app, matters.matter, *verbs, no_args_is_help=True)


def _add_cluster(app: typer.Typer) -> None:
    from rprs.cli import cluster_search, clusters

    _add_group(
        app,
        clusters.cluster,
        clusters.build,
        clusters.add,
        clusters.remove,
        clusters.verify,
        clusters.sweep,
        clusters.status,
        clusters.start,
        clusters.stop,
        clusters.node,
        *cluster_search.searching_verbs,
        no_args_is_help=True,
    )


def __getattr__(name: str) -> typer.Typer:
    if name == "app":
        return make_app()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _only_verb(words: Sequence[str]) -> str | None:
    """The verb of a command line; None where others may matter: in the help, a wrong name, or a completion."""
    first = next((word for word in words if word not in ANYWHERE), "")
    known = {*map(_name, VERBS), "adapt", "matter", "cluster"}
    return first if first in known and "_RPRS_COMPLETE" not in os.environ else None


def main() -> None:
    """The program `rprs`."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]  # an unprintable character is no reason to fail
    gc.set_threshold(COLLECT_AFTER, *gc.get_threshold()[1:])
    make_app(_only_verb(sys.argv[1:]))()
