"""A call that needs a yes in, the question about it and the answer's meaning out.

The whole call is shown, for a yes to half a command is no yes: nothing of it is shortened, control characters are
shown as pictures, and a long argument is shown to its end.
"""

from __future__ import annotations

import msgspec

from inkwire.agent.approval import Approval, ApprovalRequest
from inkwire.terminal.sanitize import sanitize, sanitize_line
from inkwire.terminal.style import Style
from inkwire.terminal.summary import headline_key

__all__ = ["meaning_of", "question", "unclear"]

_YES = ("y", "yes")
_NO = ("n", "no", "")
_ALWAYS = ("a", "always")


def question(request: ApprovalRequest, style: Style) -> str:
    """What is to be printed before the answer is asked for."""
    lines = [f"{style.paint('?', 'warning')} {style.paint(sanitize_line(request.name, 64), 'bold')} wants to run:"]
    lines += [f"    {line}" for line in _shown(request).split("\n")]
    lines.append(style.paint(f"  {sanitize_line(request.reason, 300)}", "dim"))
    choices = ["y yes", "n no", "or say in words why not, then Enter"]
    if request.rules:
        choices.insert(1, f"a always in this conversation ({sanitize_line(', '.join(request.rules), 120)})")
    lines.append(style.paint("  " + style.mark("·").join(f" {choice} " for choice in choices).strip(), "dim"))
    return "\n".join(lines) + "\n"


def meaning_of(answer: str, request: ApprovalRequest) -> Approval:
    """The approval that an answer stands for; anything but a clear yes is a no, its words the reason."""
    word = answer.strip().lower()
    if word in _YES:
        return Approval(allowed=True)
    if word in _ALWAYS and request.rules:
        return Approval(allowed=True, always=True)
    return Approval(allowed=False, reason="" if word in _NO or word in _ALWAYS else answer.strip())


def unclear(answer: str, request: ApprovalRequest) -> str:
    """Why the person must be asked again: a command, or a single word that is no choice; empty for an answer."""
    word = answer.strip()
    if word.lower() in (*_YES, *_NO) or (word.lower() in _ALWAYS and request.rules):
        return ""
    if word.startswith("/"):
        return "Commands work at the prompt; Ctrl-C ends the run."
    if word.lower() in _ALWAYS:
        return "Always is not offered for this call."
    if word.isascii() and len(word.split()) == 1:
        return f"{sanitize_line(word, 40)!r} is none of the choices; a reason has more than one word."
    return ""


def _shown(request: ApprovalRequest) -> str:
    arguments = request.arguments
    if isinstance(arguments, str):
        return sanitize(arguments)
    key = headline_key(list(arguments))
    first = [sanitize(str(arguments[key]))] if key is not None else []
    rest = [_argument(name, value) for name, value in arguments.items() if name != key]
    return "\n".join(first + rest) or "(no arguments)"


def _argument(name: str, value: object) -> str:
    """On a line; text of several lines begins on one of its own, so that its indentation is what will be written."""
    text = _value(value)
    return f"{sanitize(name)}:\n{text}" if "\n" in text else f"{sanitize(name)}: {text}"


def _value(value: object) -> str:
    return sanitize(value if isinstance(value, str) else msgspec.json.encode(value).decode())
