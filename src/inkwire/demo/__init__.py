"""How a streamed answer becomes one checked message, shown step by step on recordings that come with the package.

`make` writes the recordings, `scenarios` tells what they show, `steps` takes their trace, `render` puts a step on a
terminal; `inkwire.inspector` shows the same in a browser.
"""

from __future__ import annotations
