"""A recording in, a stand-in provider on loopback out: at its own pace, or broken on purpose.

`plan` and `faults` decide what is sent and when, `choice` which exchange a request gets (all pure); `server` sends it.
"""

from __future__ import annotations

from inkwire.replay.faults import Fault, parse_fault
from inkwire.replay.plan import Answer, Piece, answer_of

__all__ = ["Answer", "Fault", "Piece", "answer_of", "parse_fault"]
