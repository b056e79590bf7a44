"""Text that JSON escapes may have broken in; text that can be written as UTF-8 out."""

from __future__ import annotations

import re
from typing import Any, Final

__all__ = ["has_surrogates", "mend_surrogates"]

_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def has_surrogates(text: str) -> bool:
    """Whether half a surrogate pair stands in the text."""
    return not text.isascii() and _SURROGATE.search(text) is not None


def mend_surrogates(value: Any) -> Any:
    """The value with each half of a surrogate pair that stands alone replaced by U+FFFD."""
    if isinstance(value, str):
        return value if value.isascii() else _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [mend_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {mend_surrogates(key): mend_surrogates(item) for key, item in value.items()}
    return value
