"""Nobody gets the page but who was given its address, and the page gets nothing but its own server."""

from __future__ import annotations

import asyncio
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

from inkwire.demo.scenarios import SCENARIOS
from inkwire.inspector.document import STATIC
from inkwire.inspector.server import InspectorServer
from inkwire.inspector.source import Source


def ask(port: int, path: str, host: str | None = None, method: str = "GET") -> tuple[int, dict[str, str], bytes]:
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request(method, path, headers={"Host": host or f"127.0.0.1:{port}"})
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()


async def asked(path: str, host: str | None = None, method: str = "GET") -> tuple[int, dict[str, str], bytes]:
    """The answer to a path; `~` stands for the page's own."""
    async with InspectorServer([Source("demo", SCENARIOS["read-readme"].exchanges())]) as server:
        address = urlsplit(server.url)
        assert address.hostname == "127.0.0.1"
        assert address.port is not None
        return await asyncio.to_thread(ask, address.port, path.replace("~", address.path), host, method)


@pytest.mark.parametrize("path", ["~", "~static/app.js", "~chunk/0/0"])
async def test_the_page_and_its_files_are_served_with_a_strict_policy(path: str) -> None:
    status, headers, body = await asked(path)
    assert status == 200
    assert body
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", ["/", "/wrong/", "/wrong/chunk/0/0", "/wrong/static/app.js"])
async def test_without_the_token_there_is_nothing(path: str) -> None:
    status, _, body = await asked(path)
    assert status in (403, 404)
    assert b"recording" not in body
    assert b"read-readme" not in body


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1:1"])
async def test_another_name_for_this_machine_is_refused(host: str) -> None:
    status, _, _ = await asked("~", host)
    assert status == 403


@pytest.mark.parametrize(
    "path",
    [
        "~static/..%2fserver.py",
        "~static/page.html",
        "~chunk/7/0",
        "~chunk/0/x",
        "~chunk/-1/0",
        f"~chunk/0/{'9' * 5000}",
        "~nothing",
    ],
)
async def test_what_is_not_there_is_refused(path: str) -> None:
    status, _, _ = await asked(path)
    assert status == 404


async def test_the_page_only_answers_questions() -> None:
    assert (await asked("~", method="POST"))[0] == 405
    assert (await asked("/wrong/", method="POST"))[0] == 403


@pytest.mark.parametrize("name", list(STATIC))
async def test_each_file_has_its_media_type(name: str) -> None:
    _, headers, _ = await asked(f"~static/{name}")
    assert headers["content-type"].startswith(STATIC[name])


async def test_each_run_has_its_own_token() -> None:
    seen = set()
    for _ in range(2):
        async with InspectorServer([]) as server:
            seen.add(urlsplit(server.url).path)
    assert len(seen) == 2
