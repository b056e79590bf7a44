"""A recording in, the exchanges that it holds out: what was asked, what was answered, and when each read came.

One JSON object a line, appended while things happen (docs/recording.md is the whole description):

    {"inkwire_recording":1,"created":…}                                        the first line of each run
    {"exchange":1,"kind":"request","at":…,"method":…,"url":…,"headers":{…},"body":…}
    {"exchange":1,"kind":"response","t":0.21,"status":200,"headers":{…}}
    {"exchange":1,"kind":"read","t":0.25,"text":…}      or "b64" where the bytes are no UTF-8
    {"exchange":1,"kind":"end","t":1.9,"how":"eof"}     eof, lost, closed, or the kind of the error

`t` is in seconds since the request. Keys are not in it. A torn line is left out. A browser's HAR export, what
`curl -i` printed and a plain body are read as recordings, too; they have no times.
"""

from __future__ import annotations

from pathlib import Path

from inkwire.captured import read_captured
from inkwire.recording.exchange import Exchange, Read
from inkwire.recording.har import read_har
from inkwire.recording.lines import LineReader, is_recording, read_lines
from inkwire.recording.protocol import is_protocol_told, protocol_of, protocol_of_url

__all__ = [
    "Exchange",
    "LineReader",
    "Read",
    "is_protocol_told",
    "is_recording",
    "protocol_of",
    "protocol_of_url",
    "read_recording",
]


def read_recording(source: bytes | Path | str) -> list[Exchange]:
    """The exchanges of a recording, a HAR export, a `curl -i` output or a plain body, given as bytes or as a file.

    Raises `ConfigurationError` for a HAR export that holds no answer, `OSError` for a file that cannot be read.
    """
    data = source if isinstance(source, bytes) else Path(source).read_bytes()
    start = data.removeprefix(b"\xef\xbb\xbf").lstrip()[:4096]
    if is_recording(start):
        return read_lines(data)
    if start.startswith(b"{") and b'"log"' in start and (found := read_har(data)) is not None:
        return found
    captured = read_captured(data)
    return [Exchange((Read(0.0, captured.body),), captured.status, captured.headers, timed=False)]
