"""Another face: step through an assembly, on the real code.

`trace` turns a recording into steps, `held` tells what changed in the assembler, `known` how the JSON of arguments
grew, `code` which of our lines ran, `notes` which law is at work. `page` writes steps down for the browser, `server`
serves them on this machine, `static` is the page itself.
"""

from __future__ import annotations
