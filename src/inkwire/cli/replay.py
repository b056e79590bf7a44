"""`inkwire replay`: a recording in, a stand-in provider on this machine out, until Ctrl-C."""

from __future__ import annotations

import asyncio
import math
import signal
import sys
from collections.abc import Sequence
from typing import Any, BinaryIO

import click

from inkwire.cli.context import complain, run
from inkwire.errors import ConfigurationError
from inkwire.recording import Exchange, protocol_of, read_recording
from inkwire.replay.faults import KINDS, Fault, parse_fault
from inkwire.terminal.sanitize import sanitize_line

__all__ = ["replay"]

_BASE_PATHS = {"chat": "/v1", "responses": "/v1", "gemini": "/v1beta"}
_VARIABLES = {
    "chat": "OPENAI_BASE_URL={url} OPENAI_API_KEY=replay",
    "responses": "OPENAI_BASE_URL={url} OPENAI_API_KEY=replay",
    "anthropic": "ANTHROPIC_BASE_URL={url} ANTHROPIC_API_KEY=replay",
    "gemini": "GOOGLE_GEMINI_BASE_URL={url} GEMINI_API_KEY=replay",
    "ollama": "OLLAMA_HOST={url}",
    "bedrock": "AWS_ENDPOINT_URL_BEDROCK_RUNTIME={url} AWS_BEARER_TOKEN_BEDROCK=replay",
}
_EPILOG = "\b\nFaults (without N in the middle of the body):\n" + "\n".join(
    f"  {form:<13}{words}" for form, words in KINDS.values()
)


def _faults(ctx: click.Context, parameter: click.Parameter, values: Sequence[str]) -> tuple[Fault, ...]:
    try:
        return tuple(parse_fault(value) for value in values)
    except ConfigurationError as error:
        raise click.BadParameter(str(error)) from error


def _finite(ctx: click.Context, parameter: click.Parameter, value: float) -> float:
    if not math.isfinite(value):
        raise click.BadParameter(f"{value} is no pace; 0 is as fast as it goes")
    return value


@click.command(epilog=_EPILOG)
@click.option("--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="Listen there; else any free port.")
@click.option(
    "--speed",
    type=click.FloatRange(0),
    default=1.0,
    metavar="X",
    callback=_finite,
    help="X times the recorded pace; 0 as fast as it goes.",
)
@click.option(
    "--fault",
    "faults",
    multiple=True,
    metavar="KIND[:ARG]",
    callback=_faults,
    help="Break the first answer; repeatable.",
)
@click.option("--every", is_flag=True, help="Break every answer, not only the first.")
@click.option("--loop", is_flag=True, help="After the last exchange, begin again.")
@click.argument("file", type=click.File("rb"))
def replay(file: BinaryIO, **options: Any) -> None:
    """Serve a recording on this machine as a stand-in provider, at its own pace.

    FILE is a recording, a HAR export, what `curl -i` printed, or a response body. Any client may ask; several
    exchanges are served in their order, or to the request that they were recorded with.
    """
    data = file.read()
    sys.exit(run(_serve(data, getattr(file, "name", "-"), options)))


async def _serve(data: bytes, name: str, options: dict[str, Any]) -> int:
    from inkwire.replay.server import ReplayServer, Served

    exchanges = read_recording(data)
    if not any(each.body or each.status or each.url for each in exchanges):
        raise ConfigurationError(f"{name} holds no answer to serve")

    def tell(served: Served) -> None:
        what = f"exchange {served.exchange}" if served.exchange else ""
        words = ", ".join(filter(None, (what, served.note)))
        click.echo(f"{served.method} {sanitize_line(served.path)}  {served.status}  {sanitize_line(words)}", err=True)

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    try:
        async with ReplayServer(exchanges, served=tell, **options) as server:
            click.echo(_introduction(exchanges, name, server.url, _broken(options["faults"], every=options["every"])))
            await stop.wait()
    except OSError as error:
        complain(f"cannot listen on port {options['port']} of 127.0.0.1: {error.strerror or error}")
        return 1
    return 0


def _introduction(exchanges: Sequence[Exchange], name: str, url: str, broken: Sequence[str]) -> str:
    lines = [f"Replaying {name}", *(f"  {_described(each)}" for each in exchanges), *broken, ""]
    for protocol in dict.fromkeys(map(protocol_of, exchanges)):
        base = url + _BASE_PATHS.get(protocol, "")
        told = "" if protocol == "chat" else f" --protocol {protocol}"
        variables = _VARIABLES[protocol].format(url=base if protocol != "gemini" else url)
        lines += [
            f"Base URL ({protocol}): {base}",
            f'  inkwire -m custom/replay --base-url {base}{told} "hello"',
            f"  export {variables}",
            "",
        ]
    return "\n".join([*lines, "Ctrl-C ends it."])


def _broken(faults: Sequence[Fault], *, every: bool) -> list[str]:
    """What will be broken on purpose, in one line."""
    if not faults:
        return []
    kinds = ", ".join(fault.kind if fault.value is None else f"{fault.kind}:{fault.value:g}" for fault in faults)
    return [f"Broken on purpose: {kinds} ({'every answer' if every else 'the first answer only; --every breaks all'})"]


def _described(exchange: Exchange) -> str:
    size = len(exchange.body)
    amount = f"{size:,} bytes" if size < 10_000 else f"{size / 1024:,.0f} KiB"
    times = f" in {len(exchange.reads)} reads, {exchange.reads[-1].seconds:.1f} s" if _is_timed(exchange) else ""
    status = exchange.status or ("no answer" if not exchange.reads else 200)
    address = sanitize_line(exchange.url, 80) or protocol_of(exchange)
    end = "" if exchange.end in ("eof", "closed") else f", then {exchange.end}"
    return f"{exchange.number}  {exchange.method} {address}  {status}  {amount}{times}{end}"


def _is_timed(exchange: Exchange) -> bool:
    return exchange.timed and bool(exchange.reads)
