"""An answer in, its price in US dollars out, where genai-prices (extra `prices`) is installed and knows the model."""

from __future__ import annotations

from functools import cache
from typing import Any

from inkwire.messages import AssistantMessage

__all__ = ["price_of"]

_PROVIDERS = {"gemini": "google", "bedrock": "aws", "xai": "x-ai", "moonshot": "moonshotai"}
"""Our names where the catalogue has another."""


@cache
def _catalogue() -> Any:
    """The package, loaded with the first answer that has usage; None without it."""
    try:
        import genai_prices
    except ImportError:
        return None
    return genai_prices


def price_of(answer: AssistantMessage) -> float | None:
    """US dollars of one answer; None when its usage or its price is not known."""
    usage = answer.usage
    if usage.input_tokens is None or usage.output_tokens is None or not answer.model:
        return None
    catalogue = _catalogue()
    if catalogue is None:
        return None
    counts = catalogue.Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
    )
    provider = _PROVIDERS.get(answer.provider, answer.provider) or None
    try:
        return float(catalogue.calc_price(counts, answer.model, provider_id=provider).total_price)
    except (LookupError, ValueError):
        return None
