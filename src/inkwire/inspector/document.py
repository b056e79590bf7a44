"""The page's files in, one HTML document out: with links for the server, or with everything inside for a bug report."""

from __future__ import annotations

import gzip
import hashlib
import json
from base64 import b64encode
from collections.abc import Sequence
from importlib.resources import files
from typing import Literal

import msgspec

from inkwire.inspector.notes import Language, Words
from inkwire.inspector.page import note_words
from inkwire.inspector.source import Source
from inkwire.version import __version__

__all__ = ["STATIC", "Look", "exported_page", "static_bytes", "written_page"]

_SCRIPTS = (
    *("words.js", "elements.js", "trace.js", "search.js", "compare.js"),
    *("timeline.js", "panels.js", "lists.js", "view.js", "app.js"),
)
"""In the order in which they are loaded."""
STATIC = {"style.css": "text/css", "icon.svg": "image/svg+xml", **dict.fromkeys(_SCRIPTS, "text/javascript")}
"""The files that the page may load, and their media types."""


class Look(msgspec.Struct, frozen=True):
    """How the page shows its recordings."""

    layout: Literal["one", "pair", "choose"] = "one"
    """One recording; two side by side; several to choose from."""
    language: Language | None = None
    """None: as the browser says."""
    live: bool = False
    """The recording is still being written."""
    about: tuple[Words, ...] = ()
    """A line for each recording, or nothing."""
    first: int = 0
    """The recording that is shown first, of several to choose from."""


def static_bytes(name: str) -> bytes:
    """One of the page's files."""
    return (files("inkwire.inspector") / "static" / name).read_bytes()


def written_page(names: Sequence[str], look: Look) -> str:
    """The page that loads its files and chunks from the server."""
    links = ['<link rel="icon" href="static/icon.svg">', '<link rel="stylesheet" href="static/style.css">']
    scripts = [f'<script defer src="static/{name}"></script>' for name in _SCRIPTS]
    return _filled("\n".join(links + scripts), _config(names, look, served=True))


def exported_page(sources: Sequence[Source], look: Look) -> str:
    """The page as one file that works from disk without a network: files inside, chunks inside, packed.

    The policy in it allows its own script and style by their hashes, and nothing else.
    """
    style = static_bytes("style.css").decode()
    script = "\n".join(static_bytes(name).decode() for name in _SCRIPTS)
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; base-uri 'none'; "
        "form-action 'none'"
    )
    head = [f'<meta http-equiv="Content-Security-Policy" content="{policy}">', f"<style>{style}</style>"]
    data = [_config([source.name for source in sources], look, served=False)]
    for number, source in enumerate(sources):
        for chunk in source.chunks():
            packed = b64encode(gzip.compress(chunk, 6, mtime=0)).decode()
            data.append(f'<script type="text/plain" class="chunk" data-source="{number}">{packed}</script>')
    return _filled("\n".join(head), "\n".join([*data, f"<script>{script}</script>"]))


def _config(names: Sequence[str], look: Look, *, served: bool) -> str:
    config = {
        **msgspec.to_builtins(look),
        "names": names,
        "served": served,
        "notes": note_words(),
        "version": __version__,
    }
    text = json.dumps(config, ensure_ascii=False).replace("<", "\\u003c")
    return f'<script type="application/json" id="config">{text}</script>'


def _filled(head: str, data: str) -> str:
    page = static_bytes("page.html").decode()
    before, _, rest = page.partition("<!-- head -->")
    middle, _, after = rest.partition("<!-- data -->")
    return f"{before}{head}{middle}{data}{after}"


def _hash(text: str) -> str:
    return f"sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
