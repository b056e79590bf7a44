"""A command in, the same command inside bubblewrap out.

The workspace is writable, the rest of the disk is not; places where keys live are empty; there is no network.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from inkwire.errors import ToolError

__all__ = ["available", "sandboxed"]

_PRIVATE = (
    ".ssh",
    ".aws",
    ".gnupg",
    ".azure",
    ".kube",
    ".docker",
    ".config/gcloud",
    ".config/gh",
    ".netrc",
    ".git-credentials",
)


def available(environ: Mapping[str, str]) -> bool:
    """Whether this machine has bubblewrap."""
    return shutil.which("bwrap", path=environ.get("PATH")) is not None


def sandboxed(
    command: Sequence[str], workspace: Path, environ: Mapping[str, str], *, read_only: bool = False
) -> list[str]:
    """The command to run instead; raises `ToolError` where there is no bubblewrap."""
    program = shutil.which("bwrap", path=environ.get("PATH"))
    if program is None:
        raise ToolError("the sandbox is on, but bubblewrap (bwrap) is not installed; no command runs without it")
    hidden: list[str] = []
    home = Path(environ.get("HOME") or "/nonexistent")
    for name in _PRIVATE:
        path = home / name
        if path.is_dir():
            hidden += ["--tmpfs", str(path)]
        elif path.exists():
            hidden += ["--ro-bind", "/dev/null", str(path)]
    return [
        program,
        *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"),
        *hidden,
        "--ro-bind" if read_only else "--bind",
        *(str(workspace), str(workspace), "--chdir", str(workspace)),
        *("--unshare-all", "--die-with-parent", "--new-session", "--"),
        *command,
    ]
