"""Which exchange a request gets."""

from __future__ import annotations

import json
from typing import Any

from inkwire.recording import Exchange, Read
from inkwire.replay.choice import Choice

CHAT, MESSAGES = "/v1/chat/completions", "/v1/messages"


def exchange(url: str = CHAT, *, status: int = 200, stream: bool = True, **asked: Any) -> Exchange:
    content_type = "text/event-stream" if stream else "application/json"
    return Exchange((Read(0, b"x"),), status, {"content-type": content_type}, url=url, request_body=body(**asked))


def body(**asked: Any) -> bytes:
    return json.dumps({"stream": True, **asked}).encode()


def test_exchanges_come_in_their_order() -> None:
    choice = Choice([exchange(n=1), exchange(n=2)])
    assert [choice.choose(CHAT, body(n=n)) for n in (7, 8)] == [0, 1]
    assert "--loop" in str(choice.choose(CHAT, body(n=9)))


def test_the_body_it_was_recorded_with_comes_first() -> None:
    choice = Choice([exchange(n=1), exchange(n=2)])
    assert [choice.choose(CHAT, body(n=n)) for n in (2, 1)] == [1, 0]


def test_a_recorded_refusal_and_its_retry_follow_each_other() -> None:
    choice = Choice([exchange(n=1, status=429), exchange(n=1)])
    assert [choice.choose(CHAT, body(n=1)) for _ in range(3)] == [0, 1, 1]


def test_who_asks_again_after_a_fault_gets_the_same() -> None:
    choice = Choice([exchange(n=1), exchange(n=2)])
    assert choice.choose(CHAT, body(n=7)) == 0
    choice.was_broken(body(n=7))
    assert [choice.choose(CHAT, body(n=n)) for n in (7, 8)] == [0, 1]


def test_with_loop_it_begins_again() -> None:
    choice = Choice([exchange(n=1), exchange(n=2)], loop=True)
    assert [choice.choose(CHAT, body(n=n)) for n in range(4, 9)] == [0, 1, 0, 1, 0]


def test_protocols_do_not_mix() -> None:
    choice = Choice([exchange(CHAT), exchange(MESSAGES)])
    assert choice.choose(MESSAGES, body(n=1)) == 1
    assert choice.choose("/anything" + CHAT, body(n=1)) == 0
    assert "anthropic and chat" in str(choice.choose("/v1/responses", body()))
    assert "/v1/embeddings" in str(choice.choose("/v1/embeddings", body()))


def test_who_wants_no_stream_gets_none() -> None:
    assert "stream: true" in str(Choice([exchange()]).choose(CHAT, b"{}"))
    assert Choice([exchange(), exchange(stream=False)]).choose(CHAT, b"{}") == 1
    assert Choice([exchange("/api/chat")]).choose("/api/chat", b"{}") == 0
    assert "JSON body" in str(Choice([exchange()]).choose(CHAT, b"no json"))


def test_who_wants_a_stream_gets_what_was_recorded_instead_of_one() -> None:
    assert Choice([exchange(stream=False)]).choose(CHAT, body()) == 0
    assert Choice([exchange(stream=False), exchange()]).choose(CHAT, body()) == 1
