"""Headers and addresses in, the same without what is secret out."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["url_without_keys", "without_keys"]

# "token" alone: the counts in x-ratelimit-remaining-tokens are no secret.
_SECRET_HEADER = re.compile(
    r"authorization|x-auth|api-?key|token(?!s)|cookie|secret|signature|credential|password", re.IGNORECASE
)
_SECRET_QUERY = re.compile(r"([?&][^=&#]*(?:key|token|sig|signature|credential|secret|password)=)[^&#]+", re.IGNORECASE)
_USER = re.compile(r"//[^/@]+@")


def without_keys(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers with the values of those that carry a key or a cookie replaced by `***`."""
    return {name: "***" if _SECRET_HEADER.search(name) else value for name, value in headers.items()}


def url_without_keys(url: str) -> str:
    """The address with its user and the values of parameters that carry a key replaced by `***`."""
    return _SECRET_QUERY.sub(r"\1***", _USER.sub("//***@", url, count=1))
