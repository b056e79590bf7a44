"""The token counts of a chat chunk, under any of the names that services use for them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from inkwire.fragments import UsageFragment

__all__ = ["find_usage"]


def find_usage(chunk: Mapping[str, Any], choice: Mapping[str, Any]) -> UsageFragment | None:
    """The chunk's usage, the choice's (Moonshot) or Groq's, as totals; None when there is none."""
    groq = chunk.get("x_groq")
    places = (chunk.get("usage"), choice.get("usage"), groq.get("usage") if isinstance(groq, dict) else None)
    usage = next((place for place in places if isinstance(place, dict) and place), None)
    return None if usage is None else _read(usage)


def _read(usage: Mapping[str, Any]) -> UsageFragment:
    prompt_details = _object(usage, "prompt_tokens_details", "input_tokens_details")
    output_details = _object(usage, "completion_tokens_details", "output_tokens_details")
    prompt = _count(usage, "prompt_tokens", "input_tokens")
    output = _count(usage, "completion_tokens", "output_tokens")
    reasoning = _count(output_details, "reasoning_tokens")
    if reasoning is None:
        reasoning = _count(usage, "reasoning_tokens")
    total = _count(usage, "total_tokens")
    if (
        prompt is not None
        and total is not None
        and total >= prompt
        and _lacks_reasoning(output, reasoning, total - prompt)
    ):
        output = total - prompt
    return UsageFragment(
        input_tokens=prompt,
        output_tokens=output,
        cache_read_tokens=_first(
            _count(prompt_details, "cached_tokens"),
            _count(usage, "cached_tokens", "cache_read_input_tokens", "prompt_cache_hit_tokens"),
        ),
        cache_write_tokens=_first(
            _count(prompt_details, "cache_write_tokens", "cache_creation_tokens"),
            _count(usage, "cache_creation_input_tokens", "cache_write_tokens"),
        ),
        reasoning_tokens=reasoning,
    )


def _lacks_reasoning(output: int | None, reasoning: int | None, rest: int) -> bool:
    """Whether the output count is null, or (xAI, Baseten) leaves out the reasoning that the total contains."""
    return output is None or (reasoning is not None and output < reasoning and rest > output)


def _object(usage: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    return next((usage[name] for name in names if isinstance(usage.get(name), dict)), {})


def _count(usage: Mapping[str, Any], *names: str) -> int | None:
    for name in names:
        value = usage.get(name)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < math.inf:
            return int(value)
    return None


def _first(*values: int | None) -> int | None:
    return next((value for value in values if value is not None), None)
