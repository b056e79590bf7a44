"""The tools of a coding agent, in the order in which the model is told of them."""

from __future__ import annotations

from inkwire.tools.base import Tool
from inkwire.tools.edit import edit
from inkwire.tools.files import read, write
from inkwire.tools.search import glob, grep, list_directory
from inkwire.tools.shell import bash

__all__ = ["BUILTIN"]

BUILTIN: tuple[Tool, ...] = (read, list_directory, glob, grep, edit, write, bash)
"""Reading first."""
