"""An exception in, the failure that `RunEnd` carries out."""

from __future__ import annotations

from inkwire.agent.events import Failure
from inkwire.errors import ContextOverflowError, InkwireError, ModelError

__all__ = ["failure_of"]


def failure_of(error: InkwireError) -> Failure:
    """What is known of the error, as data."""
    if not isinstance(error, ModelError):
        return Failure("configuration", str(error))
    kind = "overflow" if isinstance(error, ContextOverflowError) else error.kind
    return Failure(kind, str(error), error.status, error.code, error.request_id, error.retryable, error.retry_after)
