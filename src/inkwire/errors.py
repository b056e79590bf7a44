"""Every way Inkwire fails, by cause.

    InkwireError
    ├── ConfigurationError       no key, unknown provider, bad config file
    ├── ModelError               the model call failed
    │   ├── TransportError           connect, TLS, connection lost
    │   ├── ModelTimeoutError        `.timer` says which
    │   ├── ServiceError             the service said no, by status or inside the stream
    │   │   AuthenticationError · RateLimitError · QuotaError · ContextOverflowError
    │   │   InvalidRequestError · ServerError
    │   ├── ProtocolError            not a stream of this protocol, or damage; `.excerpt`
    │   ├── IncompleteStreamError    it ended without its completion signal
    │   └── LimitExceededError       one event, one message, one error body, too many calls
    ├── StreamCancelled          what `result()` of a cancelled stream raises
    ├── ToolError                shown to the model as an error result
    ├── RunError                 the loop stopped: turn, cost or time limit
    └── ClosedError              used after it was closed, or read twice

The same cause has the same class whether it came as a status or inside a 200 stream.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from inkwire.surrogates import mend_surrogates

if TYPE_CHECKING:
    from inkwire.messages import AssistantMessage

__all__ = [
    "AuthenticationError",
    "ClosedError",
    "ConfigurationError",
    "ContextOverflowError",
    "IncompleteStreamError",
    "InkwireError",
    "InvalidRequestError",
    "LimitExceededError",
    "ModelError",
    "ModelTimeoutError",
    "Phase",
    "ProtocolError",
    "QuotaError",
    "RateLimitError",
    "RunError",
    "ServerError",
    "ServiceError",
    "StreamCancelled",
    "Timer",
    "ToolError",
    "TransportError",
]

Phase: TypeAlias = Literal["connect", "head", "body"]
Timer: TypeAlias = Literal["connect", "head", "idle", "progress", "total"]


class InkwireError(Exception):
    """The root of all errors that Inkwire raises on purpose."""


class ConfigurationError(InkwireError):
    """What the user set does not work; the message says what was seen, where, and what to set."""


class ModelError(InkwireError):
    """A model call failed; what is known about it stays on the error."""

    kind: ClassVar[str] = "model"
    """The cause in one word, as `inkwire decode` prints it."""

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        code: str | None = None,
        request_id: str | None = None,
        retryable: bool | None = None,
        retry_after: float | None = None,
        phase: Phase | None = None,
        committed: bool = False,
        partial: AssistantMessage | None = None,
    ) -> None:
        self.message: str = mend_surrogates(message)
        super().__init__(self.message)
        self.status = status
        """The HTTP status, or the one that the service's in-stream error stands for."""
        self.code: str | None = mend_surrogates(code)
        """The service's own code or error type."""
        self.request_id: str | None = mend_surrogates(request_id)
        self.retryable = retryable
        """True: asking again may help. False: it will not. None: unknown."""
        self.retry_after = retry_after
        """Seconds the service asked to wait."""
        self.phase = phase
        self.committed = committed
        """Whether model output was handed out before the error."""
        self.partial = partial
        """What had arrived; none of its calls is executable."""


class TransportError(ModelError):
    """The connection could not be made, was refused, or was lost."""

    kind = "transport"


class ModelTimeoutError(ModelError):
    """One of the timers of a model call ran out; `timer` names it."""

    kind = "timeout"

    def __init__(
        self, message: str, *, timer: Timer, phase: Phase | None = None, retryable: bool | None = True
    ) -> None:
        super().__init__(message, phase=phase, retryable=retryable)
        self.timer = timer


class ServiceError(ModelError):
    """The service said no, by status or inside the stream; the message is its own words."""

    kind = "remote"


class AuthenticationError(ServiceError):
    """The key is missing, wrong or not allowed to do this (401, 403)."""


class RateLimitError(ServiceError):
    """Too many requests for now (429)."""


class QuotaError(ServiceError):
    """The quota or the balance is used up; waiting does not help (402, or a 429 that says so)."""


class ContextOverflowError(ServiceError):
    """The input does not fit into the model's context window; shorten it."""


class InvalidRequestError(ServiceError):
    """The service does not accept this request (400, 404, 413, 422)."""


class ServerError(ServiceError):
    """The service failed or is overloaded (5xx, 408, 409)."""


class ProtocolError(ModelError):
    """What came is no stream of this protocol, or a part of it is damaged."""

    kind = "protocol"

    def __init__(
        self,
        message: str,
        *,
        excerpt: str = "",
        status: int | None = None,
        code: str | None = None,
        retryable: bool | None = None,
        committed: bool = False,
        partial: AssistantMessage | None = None,
    ) -> None:
        super().__init__(
            message, status=status, code=code, retryable=retryable, phase="body", committed=committed, partial=partial
        )
        self.excerpt: str = mend_surrogates(excerpt)
        """The start of the bytes that could not be read, as text."""


class IncompleteStreamError(ModelError):
    """The stream ended without its protocol's completion signal."""

    kind = "incomplete"


class LimitExceededError(ModelError):
    """An event, a message, an error body or the number of calls passed its limit."""

    kind = "limit"


class StreamCancelled(InkwireError):
    """The stream was cancelled before its message was handed out; `partial` is what had arrived."""

    def __init__(self, message: str = "the stream was cancelled", *, partial: AssistantMessage | None = None) -> None:
        super().__init__(message)
        self.partial = partial


class ToolError(InkwireError):
    """A tool refused or failed; the message goes to the model as an error result."""


class RunError(InkwireError):
    """The loop stopped before the model was done: turn, cost or time limit."""


class ClosedError(InkwireError):
    """Something was used after it was closed, or read twice."""
