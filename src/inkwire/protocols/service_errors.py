"""A status, headers and a body, or a payload of a 200 stream, in; one `ServiceError` of the right class out.

Services say no in many shapes: `{"error": {...}}`, an error that is a string, `{"type": "error"}`, an `event: error`
with a flat message, `response.failed`, `{"message", "code"}` without anything else. One detector knows them all, and
one table of words decides the class, so that the same cause has the same class wherever it came from.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from inkwire.errors import (
    AuthenticationError,
    ContextOverflowError,
    InvalidRequestError,
    QuotaError,
    RateLimitError,
    ServerError,
    ServiceError,
)
from inkwire.protocols.payload import read_value
from inkwire.surrogates import mend_surrogates

__all__ = ["from_response", "in_payload", "request_id_of"]

_QUOTA, _CONTEXT, _AUTH, _RATE, _OVERLOAD = "quota", "context", "auth", "rate", "overload"
_SERVER, _INVALID, _MALFORMED = "server", "invalid", "malformed"

_WORDS: dict[str, tuple[str, int]] = {
    # Codes, types and status words, lower case -> cause and the HTTP status that they stand for.
    "insufficient_quota": (_QUOTA, 429),
    "quota_exceeded": (_QUOTA, 429),
    "exceeded_current_quota_error": (_QUOTA, 429),  # Moonshot
    "billing_hard_limit_reached": (_QUOTA, 429),
    "billing_not_active": (_QUOTA, 429),
    "billing_error": (_QUOTA, 402),  # Anthropic
    "insufficient_balance": (_QUOTA, 402),  # DeepSeek
    "insufficient_credits": (_QUOTA, 402),
    "payment_required": (_QUOTA, 402),
    "1113": (_QUOTA, 429),  # GLM: account in arrears
    "1008": (_QUOTA, 402),  # MiniMax: insufficient balance
    "servicequotaexceededexception": (_QUOTA, 400),
    "context_length_exceeded": (_CONTEXT, 400),
    "context_window_exceeded": (_CONTEXT, 400),
    "model_context_window_exceeded": (_CONTEXT, 400),
    "exceed_context_size_error": (_CONTEXT, 400),  # llama.cpp
    "max_context_length_exceeded": (_CONTEXT, 400),
    "1261": (_CONTEXT, 400),  # GLM: prompt too long
    "authentication_error": (_AUTH, 401),
    "invalid_api_key": (_AUTH, 401),
    "incorrect_api_key": (_AUTH, 401),
    "invalid_authentication_error": (_AUTH, 401),
    "unauthenticated": (_AUTH, 401),
    "unauthorized": (_AUTH, 401),
    "1004": (_AUTH, 401),  # MiniMax
    "permission_error": (_AUTH, 403),
    "permission_denied": (_AUTH, 403),
    "accessdeniedexception": (_AUTH, 403),
    "unrecognizedclientexception": (_AUTH, 403),
    "rate_limit_exceeded": (_RATE, 429),
    "rate_limit_error": (_RATE, 429),
    "rate_limit_reached_error": (_RATE, 429),
    "rate_limited": (_RATE, 429),
    "too_many_requests": (_RATE, 429),
    "resource_exhausted": (_RATE, 429),
    "throttlingexception": (_RATE, 429),
    "throttling": (_RATE, 429),
    "1302": (_RATE, 429),  # GLM: concurrency
    "1303": (_RATE, 429),  # GLM: frequency
    "1002": (_RATE, 429),  # MiniMax
    "overloaded_error": (_OVERLOAD, 529),
    "overloaded": (_OVERLOAD, 529),
    "server_overloaded": (_OVERLOAD, 503),
    "server_is_overloaded": (_OVERLOAD, 503),
    "slow_down": (_OVERLOAD, 503),
    "engine_overloaded_error": (_OVERLOAD, 503),
    "unavailable": (_OVERLOAD, 503),
    "service_unavailable": (_OVERLOAD, 503),
    "service_unavailable_error": (_OVERLOAD, 503),
    "serviceunavailableexception": (_OVERLOAD, 503),
    "modelnotreadyexception": (_OVERLOAD, 503),
    "1305": (_OVERLOAD, 503),  # GLM: too many requests in all
    "server_error": (_SERVER, 500),
    "internal_error": (_SERVER, 500),
    "internal_server_error": (_SERVER, 500),
    "api_error": (_SERVER, 500),
    "internal": (_SERVER, 500),
    "internalserverexception": (_SERVER, 500),
    "modelstreamerrorexception": (_SERVER, 500),
    "timeout_error": (_SERVER, 504),
    "deadline_exceeded": (_SERVER, 504),
    "modeltimeoutexception": (_SERVER, 504),
    "insufficient_system_resource": (_SERVER, 503),  # DeepSeek
    "network_error": (_SERVER, 500),  # GLM
    "vector_store_timeout": (_SERVER, 504),
    "invalid_request_error": (_INVALID, 400),
    "invalid_request": (_INVALID, 400),
    "invalid_argument": (_INVALID, 400),
    "failed_precondition": (_INVALID, 400),
    "invalid_prompt": (_INVALID, 400),
    "validationexception": (_INVALID, 400),
    "bad_request": (_INVALID, 400),
    "bad_request_error": (_INVALID, 400),
    "not_found_error": (_INVALID, 404),
    "not_found": (_INVALID, 404),
    "model_not_found": (_INVALID, 404),
    "resourcenotfoundexception": (_INVALID, 404),
    "request_too_large": (_INVALID, 413),
    "tool_use_failed": (_MALFORMED, 400),  # Groq: the model's own call was no JSON
    "malformed_tool_call": (_MALFORMED, 500),
    "malformed_function_call": (_MALFORMED, 500),
    "missing_thought_signature": (_INVALID, 400),  # Gemini
}

_CAUSES: dict[str, tuple[type[ServiceError], bool]] = {
    # Cause -> class and whether asking again may help.
    _QUOTA: (QuotaError, False),
    _CONTEXT: (ContextOverflowError, False),
    _AUTH: (AuthenticationError, False),
    _RATE: (RateLimitError, True),
    _OVERLOAD: (ServerError, True),
    _SERVER: (ServerError, True),
    _INVALID: (InvalidRequestError, False),
    _MALFORMED: (ServiceError, True),
}

_CONTEXT_PATTERN = re.compile(
    r"maximum context length|context[ _-](?:length|window|size)|prompt is too long|input is too long"
    r"|exceeds? the (?:model'?s? )?(?:maximum|max|available) context"
    r"|reduce the length of (?:the|your) (?:messages|prompt)"
    r"|input token count .{0,40}exceeds|too many (?:input )?tokens|exceeds the maximum number of tokens"
    r"|maximum prompt length",
    re.IGNORECASE,
)
_QUOTA_PATTERN = re.compile(
    r"exceeded your current quota|insufficient (?:balance|credits?|funds)|credit balance is too low|out of credits"
    r"|billing (?:hard )?limit|账户.{0,6}欠费|余额不足",
    re.IGNORECASE,
)
_HINT = re.compile(
    r"(?:try again|retry|retry again|available again) (?:in|after)\s{1,3}"
    r"(?:(\d{1,5})m(?!s))?\s{0,3}(\d{1,9}(?:\.\d{1,9})?)\s{0,3}(ms|milliseconds?|s|secs?|seconds?)\b",
    re.IGNORECASE,
)
_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_MAX_WORDS = 500
_REQUEST_ID_HEADERS = (
    "x-request-id",
    "request-id",
    "x-amzn-requestid",
    "x-goog-request-id",
    "apim-request-id",
    "x-ms-request-id",
    "x-trace-id",
    "cf-ray",
)


def from_response(status: int, headers: Mapping[str, str], body: bytes) -> ServiceError:
    """The error that a response with a status outside 2xx stands for, in the service's own words.

    `headers` in any case; `body` as far as it was kept. `retry_after` comes from the body only: the headers that ask
    for a wait are the transport's to read.
    """
    lower = {key.lower(): value for key, value in headers.items()}
    found = _describe(_document(body)) or _Words(message=_plain(body, lower.get("content-type", "")))
    if not found.message:
        where = f" (it points to {lower['location']})" if 300 <= status < 400 and lower.get("location") else ""
        found.message = f"the service answered with status {status} and no reason{where}"
    found.request_id = request_id_of(headers) or found.request_id
    return _build(found, status)


def in_payload(payload: Mapping[str, Any], event: str = "") -> ServiceError | None:
    """The error that this payload of a 200 stream stands for, or None when it is none."""
    found = _describe(payload, event)
    return None if found is None else _build(found, None)


def request_id_of(headers: Mapping[str, str]) -> str | None:
    """The service's name for this request, under any of the headers in use."""
    lower = {key.lower(): value for key, value in headers.items()}
    said = next((lower[name] for name in _REQUEST_ID_HEADERS if lower.get(name)), None)
    return None if said is None else str(mend_surrogates(said))  # a header's bad bytes come as halves


class _Words:
    """What was said, before it is judged."""

    def __init__(self, message: str = "", codes: tuple[Any, ...] = (), status: Any = None) -> None:
        self.message = message
        self.codes = tuple(code for code in codes if code not in (None, "", False, True))
        self.status = status
        self.retry_after: float | None = None
        self.request_id: str | None = None


def _document(body: bytes) -> Mapping[str, Any]:
    try:
        value = read_value(body)
    except Exception:
        return {}
    if isinstance(value, list) and value:
        value = value[0]
    return value if isinstance(value, dict) else {}


def _plain(body: bytes, content_type: str) -> str:
    text = body.decode("utf-8", "replace").strip()
    if "html" in content_type or text[:1] == "<":
        title = _TITLE.search(text)
        return f"an HTML page titled {title[1].strip()[:200]!r}" if title else "an HTML page instead of an answer"
    return text[:_MAX_WORDS]


def _describe(payload: Mapping[str, Any], event: str = "") -> _Words | None:
    """The words of an error in any of its shapes, or None."""
    kind = payload.get("type")
    response = payload.get("response")
    error = payload.get("error")
    if kind == "response.failed" or event == "response.failed":
        inner = response.get("error") if isinstance(response, dict) else error
        return _of_error(inner, payload) if isinstance(inner, (dict, str)) and inner else _Words("the response failed")
    if isinstance(error, (dict, str)) and error:
        return _of_error(error, payload)
    if kind == "error" or event == "error" or event.endswith("Exception"):
        return _of_error(payload, payload, event if event.endswith("Exception") else "")
    return _flat(payload)


def _flat(payload: Mapping[str, Any]) -> _Words | None:
    if isinstance(errors := payload.get("errors"), list) and errors and isinstance(errors[0], (dict, str)):
        return _of_error(errors[0], payload)
    base = payload.get("base_resp")  # MiniMax
    if isinstance(base, dict) and base.get("status_code"):
        return _Words(str(base.get("status_msg") or "the service failed"), (base["status_code"],))
    message = payload.get("message")
    if isinstance(message, str) and "choices" not in payload and {"code", "status", "type", "object"} & payload.keys():
        return _of_error(payload, payload)
    detail = payload.get("detail")
    if detail and "choices" not in payload and len(payload) <= 2:
        return _Words(detail if isinstance(detail, str) else _as_json(detail)[:_MAX_WORDS])
    return None


def _of_error(error: Mapping[str, Any] | str, payload: Mapping[str, Any], name: str = "") -> _Words:
    if isinstance(error, str):
        return _Words(error, (), payload.get("status_code"))
    nested = error.get("error")
    if isinstance(nested, dict) and not error.get("message"):
        return _of_error(nested, payload, name)
    message = error.get("message") or error.get("msg") or error.get("detail") or error.get("Message")
    words = _Words(
        message if isinstance(message, str) else _fallback(error),
        (error.get("code"), error.get("type") if error.get("type") != "error" else None, error.get("status"), name),
        error.get("status_code") or error.get("http_status") or payload.get("status_code"),
    )
    words.message = _with_upstream(words.message, error.get("metadata"))
    words.retry_after = _retry_info(error.get("details"))
    if isinstance(request_id := payload.get("request_id"), str):
        words.request_id = request_id
    return words


def _fallback(error: Mapping[str, Any]) -> str:
    said = {key: value for key, value in error.items() if value not in (None, "") and key != "type"}
    return _as_json(said)[:_MAX_WORDS] if said else "the service reported an error without words"


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _with_upstream(message: str, metadata: Any) -> str:
    raw = metadata.get("raw") if isinstance(metadata, dict) else None  # OpenRouter: the provider's own answer
    return f"{message}: {raw[:_MAX_WORDS]}" if isinstance(raw, str) and raw and raw not in message else message


def _retry_info(details: Any) -> float | None:
    """The delay of a google.rpc.RetryInfo, in seconds (`"2.5s"`)."""
    for detail in details if isinstance(details, list) else ():
        delay = detail.get("retryDelay") if isinstance(detail, dict) else None
        if isinstance(delay, str) and re.fullmatch(r"\d+(\.\d+)?s", delay):
            return float(delay[:-1])
    return None


def _hint(message: str) -> float | None:
    """The wait that the message names ("try again in 1.5s"), in seconds."""
    if (found := _HINT.search(message)) is None:
        return None
    minutes, amount, unit = found.groups()
    return int(minutes or 0) * 60 + float(amount) * (0.001 if unit.lower().startswith("m") else 1)


def _build(words: _Words, status: int | None) -> ServiceError:
    cause, meant = _judge(words, status)
    kind, retryable = _CAUSES[cause] if cause else (ServiceError, None)
    return kind(
        words.message[:_MAX_WORDS],
        status=status or meant,
        code=_code(words.codes),
        request_id=words.request_id,
        retryable=retryable,
        retry_after=words.retry_after if words.retry_after is not None else _hint(words.message),
        phase="head" if status else "body",
    )


def _code(codes: tuple[Any, ...]) -> str | None:
    """The most telling of the service's codes: a word before a number that only repeats the status."""
    said = [str(code) for code in codes]
    return next((code for code in said if _status(code) is None), said[0] if said else None)


def _judge(words: _Words, status: int | None) -> tuple[str | None, int | None]:
    """The cause and the status that the words stand for: the most telling word first, then numbers."""
    known = [_WORDS[word] for code in words.codes if (word := str(code).lower()) in _WORDS]
    number = status or next((n for code in (words.status, *words.codes) if (n := _status(code)) is not None), None)
    found = [cause for cause, _ in known]
    if _QUOTA in found or (number in (None, 400, 402, 403, 429) and _QUOTA_PATTERN.search(words.message)):
        return _QUOTA, number or next((s for cause, s in known if cause == _QUOTA), 429)
    # AWS throttles with "Too many tokens, please wait": the code decides against the words.
    told = number in (None, 400, 413, 422, 500) and _RATE not in found and _CONTEXT_PATTERN.search(words.message)
    if _CONTEXT in found or told:
        return _CONTEXT, number or 400
    specific = [pair for pair in known if pair[0] != _INVALID] or known
    if specific and (status is None or _agrees(specific[0][0], status)):
        return specific[0][0], number or specific[0][1]
    return _cause_of_status(number), number


def _agrees(cause: str, status: int) -> bool:
    # A gateway may wrap one service's words in another status: then the status decides, but for these.
    return cause in (_MALFORMED, _AUTH, _OVERLOAD) or _cause_of_status(status) == cause


def _status(code: Any) -> int | None:
    if isinstance(code, bool) or not isinstance(code, (int, str)):
        return None
    text = str(code)
    return int(text) if re.fullmatch(r"[45]\d\d", text) else None


def _cause_of_status(status: int | None) -> str | None:
    if status is None:
        return None
    if status in (401, 403):
        return _AUTH
    if status == 402:
        return _QUOTA
    if status == 429:
        return _RATE
    if status in (408, 409) or status >= 500:
        return _SERVER
    return _INVALID
