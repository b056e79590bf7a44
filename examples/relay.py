"""A relay for a web page (FastAPI): our events go out as server-sent events while they arrive.

Run with `pip install fastapi uvicorn` and `uvicorn relay:app`; POST {"model": "openai/gpt-5", "prompt": "..."} to /ask.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from inkwire import Client, Request, UserMessage
from inkwire.errors import InkwireError


class Question(BaseModel):
    """What a page asks."""

    model: str
    prompt: str


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """One client, hence one pool of connections, for the whole server."""
    async with Client() as app.state.client:
        yield


app = FastAPI(lifespan=lifespan)


@app.post("/ask")
async def ask(question: Question) -> StreamingResponse:
    """Stream the answer; a page that goes away closes the stream, and with it the request to the model."""
    client: Client = app.state.client
    return StreamingResponse(_events(client, question), media_type="text/event-stream")


async def _events(client: Client, question: Question) -> AsyncIterator[bytes]:
    try:
        async with client.stream(Request(question.model, (UserMessage.of(question.prompt),))) as stream:
            async for event in stream:
                yield b"data: " + msgspec.json.encode(event) + b"\n\n"
    except InkwireError as error:
        yield (
            b"event: error\ndata: "
            + msgspec.json.encode({"type": type(error).__name__, "detail": str(error)})
            + b"\n\n"
        )
