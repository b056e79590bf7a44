"""Inkwire: one `stream()` over every model provider, with guarantees. No tool runs on half a call.

    from inkwire import Client, Request, UserMessage

    async with Client() as client:
        request = Request("openai/gpt-5", (UserMessage.of("Hello"),))
        async with client.stream(request) as stream:
            async for event in stream: ...
        stream.message.executable_calls

Errors are in `inkwire.errors`.
"""

from inkwire.client import Client
from inkwire.events import (
    Event,
    MessageEnd,
    RawEvent,
    ReasoningDelta,
    Retrying,
    StreamReset,
    TextDelta,
    ToolCallDelta,
    ToolCallStart,
)
from inkwire.limits import Limits
from inkwire.messages import (
    ArgumentsError,
    AssistantMessage,
    ImagePart,
    Message,
    OpaquePart,
    Part,
    ReasoningPart,
    Request,
    StreamWarning,
    SystemMessage,
    TextPart,
    Timeouts,
    ToolCall,
    ToolDefinition,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from inkwire.partial_json import PartialJSON
from inkwire.pipeline import Pipeline
from inkwire.stream import ModelStream
from inkwire.sync import SyncClient
from inkwire.version import __version__

__all__ = [
    "ArgumentsError",
    "AssistantMessage",
    "Client",
    "Event",
    "ImagePart",
    "Limits",
    "Message",
    "MessageEnd",
    "ModelStream",
    "OpaquePart",
    "Part",
    "PartialJSON",
    "Pipeline",
    "RawEvent",
    "ReasoningDelta",
    "ReasoningPart",
    "Request",
    "Retrying",
    "StreamReset",
    "StreamWarning",
    "SyncClient",
    "SystemMessage",
    "TextDelta",
    "TextPart",
    "Timeouts",
    "ToolCall",
    "ToolCallDelta",
    "ToolCallStart",
    "ToolDefinition",
    "ToolResultMessage",
    "Usage",
    "UserMessage",
    "__version__",
]
