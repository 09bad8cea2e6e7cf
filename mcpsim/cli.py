"""The `mcpsim` command.

Exit codes: 0, all is well; 1, what was checked is not as it should be; 2, the command could not do its work.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, get_args

from mcpsim.course import STORIES, basket_shop, help_desk, old_desk, picky_desk
from mcpsim.eras.revisions import ClientEra, ServerEra
from mcpsim.errors import McpSimError, ServerNotFound
from mcpsim.recording import Recording
from mcpsim.server import Server
from mcpsim.transports.faults import Cut, Delay, Drop, Duplicate, Fault, Reorder
from mcpsim.transports.link import Stdio, StreamableHttp
from mcpsim.workbook import (
    MANIFEST,
    Copied,
    NotebookProblem,
    Outcome,
    copy_workbook,
    find_notebooks,
    find_source,
    open_lab,
    pristine,
    refresh,
    require_lab,
    trust,
)

DEFAULT_FOLDER: Final = Path("mcp-workbook")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the `mcpsim` command.

    Args:
        arguments: the words after `mcpsim`; those of this process if not given.

    Returns:
        The exit code. argparse itself exits with 2 where the arguments make no sense.
    """
    words = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    parser = argparse.ArgumentParser(prog="mcpsim", description="The MCP workbook.")
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in COMMANDS:
        subparser = subparsers.add_parser(command.name, help=command.help, description=command.help)
        command.declare(subparser)
        subparser.set_defaults(run=command.run)
    # argparse would take the options of another program, after `--`, for arguments of ours.
    own, extra = _split(words)
    options = parser.parse_args(own)
    if extra and not hasattr(options, "extra"):
        parser.error(f"{options.command} takes nothing after --")
    if extra:
        options.extra = extra
    try:
        return options.run(options)
    except McpSimError as error:
        print(f"mcpsim {options.command}: {error}", file=sys.stderr)
        return 2


def _split(words: list[str]) -> tuple[list[str], list[str]]:
    if "--" not in words:
        return words, []
    at = words.index("--")
    return words[:at], words[at + 1 :]


@dataclass(frozen=True, slots=True)
class Command:
    """One command: its name, its help, how it declares its arguments, and what it does."""

    name: str
    help: str
    declare: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


def _declare_lab(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder",
        nargs="?",
        type=Path,
        metavar="FOLDER",
        help=f"where your copy of the workbook is, or shall be (default: {DEFAULT_FOLDER}; in a checkout of "
        "the project, the checkout itself). What you changed there is kept.",
    )
    parser.set_defaults(extra=[])
    parser.usage = f"{parser.prog} [-h] [--no-browser] [--copy-only] [FOLDER] [-- OPTIONS OF JUPYTERLAB]"
    parser.add_argument("--no-browser", action="store_true", help="do not open a web browser")
    parser.add_argument(
        "--copy-only", action="store_true", help="copy the workbook, and do not start JupyterLab"
    )


def _lab(options: argparse.Namespace) -> int:
    source = find_source()
    if not options.copy_only:
        require_lab(source)
    as_shipped = pristine(source)
    here = Path.cwd()
    if options.folder is None and (here / MANIFEST).is_file():
        # Started inside of a learner's workbook: that one is meant, and no second one in it.
        options.folder = here
    if options.folder is None and source.is_checkout:
        folder = source.root
        print(f"The workbook is in {folder}.")
    else:
        folder = options.folder or DEFAULT_FOLDER
        rows = copy_workbook(source, folder)
        as_shipped = {row.shipped for row in rows if row.shipped and row.name in as_shipped}
        _report_copies(folder, rows)
    if not options.copy_only:
        trust(folder / name for name in as_shipped)
        open_lab(folder, browser=not options.no_browser, extra=options.extra)
    return 0


def _report_copies(folder: Path, rows: Sequence[Copied]) -> None:
    """One line a file that is of interest, and a count of all."""
    for row in rows:
        if row.outcome is not Outcome.SAME:
            print(f"  {row}")
    counts = Counter(row.outcome for row in rows)
    total = ", ".join(f"{counts[outcome]} {outcome.short}" for outcome in Outcome if counts[outcome])
    print(f"The workbook is in {folder.resolve()} ({total}).")


def _declare_notebooks(parser: argparse.ArgumentParser) -> None:
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--refresh", action="store_true", help="run the notebooks and write them back")
    action.add_argument(
        "--check", action="store_true", help="run the notebooks and say which are out of date"
    )
    parser.add_argument(
        "paths",
        nargs="*",
        type=Path,
        metavar="PATH",
        help="notebooks, or folders of notebooks (default: all of the workbook)",
    )


def _notebooks(options: argparse.Namespace) -> int:
    exit_code = 0
    for path in find_notebooks(options.paths, find_source()):
        try:
            result = refresh(path)
        except NotebookProblem as error:
            print(error, file=sys.stderr)
            exit_code = 1
            continue
        if result.is_current:
            print(f"{path}: up to date")
        elif options.refresh:
            path.write_bytes(result.fresh)
            print(f"{path}: refreshed")
        else:
            print(f"{path}: out of date; run: mcpsim notebooks --refresh {path}")
            exit_code = 1
    return exit_code


def _declare_stories(parser: argparse.ArgumentParser) -> None:
    del parser  # The list takes no arguments.


def _stories(options: argparse.Namespace) -> int:
    del options
    width = max(map(len, STORIES))
    for name, story in STORIES.items():
        print(f"{name:{width}}  {story.what} ({', '.join(story.eras)})")
    return 0


def _declare_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("story", choices=STORIES, metavar="STORY", help="a name from `mcpsim stories`")
    parser.add_argument(
        "--era", choices=get_args(ClientEra), help="the client's era (default: the story's first)"
    )
    parser.add_argument("--transport", choices=TRANSPORTS, default="stdio", help="default: stdio")
    parser.add_argument(
        "--seed", type=_seed, default=0, help="where every random draw comes from (default: 0)"
    )
    parser.add_argument(
        "--fault",
        action="append",
        default=[],
        type=_fault,
        dest="faults",
        metavar="KIND:MESSAGE[:NTH]",
        help=f"what goes wrong on the way: {', '.join(FAULTS)}; then a method, or 'result of METHOD', or '*' "
        "for any message; then which one of them (default: the first). May be given again.",
    )
    parser.add_argument("--format", choices=FORMATS, default="transcript", help="default: transcript")
    parser.add_argument("--save", type=Path, metavar="FILE", help="write to a file, and print nothing")


def _seed(text: str) -> int | str:
    return int(text) if text.isdecimal() else text


def _fault(text: str) -> Fault:
    kind, _, rest = text.partition(":")
    message, _, nth = rest.partition(":")
    if kind not in FAULTS or not message or not (nth or "1").isdecimal() or int(nth or "1") < 1:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not KIND:MESSAGE[:NTH], such as drop:notifications/progress:2; "
            f"kinds are {', '.join(FAULTS)}"
        )
    return FAULTS[kind](message, nth=int(nth or "1"))


def _run(options: argparse.Namespace) -> int:
    story = STORIES[options.story]
    if options.era is not None and options.era not in story.eras:
        raise McpSimError(f"{story.name} is played as {' or '.join(story.eras)}, not as {options.era}.")
    run = story.play(
        era=options.era,
        transport=TRANSPORTS[options.transport](),
        seed=options.seed,
        faults=options.faults,
        check=False,
    )
    content = FORMATS[options.format](run.recording)
    try:
        if options.save is not None:
            options.save.write_bytes(content)
        else:
            sys.stdout.buffer.write(content)
            sys.stdout.buffer.flush()
    except OSError as error:
        raise McpSimError(f"The run cannot be written: {error}") from error
    if run.error is not None:
        print(f"The story ended in {type(run.error).__name__}: {run.error}", file=sys.stderr)
        return 1
    return 0


def _declare_serve(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "server",
        metavar="SERVER",
        help="module:name, a Server or a function that makes one, also from the current folder; or a "
        f"built-in one: {', '.join(SERVERS)}",
    )
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--stdio", action="store_true", help="on standard input and output, until input ends")
    parser.add_argument(
        "--era", choices=get_args(ServerEra), help="the era to serve (default: the server's own)"
    )


def _serve(options: argparse.Namespace) -> int:
    # Only this needs threads and signals, which do not exist everywhere.
    from mcpsim.live import load_server, run_stdio

    era: ServerEra | None = options.era

    def make() -> Server:
        if ":" in options.server:
            return load_server(options.server, era)
        if options.server not in SERVERS:
            raise ServerNotFound(
                f"There is no built-in server {options.server!r}, but {', '.join(SERVERS)}. For your own, "
                "write module:name."
            )
        return SERVERS[options.server](**({} if era is None else {"era": era}))

    run_stdio(make)
    return 0


def _transcript(recording: Recording) -> bytes:
    return f"{recording.transcript()}\n".encode()


def _html(recording: Recording) -> bytes:
    # The widgets are slow to import, and only this needs them.
    from mcpsim.widgets import standalone_html

    return standalone_html(recording).encode()


def _svg(recording: Recording) -> bytes:
    from mcpsim.widgets import still_svg

    return still_svg(recording).encode()


TRANSPORTS: Final[Mapping[str, Callable[[], Stdio | StreamableHttp]]] = {
    "stdio": Stdio,
    "http": StreamableHttp,
}
FAULTS: Final[Mapping[str, Callable[..., Fault]]] = {
    "drop": Drop,
    "delay": Delay,
    "duplicate": Duplicate,
    "reorder": Reorder,
    "cut": Cut,
}
FORMATS: Final[Mapping[str, Callable[[Recording], bytes]]] = {
    "transcript": _transcript,
    "jsonl": Recording.to_jsonl,
    "svg": _svg,
    "html": _html,
}
SERVERS: Final[Mapping[str, Callable[..., Server]]] = {
    "help-desk": help_desk,
    "basket-shop": basket_shop,
    "picky-desk": picky_desk,
    "old-desk": old_desk,
}
COMMANDS: Final = (
    Command("lab", "Open the workbook in JupyterLab, copied to a folder first.", _declare_lab, _lab),
    Command("stories", "List the built-in stories.", _declare_stories, _stories),
    Command("run", "Play a built-in story.", _declare_run, _run),
    Command("serve", "Serve a server to a real client.", _declare_serve, _serve),
    Command("notebooks", "Run the workbook's notebooks again.", _declare_notebooks, _notebooks),
)
