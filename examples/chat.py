"""A chat in ten lines: text appears as it arrives.

Run with a model's name, for example `python examples/chat.py openai/gpt-5 "Tell me a joke"`.
"""

from __future__ import annotations

import asyncio
import sys

from inkwire import Client, Request, TextDelta, UserMessage


async def main(model: str, prompt: str) -> None:
    """Ask once and print the answer."""
    async with Client() as client, client.stream(Request(model, (UserMessage.of(prompt),))) as stream:
        async for event in stream:
            if isinstance(event, TextDelta):
                print(event.text, end="", flush=True)
    print()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit('usage: chat.py PROVIDER/MODEL PROMPT, for example: chat.py openai/gpt-5 "Tell me a joke"')
    asyncio.run(main(sys.argv[1], sys.argv[2]))
