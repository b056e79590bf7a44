"""How a streamed answer becomes one checked message, shown step by step on recordings that come with the package.

`make` writes the recordings, `scenarios` tells what they show, `steps` runs them through the real pipeline, `notes`
says which law is at work, `render` puts a step on a terminal.
"""

from __future__ import annotations
