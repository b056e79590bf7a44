"""A tool loop by hand: only `message.executable_calls` runs, and every call gets exactly one result.

The agent in `inkwire.agent` does much more; this is what its heart looks like.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from inkwire import AssistantMessage, Client, Message, Request, ToolDefinition, ToolResultMessage, UserMessage

READ = ToolDefinition(
    "read",
    "Read a text file of the current directory.",
    {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)


def run(answer: AssistantMessage) -> list[ToolResultMessage]:
    """One result for each call; what may not run is told to the model in words."""
    results = []
    for call in answer.calls:
        if not call.executable:
            results.append(ToolResultMessage.of(call, f"not run: {call.refusal}", is_error=True))
            continue
        assert isinstance(call.arguments, dict)
        path = Path(str(call.arguments.get("path", ""))).resolve()
        if call.name != "read" or not path.is_relative_to(Path.cwd()) or not path.is_file():
            results.append(ToolResultMessage.of(call, f"no tool {call.name} for {path.name}", is_error=True))
        else:
            results.append(ToolResultMessage.of(call, path.read_text(encoding="utf-8")[:50_000]))
    return results


async def main(model: str, prompt: str) -> str:
    """Ask, run what the model calls, ask again; gives the last answer's text."""
    history: list[Message] = [UserMessage.of(prompt)]
    async with Client() as client:
        for _ in range(10):
            answer = await client.complete(Request(model, tuple(history), tools=(READ,)))
            history.append(answer)
            if not answer.calls:
                break
            history += run(answer)
    return answer.text


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit('usage: tool_loop.py PROVIDER/MODEL PROMPT, for example: tool_loop.py openai/gpt-5 "Read README.md"')
    print(asyncio.run(main(sys.argv[1], sys.argv[2])))
