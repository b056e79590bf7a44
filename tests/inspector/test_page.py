"""What the page is sent: everything of the steps, once, and no key; and the page itself, alone or with all inside."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from inkwire.demo.scenarios import SCENARIOS
from inkwire.inspector.document import STATIC, Look, exported_page, static_bytes, written_page
from inkwire.inspector.issues import issues_of
from inkwire.inspector.notes import NOTES
from inkwire.inspector.source import Source
from inkwire.inspector.trace import trace
from inkwire.recording import Exchange, Read

TEXT = 'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n'
HOSTILE = b"</script><script>alert(1)</script>"


def chunks(source: Source) -> list[dict[str, Any]]:
    return [json.loads(chunk) for chunk in source.chunks()]


def long_exchange(steps: int) -> Exchange:
    piece = b'data: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n'
    return Exchange(tuple(Read(0.01 * number, piece) for number in range(steps)), 200, protocol="chat")


@pytest.mark.parametrize("name", list(SCENARIOS))
def test_the_chunks_hold_every_step_and_what_it_needs(name: str) -> None:
    exchanges = SCENARIOS[name].exchanges()
    steps = trace(exchanges)
    found = chunks(Source(name, exchanges))
    sent = [step for chunk in found for step in chunk["steps"]]
    assert [step["moment"] for step in sent] == [step.moment for step in steps]
    assert [base64.b64decode(step.get("bytes", "")) for step in sent] == [step.received for step in steps]
    assert [len(step.get("events", ())) for step in sent] == [len(step.events) for step in steps]
    assert found[-1]["done"]
    functions = [function for chunk in found for function in chunk["functions"]]
    sets = [lines for chunk in found for lines in chunk["sets"]]
    assert all(number < len(functions) for lines in sets for number, _ in lines)
    assert all(step["lines"] < len(sets) for step in sent if "lines" in step)


def test_a_long_trace_shows_its_beginning_first() -> None:
    found = chunks(Source("long", [long_exchange(2_500)]))
    assert len(found) > 2
    assert len(found[0]["steps"]) < len(found[1]["steps"])
    assert [chunk["done"] for chunk in found] == [False] * (len(found) - 1) + [True]


def test_keys_are_not_sent() -> None:
    exchange = msgspec.structs.replace(
        SCENARIOS["read-readme"].exchanges()[0],
        url="https://user:pw@api.example/v1?api_key=sk-secret",
        request_headers={"authorization": "Bearer sk-secret", "x-api-key": "sk-secret"},
        headers={"set-cookie": "sk-secret"},
    )
    assert all(b"sk-secret" not in chunk for chunk in Source("keys", [exchange]).chunks())


async def test_a_recording_that_grows_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "live.jsonl"
    source = Source("live", path, live=True)
    lines = [
        {"inkwire_recording": 1},
        {"exchange": 1, "kind": "request", "method": "POST", "url": "http://x/v1/chat/completions", "body": "{}"},
        {"exchange": 1, "kind": "response", "t": 0.1, "status": 200, "headers": {}},
        {
            "exchange": 1,
            "kind": "read",
            "t": 0.2,
            "text": TEXT,
        },
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    first = json.loads(await source.chunk(0))
    assert [step["moment"] for step in first["steps"]] == ["head", "frame"]
    assert not first["done"]
    with path.open("a") as file:
        file.write(json.dumps({"exchange": 1, "kind": "end", "t": 0.3, "how": "closed"}) + "\n")
    second = json.loads(await source.chunk(1))
    assert [step["moment"] for step in second["steps"]] == ["cancelled"]
    source.end()
    assert json.loads(await source.chunk(2)) == {
        "steps": [], "exchanges": [], "done": True, "functions": [], "sets": []
    }  # fmt: skip


def test_the_served_page_links_only_its_own_files() -> None:
    page = written_page(["</script><b>name"], Look())
    links = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert {f"static/{name}" for name in STATIC} == set(links)
    assert "</script><b>name" not in page


def test_the_exported_page_is_closed_to_everything_but_itself() -> None:
    read = Read(0.0, b"data: " + HOSTILE + b"\n\n")
    exchange = Exchange((read,), 200, {"x-hostile": HOSTILE.decode()}, protocol="chat")
    page = exported_page([Source(HOSTILE.decode(), [exchange])], Look())
    assert HOSTILE.decode() not in page
    assert not re.findall(r'(?:src|href)="', page)
    policy = re.search(r'content="(default-src [^"]+)"', page)
    assert policy is not None
    allowed = {
        tag: "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for tag, text in re.findall(r"<(script|style)>(.*?)</\1>", page, re.DOTALL)
    }
    assert f"script-src '{allowed['script']}'" in policy[1]
    assert f"style-src '{allowed['style']}'" in policy[1]
    assert "default-src 'none'" in policy[1]
    packed = re.findall(r'<script type="text/plain" class="chunk" data-source="0">([^<]+)</script>', page)
    steps = [step for each in packed for step in json.loads(gzip.decompress(base64.b64decode(each)))["steps"]]
    assert [step["moment"] for step in steps] == [step.moment for step in trace([exchange])]


def test_the_scripts_write_text_as_text_only() -> None:
    other_ways = re.compile(rb"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function")
    for name in STATIC:
        assert not other_ways.search(static_bytes(name))


def test_every_word_is_there_in_both_languages() -> None:
    words = static_bytes("words.js").decode()
    table = words[words.index("const WORDS") : words.index("const KIND_WORDS")]
    english, chinese = table.split("  zh: {", 1)
    keys = re.compile(r"^    (\w+):", re.MULTILINE)
    assert keys.findall(english) == keys.findall(chinese)
    scripts = b"".join(static_bytes(name) for name in STATIC if name.endswith(".js")).decode()
    asked = set(re.findall(r'say\("(\w+)"', scripts))
    assert asked <= set(keys.findall(english))


def test_every_kind_of_warning_and_error_has_chinese_words() -> None:
    words = static_bytes("words.js").decode()
    chinese = words[words.index("const KIND_WORDS") :].split("  zh: {", 1)[1]
    known = set(re.findall(r"^    (\w+):", chinese, re.MULTILINE))
    contract = (Path(__file__).parents[2] / "docs" / "contract.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`\w+`(?: · `\w+`)*) \|", contract[contract.index("## Warnings") :], re.MULTILINE)
    kinds = {kind for row in rows for kind in re.findall(r"`(\w+)`", row)}
    assert len(kinds) > 10
    assert kinds | {"incomplete", "remote", "protocol", "transport", "timeout", "limit"} <= known


def test_notes_name_laws_that_exist() -> None:
    assert all(note.law is None or 1 <= note.law <= 7 for note in NOTES.values())
    assert all(note.words.en and note.words.zh for note in NOTES.values())


@pytest.mark.parametrize(
    ("name", "severity", "kind"),
    [
        ("missing-finish-reason", "error", "incomplete"),
        ("damage-in-the-middle", "error", "protocol"),
        ("broken-arguments", "refused", "refused"),
        ("cut-at-limit", "refused", "refused"),
        ("retry-and-reset", "note", "stream_reset"),
        ("user-cancel", "note", "cancelled"),
    ],
)
def test_issues_tell_what_to_look_at(name: str, severity: str, kind: str) -> None:
    issues = [issue for step in trace(SCENARIOS[name].exchanges()) for issue in issues_of(step)]
    assert (severity, kind) in [(issue.severity, issue.kind) for issue in issues]


def test_a_clean_stream_has_no_issue() -> None:
    assert not [issue for step in trace(SCENARIOS["read-readme"].exchanges()) for issue in issues_of(step)]


def test_a_long_silence_is_an_issue() -> None:
    step = trace(SCENARIOS["read-readme"].exchanges())[1]
    assert [issue.kind for issue in issues_of(step, 12.0)] == ["silence"]


def test_half_a_character_on_the_wire_can_be_sent() -> None:
    data = b'data: {"choices":[{"index":0,"delta":{"content":"\\ud83d"},"finish_reason":"stop"}]}\n\n'
    found = chunks(Source("half", [Exchange((Read(0.0, data),), 200, protocol="chat")]))
    assert found[-1]["done"]
