"""The agent at a terminal: what the command line said in, a conversation until the person leaves."""

from __future__ import annotations

from pathlib import Path

from inkwire.cli.options import AgentOptions

__all__ = ["run_interactive"]

_FALLBACK = (
    "No model was named, no provider's key is set and no local server answers, so the built-in reader answers: fixed "
    "rules, no language model. Set a key such as OPENAI_API_KEY, or see `inkwire models`."
)


async def run_interactive(options: AgentOptions) -> int:
    """Talks until the person leaves; returns the exit code.

    Raises `ConfigurationError` when a setting is wrong.
    """
    import platformdirs

    from inkwire.cli.build import open_conversation
    from inkwire.terminal.app import App

    state = Path(platformdirs.user_state_dir("inkwire", appauthor=False))
    app = App(history_file=None if options.no_session else state / "prompts")
    async with open_conversation(options, approve=app.approve, interactive=True) as conversation:
        choice = conversation.choice
        await app.run(
            conversation,
            first_prompt=options.prompt,
            origin="" if choice.fallback else choice.origin,
            notice=_FALLBACK if choice.fallback else "",
        )
    return 0
