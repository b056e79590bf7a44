"""A GGUF file in; llama.cpp's own server on loopback, in this process, out.

`python -m inkwire.local.llama_child` prints one line of JSON when the model is loaded, `{"address": …}` or
`{"error": …}`, and ends when its standard input is closed: so it ends with whoever started it, however that ended.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

__all__ = ["main"]

_THREADS = min(os.cpu_count() or 2, 8)


def main(arguments: list[str]) -> None:
    """Serve `MODEL NAME CONTEXT [TEMPLATE]` until standard input ends."""
    model, name, context, *template = arguments
    # Without these the threads spin while they wait, and a shared core drops to a token or two a second.
    os.environ.update(GOMP_SPINCOUNT="0", OMP_WAIT_POLICY="PASSIVE")
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what llama.cpp prints goes to standard error
    try:
        server: Any = _serve(model, name, int(context), template[0] if template else "")
        answer = {"address": server.listening_address}
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    out.write(json.dumps(answer) + "\n")
    out.flush()
    sys.stdin.buffer.read()
    os._exit(0)


def _serve(model: str, name: str, context: int, template: str) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = model
    params.port = 0
    params.n_ctx = context
    params.n_parallel = 1
    params.use_jinja = True
    params.model_alias = {name}
    if template:
        params.chat_template = Path(template).read_text(encoding="utf-8")
    params.cpuparams.n_threads = _THREADS
    params.cpuparams_batch.n_threads = _THREADS
    return xllamacpp.Server(params)


if __name__ == "__main__":
    main(sys.argv[1:])
