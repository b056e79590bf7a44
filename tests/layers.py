"""The layers of src/inkwire, lowest first, and who may touch a socket: the one table that test_layering.py holds.

A module may import its own layer and those below it. ARCHITECTURE.md explains the rows.
"""

from __future__ import annotations

LAYERS: tuple[tuple[str, ...], ...] = (
    ("messages", "errors", "json_depth", "limits", "surrogates", "version"),
    ("events", "fragments"),
    ("framing", "partial_json"),
    ("arguments", "gate"),
    ("assembler", "calls", "text_parts"),
    ("protocols",),
    ("pipeline", "captured", "recording", "json_schema"),
    ("call_ids", "projection"),
    ("providers",),
    ("transport",),
    ("client", "call", "stream", "sync"),
    ("tools",),
    ("agent",),
    ("__init__",),
    ("loopback",),
    ("local", "replay"),
    ("terminal", "inspector", "demo"),
    ("cli", "__main__"),
)

NARROWER: dict[str, tuple[str, ...]] = {
    # A protocol says what the wire said; putting it together is for the layers around it.
    "protocols": (
        "messages",
        "errors",
        "events",
        "fragments",
        "framing.frame",
        "json_depth",
        "surrogates",
        "protocols",
    ),
}

SOCKET_MODULES = ("aiohttp", "aiohttp_socks", "http.client", "http.server", "socket", "ssl", "urllib.request")
SOCKET_ROOMS = ("transport", "local", "recording", "replay", "inspector", "loopback", "tools.mcp")

# Everything below this layer is pure: no event loop.
FIRST_WITH_ASYNCIO = "transport"

# Not loaded by `import inkwire`, nor by looking up any public name: each comes with its first use.
HEAVY = (
    "aiohttp",
    "botocore",
    "click",
    "genai_prices",
    "jsonschema",
    "mcp",
    "opentelemetry",
    "prompt_toolkit",
    "pydantic",
    "rich",
    "xllamacpp",
)
