"""What the agent's command line said, as one value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from inkwire.providers.config import PermissionMode

__all__ = ["AgentOptions", "OutputFormat"]

OutputFormat = Literal["text", "json", "stream-json"]


class AgentOptions(msgspec.Struct, frozen=True):
    """The options of `inkwire [PROMPT]`; None where nothing was said."""

    prompt: str = ""
    print_mode: bool = False
    model: str | None = None
    base_url: str | None = None
    protocol: str | None = None
    resume_last: bool = False
    resume: str | None = None
    no_session: bool = False
    permission_mode: PermissionMode | None = None
    tools: tuple[str, ...] | None = None
    """None: the standard ones; empty: none."""
    allowed_tools: tuple[str, ...] | None = None
    max_turns: int | None = None
    max_cost: float | None = None
    system_prompt: str | None = None
    append_system_prompt: str | None = None
    output_format: OutputFormat = "text"
    record: str | None = None
    inspect: bool = False

    @classmethod
    def of(cls, words: tuple[str, ...], chosen: Mapping[str, object]) -> AgentOptions:
        """The options from click's values; several words are one prompt."""
        return msgspec.convert({**chosen, "prompt": " ".join(words)}, cls)
