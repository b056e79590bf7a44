"""`inkwire inspect`: a recording in, the page that steps through it out, on this machine or in one file."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click
import msgspec

from inkwire import protocols
from inkwire.cli.context import EXIT_INTERRUPTED, complain, run
from inkwire.cli.decode import quirks_of
from inkwire.cli.options import AgentOptions
from inkwire.errors import ConfigurationError
from inkwire.inspector.document import Look, exported_page
from inkwire.inspector.notes import Language
from inkwire.inspector.source import Source
from inkwire.inspector.trace import Tracer
from inkwire.protocols.base import DecodeOptions
from inkwire.recording import Exchange, read_recording

__all__ = ["inspect", "inspected", "serve_page"]

_LAST_LOOK_SECONDS = 0.5


@click.command()
@click.option("--export", type=click.Path(dir_okay=False), metavar="PAGE", help="Write one self-contained HTML file.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="Listen there; else any free port.")
@click.option("--lang", type=click.Choice(["en", "zh"]), help="The page's language; else the browser's.")
@click.option(
    "--protocol", type=click.Choice(protocols.NAMES), help="What the bodies speak; told from them if not given."
)
@click.option("--tolerant", is_flag=True, help="Damage is a warning; then no call of the message may run.")
@click.option("--quirk", "quirks", multiple=True, metavar="NAME", help="A named deviation of the endpoint; repeatable.")
@click.option("--follow", is_flag=True, help="The recording is still being written: show what comes.")
@click.option("--no-open", is_flag=True, help="Only print the address; open no browser.")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False), metavar="FILE [FILE]")
def inspect(
    files: Sequence[str],
    export: str | None,
    port: int,
    lang: Language | None,
    protocol: str | None,
    tolerant: bool,
    quirks: Sequence[str],
    follow: bool,
    no_open: bool,
) -> None:
    """Step through a recording in the browser: what came, what is held, what the loop was given, which code ran.

    FILE is a recording, a HAR export, what `curl -i` printed, or a response body; two are shown side by side.
    """
    if len(files) > 2:
        raise click.UsageError(f"one recording, or two to compare; got {len(files)}")
    if follow and export is not None:
        raise click.UsageError("--export writes what is there; it cannot --follow")
    if export is not None and any(Path(name).samefile(export) for name in files if Path(export).exists()):
        raise click.UsageError(f"{export} is the recording itself; name another file for the page")
    options = DecodeOptions(quirks_of(quirks), tolerant)
    sources = [
        Source(
            title,
            Path(name) if follow else _exchanges(name),
            live=follow,
            tracer=Tracer(protocol=protocol, options=options),
        )
        for name, title in zip(files, _titles(files), strict=True)
    ]
    look = Look("pair" if len(files) > 1 else "one", lang, live=follow)
    if export is not None:
        _write(exported_page(sources, look), export)
        return
    sys.exit(run(serve_page(sources, look, port=port, open_page=not no_open)))


async def serve_page(sources: Sequence[Source], look: Look, *, port: int = 0, open_page: bool = True) -> int:
    """Serve the page until Ctrl-C; gives the exit code."""
    from inkwire.inspector.server import InspectorServer

    try:
        async with InspectorServer(sources, port=port, look=look) as server:
            click.echo(f"Inspector: {server.url}\nCtrl-C ends it.")
            if open_page:
                _open_browser(server.url)
            with _stopped() as stop:
                await stop.wait()
    except OSError as error:
        complain(f"cannot listen on port {port} of 127.0.0.1: {error.strerror or error}")
        return 1
    return 0


async def inspected(
    options: AgentOptions, work: Callable[[AgentOptions], Awaitable[int]], *, until_interrupted: bool
) -> int:
    """Do an agent's work with the page open on what arrives; `until_interrupted` the page stays when it is done."""
    from inkwire.inspector.server import InspectorServer

    with tempfile.TemporaryDirectory(prefix="inkwire-") as directory, _hung_up() as hung_up:
        path = Path(options.record or Path(directory) / "recording.jsonl")
        source = Source(path.name if options.record else "inkwire", path, live=True)
        async with InspectorServer([source], look=Look(live=True)) as server:
            click.echo(f"Inspector: {server.url}", err=True)
            _open_browser(server.url)
            try:
                code = await work(msgspec.structs.replace(options, record=str(path)))
            except asyncio.CancelledError:
                if not hung_up.is_set():
                    raise
                return EXIT_INTERRUPTED
            source.end()
            if until_interrupted and code != EXIT_INTERRUPTED:
                click.echo("The page stays until Ctrl-C.", err=True)
                with _stopped() as stop:
                    await stop.wait()
            else:
                await asyncio.sleep(_LAST_LOOK_SECONDS)  # for a page to fetch the end
            return code


@contextmanager
def _hung_up() -> Iterator[asyncio.Event]:
    """Ends the task when the terminal is closed, so that it can clean up; the event tells that it was so."""
    event = asyncio.Event()
    loop, task = asyncio.get_running_loop(), asyncio.current_task()

    def end() -> None:
        event.set()
        if task is not None:
            task.cancel()

    loop.add_signal_handler(signal.SIGHUP, end)
    try:
        yield event
    finally:
        loop.remove_signal_handler(signal.SIGHUP)
        if event.is_set() and task is not None:
            task.uncancel()


def _titles(files: Sequence[str]) -> list[str]:
    """The files' names, with as many of their directories as tell them apart."""
    parts = [Path(name).absolute().parts for name in files]
    same = 1
    while len({path[-same:] for path in parts}) < len(parts) and same < max(map(len, parts)):
        same += 1
    if len({path[-same:] for path in parts}) < len(parts):
        same = 1
    return ["/".join(path[-same:]) for path in parts]


def _exchanges(name: str) -> list[Exchange]:
    try:
        exchanges = read_recording(Path(name))
    except (ConfigurationError, OSError) as error:
        raise click.UsageError(f"{name}: {error}") from error
    if not any(each.body or each.status or each.url for each in exchanges):
        raise click.UsageError(f"{name} holds no answer to look at")
    return exchanges


def _write(page: str, path: str) -> None:
    try:
        Path(path).write_text(page, encoding="utf-8")
    except OSError as error:
        raise click.UsageError(f"cannot write {path}: {error.strerror or error}") from error
    click.echo(f"Wrote {path} ({len(page.encode()) / 1024:,.0f} KiB). It opens from disk, without a network.")


@contextmanager
def _stopped() -> Iterator[asyncio.Event]:
    """An event that Ctrl-C sets, and whatever else asks a program to end."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    for number in numbers:
        loop.add_signal_handler(number, stop.set)
    try:
        yield stop
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)


def _open_browser(url: str) -> None:
    """Open the page where somebody sits in front of a screen; elsewhere the address that was printed is enough."""
    has_screen = sys.platform == "darwin" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
    if has_screen and sys.stderr.isatty():
        import webbrowser

        webbrowser.open(url)
