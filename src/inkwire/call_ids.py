"""Call ids as they came in, ids that an endpoint accepts out: of its form, and each once in a conversation.

A good id stays. Others are derived from themselves, by hash where they must be shorter, so that the same history gives
the same ids. Sources: api.mistral.ai (9 of a-z, A-Z, 0-9), Anthropic and Bedrock (`^[a-zA-Z0-9_-]{1,64}$`), OpenAI
(40 characters in chat completions, 64 in responses).
"""

from __future__ import annotations

import hashlib
import re
import string
from typing import Literal, TypeAlias

__all__ = ["CallIds", "IdForm"]

IdForm: TypeAlias = Literal["any", "alphanumeric_9", "openai_40", "openai_64", "word_64"]

_FORMS: dict[IdForm, re.Pattern[str]] = {
    "any": re.compile(r".+", re.DOTALL),
    "alphanumeric_9": re.compile(r"[a-zA-Z0-9]{9}"),
    "openai_40": re.compile(r".{1,40}", re.DOTALL),
    "openai_64": re.compile(r"[a-zA-Z0-9_-]{1,64}"),
    "word_64": re.compile(r"[a-zA-Z0-9_-]{1,64}"),
}
_LENGTHS: dict[IdForm, int] = {"any": 64, "alphanumeric_9": 9, "openai_40": 40, "openai_64": 64, "word_64": 64}
_ALPHABET = string.ascii_letters + string.digits
_HASH_LENGTH = 12
_NUMBERED = re.compile(r"(.*:)([0-9]{1,9})", re.DOTALL)
"""Kimi's ids (`functions.read:0`): its templates read the number, so a twin gets the next one."""


class CallIds:
    """Gives out the ids of one conversation, in order."""

    def __init__(self, form: IdForm) -> None:
        self._form = form
        self._given: set[str] = set()
        self._twins: dict[str, int] = {}
        """How often an id was given out under another name already: the next try starts there, not at 1."""

    def give(self, identity: str, name: str) -> str:
        """The id to send for a call that has this one here: itself if it is good and new, else one derived from it."""
        given = identity
        if not self._is_good(given):
            given = self._shaped(identity, name)
        while given in self._given or not self._is_good(given):
            given = self._next(identity, name)
        self._given.add(given)
        return given

    def _is_good(self, identity: str) -> bool:
        return _FORMS[self._form].fullmatch(identity) is not None

    def _shaped(self, identity: str, name: str) -> str:
        """The id in the wanted form, as like the first as it can be."""
        if self._form == "alphanumeric_9":
            return _digest(identity or name, 9)
        word = re.sub(r"[^a-zA-Z0-9_-]", "_", identity) if self._form.endswith("_64") else identity
        return word if self._is_good(word) else self._suffixed(word or "call", identity or name)

    def _next(self, identity: str, name: str) -> str:
        """Another id for a twin."""
        number = self._twins[identity] = self._twins.get(identity, 0) + 1
        seed = f"{identity or name}#{number}"
        if self._form == "alphanumeric_9":
            return _digest(seed, 9)
        numbered = _NUMBERED.fullmatch(identity)
        if numbered and self._is_good(counted := f"{numbered[1]}{int(numbered[2]) + number}"):
            return counted
        return self._suffixed(identity or "call", seed)

    def _suffixed(self, identity: str, seed: str) -> str:
        room = _LENGTHS[self._form] - _HASH_LENGTH - 1
        word = re.sub(r"[^a-zA-Z0-9_-]", "_", identity) if self._form.endswith("_64") else identity
        return f"{word[:room]}_{_digest(seed, _HASH_LENGTH)}"


def _digest(text: str, length: int) -> str:
    number = int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest(), "big")
    digits = []
    for _ in range(length):
        number, digit = divmod(number, len(_ALPHABET))
        digits.append(_ALPHABET[digit])
    return "".join(digits)
