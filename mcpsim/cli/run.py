"""`mcpsim run`: play a built-in story, or one of the peers that misbehave."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Final, get_args

from mcpsim.cli.command import Command
from mcpsim.course import MISBEHAVING, STORIES, bench
from mcpsim.eras.revisions import ClientEra
from mcpsim.errors import McpSimError
from mcpsim.recording import Recording
from mcpsim.recording.run import Run
from mcpsim.simulation.link_text import check_step, is_link_text, write_link
from mcpsim.transports.faults import Crash, Cut, Delay, Drop, Duplicate, Fault, Reorder
from mcpsim.transports.link import Stdio, StreamableHttp


def _declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "name",
        type=_name,
        metavar="NAME",
        help="a name from `mcpsim stories`, or from `mcpsim misbehaving`; or a link text, such as "
        "mcpsim:three-pages?page_size=2#5",
    )
    parser.add_argument(
        "--well", action="store_true", help="of a peer that misbehaves: the same run with one that does not"
    )
    parser.add_argument(
        "--era", choices=get_args(ClientEra), help="the client's era (default: the story's first)"
    )
    parser.add_argument("--transport", choices=TRANSPORTS, help="default: the story's first")
    parser.add_argument("--seed", type=_seed, help="where every random draw comes from (default: 0)")
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
    parser.add_argument(
        "--format",
        choices=FORMATS,
        help="default: what the name of the saved file says (.jsonl, .svg, .html ...), otherwise transcript",
    )
    parser.add_argument("--save", type=Path, metavar="FILE", help="write to a file, and print nothing")


def _format(options: argparse.Namespace) -> str:
    if options.format is not None:
        return str(options.format)
    return "transcript" if options.save is None else SUFFIXES.get(options.save.suffix.lower(), "transcript")


def _name(text: str) -> str:
    if is_link_text(text):
        return text
    if text not in STORIES and text not in MISBEHAVING:
        near = get_close_matches(text, [*STORIES, *MISBEHAVING], n=3)
        meant = f"; perhaps {' or '.join(near)}" if near else ""
        raise argparse.ArgumentTypeError(
            f"there is no story {text!r}{meant}. `mcpsim stories` lists them, and `mcpsim misbehaving` the "
            "peers that misbehave"
        )
    return text


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


def _words(fault: Fault) -> str:
    nth = f":{fault.nth}" if fault.nth != 1 else ""
    return f"{type(fault).__name__.lower()}:{fault.message}{nth}"


def _story(options: argparse.Namespace) -> Run:
    story = STORIES[options.name]
    if options.well:
        raise McpSimError(f"{story.name} is a story; --well is for the names from `mcpsim misbehaving`.")
    if options.era is not None and options.era not in story.eras:
        raise McpSimError(f"{story.name} is played as {' or '.join(story.eras)}, not as {options.era}.")
    way = options.transport or story.ways[0]
    if way not in story.ways:
        raise McpSimError(f"{story.name} is played over {' or '.join(story.ways)}, not over {way}.")
    return story.play(
        era=options.era,
        transport=TRANSPORTS[way](),
        seed=0 if options.seed is None else options.seed,
        faults=options.faults,
        check=False,
    )


def _given(options: argparse.Namespace) -> str:
    """The first option that says how to play, or ""."""
    given = {
        "--era": options.era,
        "--transport": options.transport,
        "--seed": options.seed,
        "--fault": options.faults or None,
    }
    return next((option for option, value in given.items() if value is not None), "")


def _linked(options: argparse.Namespace) -> tuple[Run, Callable[[Recording], bytes]]:
    """The run of a link text, and how it is written: the page opens at its step."""
    from mcpsim.widgets.steps import steps_of

    option = "--well" if options.well else _given(options)
    if option:
        raise McpSimError(f"A link text says how its story is played: leave {option} out.")
    try:
        plan = bench(options.name)
        run = plan.play()
        step = check_step(plan.step, len(steps_of(run.recording).all))
    except (LookupError, ValueError) as error:
        raise McpSimError(str(error.args[0])) from error
    write = FORMATS[_format(options)]
    if write is not _html:
        return run, write
    return run, partial(_html, cursor=step, link=write_link(plan.name, plan.knobs, plan.settings))


def _peer(options: argparse.Namespace) -> Run:
    one = MISBEHAVING[options.name]
    option = _given(options)
    if option:
        raise McpSimError(f"{one.name} misbehaves in one way, and is played as it is: leave {option} out.")
    return one.play_well() if options.well else one.play()


def _run(options: argparse.Namespace) -> int:
    misbehaves = options.name in MISBEHAVING
    write = FORMATS[_format(options)]
    if is_link_text(options.name):
        run, write = _linked(options)
    else:
        run = _peer(options) if misbehaves else _story(options)
    content = write(run.recording)
    try:
        if options.save is not None:
            options.save.write_bytes(content)
        else:
            sys.stdout.buffer.write(content)
            sys.stdout.buffer.flush()
    except OSError as error:
        raise McpSimError(f"The run cannot be written: {error}") from error
    for fault in run.unused_faults:
        print(f"The fault {_words(fault)} changed nothing.", file=sys.stderr)
    if run.error is not None:
        print(f"The story ended in {type(run.error).__name__}: {run.error}", file=sys.stderr)
        # Where a peer misbehaves, the other one may refuse to go on, and is right.
        return 0 if misbehaves else 1
    return 0


def _transcript(recording: Recording) -> bytes:
    return f"{recording.transcript()}\n".encode()


def _mermaid(recording: Recording) -> bytes:
    return recording.to_mermaid().encode()


def _markdown(recording: Recording) -> bytes:
    return recording.to_markdown().encode()


def _audit(recording: Recording) -> bytes:
    return f"{recording.audit()}\n".encode()


def _html(recording: Recording, *, cursor: int = 1, link: str = "") -> bytes:
    # The widgets are slow to import, and only this needs them.
    from mcpsim.widgets import standalone_html

    return standalone_html(recording, cursor=cursor, link=link).encode()


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
    "crash": Crash,
}
#: What the name of a file says about its format.
SUFFIXES: Final[Mapping[str, str]] = {
    ".jsonl": "jsonl",
    ".mmd": "mermaid",
    ".md": "markdown",
    ".svg": "svg",
    ".html": "html",
    ".htm": "html",
}
FORMATS: Final[Mapping[str, Callable[[Recording], bytes]]] = {
    "transcript": _transcript,
    "jsonl": Recording.to_jsonl,
    "mermaid": _mermaid,
    "markdown": _markdown,
    "svg": _svg,
    "html": _html,
    "audit": _audit,
}
RUN: Final = Command("run", "Play a built-in story, or a peer that misbehaves.", _declare, _run)
