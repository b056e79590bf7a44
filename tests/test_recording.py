"""Everything that people save of a model's answer is read back, without its keys."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkwire.errors import ConfigurationError
from inkwire.recording import Exchange, protocol_of, protocol_of_url, read_recording
from inkwire.recording.keys import url_without_keys, without_keys
from tests.streams import Stream, all_streams

BODY = b'data: {"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}\n\n'


def lines(*entries: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(entry).encode() + b"\n" for entry in entries)


def har_entry(url: str, text: str, content_type: str, **content: str) -> dict[str, Any]:
    return {
        "time": 1500,
        "request": {
            "method": "POST",
            "url": url,
            "headers": [{"name": "Authorization", "value": "Bearer sk-secret"}],
            "postData": {"mimeType": "application/json", "text": '{"model":"m","tools":[{"name":"read"}]}'},
        },
        "response": {
            "status": 200,
            "headers": [{"name": "Content-Type", "value": content_type}],
            "content": {"mimeType": content_type, "text": text, **content},
        },
    }


def har(*entries: dict[str, Any]) -> bytes:
    return json.dumps({"log": {"version": "1.2", "entries": entries}}).encode()


def test_a_file_and_its_bytes_are_read_alike(tmp_path: Path) -> None:
    (tmp_path / "body").write_bytes(BODY)
    assert read_recording(tmp_path / "body") == read_recording(BODY)
    assert read_recording(str(tmp_path / "body")) == read_recording(BODY)


def test_exchanges_of_several_runs_and_mixed_lines_stay_apart() -> None:
    data = lines(
        {"inkwire_recording": 1},
        {"exchange": 1, "kind": "request", "url": "a"},
        {"exchange": 2, "kind": "request", "url": "b"},
        {"exchange": 2, "kind": "read", "t": 0.1, "text": "of b"},
        {"exchange": 1, "kind": "read", "t": 0.2, "text": "of a"},
        {"exchange": 1, "kind": "end", "how": "lost"},
        {"inkwire_recording": 1},
        {"exchange": 1, "kind": "request", "url": "c", "at": 12.5},
        {"exchange": 1, "kind": "read", "t": 0.3, "b64": base64.b64encode(b"\xff").decode()},
    )
    found = [(each.number, each.url, each.body, each.end) for each in read_recording(data)]
    assert found == [(1, "a", b"of a", "lost"), (2, "b", b"of b", "unknown"), (3, "c", b"\xff", "unknown")]
    assert read_recording(data)[2].started == 12.5


def test_lines_of_tomorrow_and_broken_ones_cost_themselves_alone() -> None:
    data = lines(
        {"inkwire_recording": 1},
        {"exchange": 1, "kind": "request", "url": "a", "new": [1]},
        {"exchange": 1, "kind": "read", "t": "soon", "text": "lost"},
        {"exchange": 1, "kind": "note", "text": "of another kind"},
        {"exchange": 1, "kind": "read", "t": 1, "text": "kept"},
    )
    assert read_recording(data + b'{"exchange":1,"kind":"re')[0].body == b"kept"


def test_a_plain_body_and_what_curl_prints_are_recordings() -> None:
    assert read_recording(b"data: 1\n\n")[0].body == b"data: 1\n\n"
    printed = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/2 429 \r\nContent-Type: text/plain\r\n\r\nslow down"
    exchange = read_recording(printed)[0]
    assert (exchange.status, exchange.headers["content-type"], exchange.body) == (429, "text/plain", b"slow down")
    assert not exchange.timed


def test_a_har_export_is_a_recording() -> None:
    url = "https://host/v1/chat/completions?key=sk-secret"
    text = base64.b64encode(BODY).decode()
    (exchange,) = read_recording(har(har_entry(url, text, "text/event-stream", encoding="base64")))
    assert exchange.body == BODY
    assert exchange.tools == ("read",)
    assert exchange.request_headers == {"authorization": "***"}
    assert exchange.url == "https://host/v1/chat/completions?key=***"
    assert protocol_of(exchange) == "chat"


def test_of_a_page_only_the_calls_of_models_count() -> None:
    page = har_entry("https://host/", "<html>", "text/html")
    call = har_entry("https://host/answer", BODY.decode(), "text/event-stream; charset=utf-8")
    icon = har_entry("https://host/icon", "AAAA", "application/octet-stream", encoding="base64")
    assert [each.url for each in read_recording(har(page, call, icon))] == ["https://host/answer"]
    assert [each.number for each in read_recording(har(page, icon))] == [1, 2]


@pytest.mark.parametrize(
    "document", [har(), har(har_entry("u", "", "text/event-stream")), har({"request": {}, "response": None})]
)
def test_a_har_export_without_any_answer_says_so(document: bytes) -> None:
    with pytest.raises(ConfigurationError, match="content"):
        read_recording(document)


@pytest.mark.parametrize(
    "stream",
    [s for s in all_streams() if len(s.body) > 200 and "error" not in (s.expected or {})],
    ids=lambda s: s.name,
)
def test_the_protocol_is_told_from_the_first_payloads(stream: Stream) -> None:
    assert protocol_of(read_recording(stream.body)[0]) == stream.protocol


@pytest.mark.parametrize(
    ("url", "protocol"),
    [
        ("https://host/v1/chat/completions", "chat"),
        ("https://host/openai/v1/responses?api-version=1", "responses"),
        ("http://host/anthropic/v1/messages", "anthropic"),
        ("https://host/v1beta/models/m:streamGenerateContent?alt=sse", "gemini"),
        ("http://host/api/chat", "ollama"),
        ("https://host/model/m/converse-stream", "bedrock"),
        ("https://host/v1/models", None),
    ],
)
def test_the_protocol_is_told_from_the_address(url: str, protocol: str | None) -> None:
    assert protocol_of_url(url) == protocol
    assert protocol_of(Exchange(url=url)) == (protocol or "chat")


def test_what_the_recording_names_counts_first() -> None:
    assert protocol_of(Exchange(protocol="gemini", url="https://host/v1/messages")) == "gemini"


@given(st.binary(max_size=300) | st.binary(max_size=100).map(lambda data: b'{"inkwire_recording":1}\n' + data))
def test_any_bytes_are_read_somehow(data: bytes) -> None:
    try:
        exchanges = read_recording(data)
    except ConfigurationError:
        return
    assert all(protocol_of(exchange) and exchange.tools is not None for exchange in exchanges)


@pytest.mark.parametrize(
    "name",
    [
        "Authorization",
        "Proxy-Authorization",
        "x-api-key",
        "api-key",
        "x-goog-api-key",
        "Cookie",
        "Set-Cookie",
        "X-Amz-Security-Token",
        "X-Auth-Token",
    ],
)
def test_headers_that_carry_keys_are_left_out(name: str) -> None:
    harmless = {"x-request-id": "7", "x-ratelimit-remaining-tokens": "9", "www-authenticate": "Bearer"}
    assert without_keys({name: "secret", **harmless}) == {name: "***", **harmless}


def test_addresses_lose_their_keys() -> None:
    url = "https://me:secret@host/v1beta/m:go?alt=sse&key=secret&X-Amz-Signature=secret&api_key=secret#x"
    assert "secret" not in url_without_keys(url)
    assert url_without_keys(url).startswith("https://***@host/v1beta/m:go?alt=sse&key=***&")
