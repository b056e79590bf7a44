"""A GGUF file in; llama.cpp's own server on loopback, in this process, out.

`python -m inkwire.local.llama_child MODEL NAME CONTEXT [TEMPLATE]` reads the key that clients must send from the first
line of its standard input, prints one line of JSON when the model is loaded, `{"address": …}` or `{"error": …}`, and
ends when its standard input is closed, also while it loads: so with whoever started it, however that ended.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from threading import Thread
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
    key = sys.stdin.buffer.readline().decode().strip()
    watch = Thread(target=_end_with_input, daemon=True)
    watch.start()
    try:
        server: Any = _serve(model, name, int(context), key, template[0] if template else "")
        answer = {"address": server.listening_address}
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    out.write(json.dumps(answer) + "\n")
    out.flush()
    watch.join()


def _end_with_input() -> None:
    sys.stdin.buffer.read()
    # At once: llama.cpp's own end waits for the answers that are under way.
    os._exit(0)


def _serve(model: str, name: str, context: int, key: str, template: str) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = model
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [key]
    params.ui = False
    params.n_ctx = context
    params.n_parallel = 1
    params.use_jinja = True
    params.model_alias = {name}
    if template:
        params.chat_template = Path(template).read_text(encoding="utf-8")
        # Where a request says none: at llama.cpp's 0.8 a small model asks for the same file again and again.
        params.sampling.temp = 0.0
    params.cpuparams.n_threads = _THREADS
    params.cpuparams_batch.n_threads = _THREADS
    return xllamacpp.Server(params)


if __name__ == "__main__":
    main(sys.argv[1:])
