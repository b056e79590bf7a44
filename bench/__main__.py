"""Runs every measurement: `python -m bench`."""

from __future__ import annotations

from bench import core, inspector

core.main()
inspector.main()
