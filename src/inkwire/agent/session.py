"""Recorded events in, a file that survives a crash out; and back.

One JSON object a line, appended, on disk before the loop goes on:

    {"type":"session","version":1,"id":…,"created":…,"workspace":…,"model":…}    the first line
    {"type":"message","message":{…}}                                             as recorded
    {"type":"compaction","summary":{…},"kept_from":12,…}                         a summary for the messages before 12

A line that cannot be read (torn by a crash, or damaged) is left out and counted; what it leaves behind, such as a call
without its result, the loop and the projection put right. Sessions hold whatever the model saw: they are private, 0600.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import msgspec

from inkwire.agent.events import Compaction, MessageRecorded, Recorded
from inkwire.errors import ConfigurationError
from inkwire.messages import Message, UserMessage
from inkwire.partial_json import classify
from inkwire.surrogates import mend_surrogates

__all__ = ["Session", "SessionInfo", "SessionStore"]

_VERSION = 1
_TITLE_CHARACTERS = 80
_MAX_NAME = 60
_LOCK_TRIES, _LOCK_PAUSE_SECONDS = 5, 0.05


class _Header(msgspec.Struct, frozen=True, tag_field="type", tag="session"):
    """The first line."""

    id: str
    created: float
    workspace: str
    model: str = ""
    forked_from: str | None = None
    version: int = _VERSION


_Line = _Header | MessageRecorded | Compaction
_DECODER: msgspec.json.Decoder[_Line] = msgspec.json.Decoder(_Line)
_HEADER_DECODER = msgspec.json.Decoder(_Header)


class SessionInfo(msgspec.Struct, frozen=True):
    """What a list of sessions shows."""

    id: str
    path: Path
    workspace: str
    model: str
    created: float
    """Seconds since the epoch."""
    modified: float
    title: str
    """The beginning of the first prompt."""


class Session:
    """One conversation on disk. The file is made by the first message, so that an unused session leaves nothing."""

    def __init__(self, path: Path, header: _Header, messages: tuple[Message, ...] = (), damaged_lines: int = 0) -> None:
        self.path = path
        self.damaged_lines = damaged_lines
        """Lines that could not be read."""
        self._header = header
        self._messages = messages
        self._file: int | None = None

    @property
    def id(self) -> str:
        """The session's name."""
        return self._header.id

    @property
    def workspace(self) -> Path:
        """The directory that it is about."""
        return Path(self._header.workspace)

    @property
    def model(self) -> str:
        """The model that it began with."""
        return self._header.model

    @property
    def messages(self) -> tuple[Message, ...]:
        """The history as it was when the session was opened."""
        return self._messages

    def append(self, recorded: Recorded) -> None:
        """Keep it; on disk when this returns. Raises `ConfigurationError` when another process has the session."""
        if self._file is None:
            self._file = self._open()
        _write(self._file, _encode(recorded))
        os.fsync(self._file)

    def close(self) -> None:
        """Let the file go; idempotent."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _open(self) -> int:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not self.path.exists():
            self._make()
        file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW)
        if not _locked(file):
            os.close(file)
            raise ConfigurationError(
                f"session {self.id} is in use by another process; end that one, or start anew without -c and -r"
            )
        size = os.fstat(file).st_size
        if size and os.pread(file, 1, size - 1) != b"\n":
            _write(file, b"\n")  # so that a torn line spoils nothing but itself
        return file

    def _make(self) -> None:
        """The file with its first line, at once: a crash leaves it whole or not at all."""
        new = self.path.with_suffix(".new")
        file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            _write(file, _encode(self._header))
            os.fsync(file)
        finally:
            os.close(file)
        os.replace(new, self.path)
        _sync_directory(self.path.parent)


def _locked(file: int) -> bool:
    """Whether the file is ours now; a process that was just killed lets go a moment later, with its last child."""
    for _ in range(_LOCK_TRIES):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_LOCK_PAUSE_SECONDS)
        else:
            return True
    return False


class SessionStore:
    """All sessions of a user, by the directory that they are about."""

    def __init__(self, root: Path | None = None) -> None:
        """`root`: by default `sessions` in the user's state directory."""
        if root is None:
            import platformdirs

            root = Path(platformdirs.user_state_dir("inkwire", appauthor=False)) / "sessions"
        self.root = root

    def new(self, workspace: Path, model: str = "") -> Session:
        """A session that does not exist yet."""
        now = time.time()
        name = f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(now))}-{secrets.token_hex(3)}"
        header = _Header(name, now, str(workspace.resolve()), model)
        return Session(self._directory(workspace) / f"{name}.jsonl", header)

    def latest(self, workspace: Path) -> Session:
        """The session of that directory that was used last; raises `ConfigurationError` when there is none."""
        infos = self.infos(workspace)
        if not infos:
            raise ConfigurationError(f"there is no session for {workspace.resolve()} yet")
        return _load(infos[0].path)

    def open(self, name: str) -> Session:
        """The session with that id, or the only one whose id begins or ends so. Raises `ConfigurationError`."""
        paths = list(self._paths())
        exact = [path for path in paths if path.stem == name]
        found = exact or [path for path in paths if name and (path.stem.startswith(name) or path.stem.endswith(name))]
        if len(found) != 1:
            names = ", ".join(sorted(path.stem for path in found)[:5])
            raise ConfigurationError(f"session {name!r} is not unique: {names}" if found else f"no session {name!r}")
        return _load(found[0])

    def fork(self, session: Session) -> Session:
        """A new session that begins with the history of another; on disk at once."""
        made = self.new(session.workspace, session.model)
        header = msgspec.structs.replace(made._header, forked_from=session.id)
        forked = Session(made.path, header, session.messages)
        for message in session.messages:
            forked.append(MessageRecorded(message))
        return forked

    def infos(self, workspace: Path | None = None) -> list[SessionInfo]:
        """The sessions, of one directory or all, the one used last first."""
        paths = self._paths() if workspace is None else self._directory(workspace).glob("*.jsonl")
        infos = [info for path in paths if (info := _info(path)) is not None]
        return sorted(infos, key=lambda info: (info.modified, info.id), reverse=True)

    def _paths(self) -> Iterator[Path]:
        return self.root.glob("*/*.jsonl")

    def _directory(self, workspace: Path) -> Path:
        whole = str(workspace.resolve())
        readable = re.sub(r"[^A-Za-z0-9]+", "-", whole).strip("-")[-_MAX_NAME:]
        return self.root / f"{readable}-{sha256(whole.encode()).hexdigest()[:8]}"


def _load(path: Path) -> Session:
    header: _Header | None = None
    messages: list[Message | None] = []
    damaged = 0
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from error
    for raw in lines:
        if not raw.strip():
            continue
        try:
            line = _DECODER.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError):
            damaged += 1
            if not _is_torn(raw):
                messages.append(None)  # whoever wrote it counted it: a later compaction's place does, too
            continue
        match line:
            case _Header():
                header = header or line
            case MessageRecorded():
                messages.append(line.message)
            case Compaction():
                messages[: line.kept_from] = [line.summary]
    if header is None:
        raise ConfigurationError(f"{path} is no session: its first line cannot be read")
    if header.version > _VERSION:
        raise ConfigurationError(f"{path} was written by a newer version ({header.version}); this one reads {_VERSION}")
    return Session(path, header, tuple(message for message in messages if message is not None), damaged)


def _is_torn(line: bytes) -> bool:
    """Whether the process or the disk stopped in the middle of it; then it never was a message to anyone."""
    return classify(line.decode("utf-8", "replace"))[0] == "incomplete"


def _info(path: Path) -> SessionInfo | None:
    """The first lines alone; None for what is no session."""
    try:
        with open(path, "rb") as file:
            header = _HEADER_DECODER.decode(file.readline())
            second = file.readline()
        modified = path.stat().st_mtime
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    title = ""
    try:
        line = _DECODER.decode(second)
        if isinstance(line, MessageRecorded) and isinstance(line.message, UserMessage):
            title = " ".join(line.message.text.split())[:_TITLE_CHARACTERS]
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    return SessionInfo(header.id, path, header.workspace, header.model, header.created, modified, title)


def _encode(line: _Line) -> bytes:
    try:
        return msgspec.json.encode(line) + b"\n"
    except UnicodeEncodeError:  # half a surrogate pair, which is no text
        plain = json.loads(json.dumps(msgspec.to_builtins(line)))
        return msgspec.json.encode(mend_surrogates(plain)) + b"\n"


def _write(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
