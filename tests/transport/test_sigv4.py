from __future__ import annotations

import datetime
import hashlib
import hmac
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest

from inkwire.errors import ConfigurationError
from inkwire.transport.sigv4 import Signer, region_of

URL = "https://bedrock-runtime.eu-west-1.amazonaws.com/model/anthropic.claude-v1%3A0/converse-stream"
KEYS = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret"}
HEADERS = {"content-type": "application/json", "accept": "application/vnd.amazon.eventstream", "x-id": "1"}
BODY = b'{"messages":[]}'


@pytest.fixture(autouse=True)
def no_machine_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", *KEYS):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def by_hand(url: str, headers: dict[str, str], body: bytes, secret: str, date: str, region: str) -> str:
    """The signature as the standard writes it down, independent of botocore."""
    parts = urlsplit(url)
    lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
    names = ";".join(sorted(headers))
    path = quote(parts.path, safe="/~")
    canonical = f"POST\n{path}\n{parts.query}\n{lines}\n{names}\n{hashlib.sha256(body).hexdigest()}"
    scope = f"{date[:8]}/{region}/bedrock/aws4_request"
    to_sign = f"AWS4-HMAC-SHA256\n{date}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    key = f"AWS4{secret}".encode()
    for step in scope.split("/"):
        key = hmac.new(key, step.encode(), hashlib.sha256).digest()
    return hmac.new(key, to_sign.encode(), hashlib.sha256).hexdigest()


def test_the_signature_is_the_standards() -> None:
    signed = Signer(KEYS).sign("POST", URL, HEADERS, BODY)
    date = signed["x-amz-date"]
    assert datetime.datetime.strptime(date, "%Y%m%dT%H%M%SZ").year >= 2024
    found = re.fullmatch(
        r"AWS4-HMAC-SHA256 Credential=(\S+), SignedHeaders=(\S+), Signature=([0-9a-f]{64})", signed["authorization"]
    )
    assert found is not None
    assert found[1] == f"AKIDEXAMPLE/{date[:8]}/eu-west-1/bedrock/aws4_request"
    assert found[2] == "content-type;host;x-amz-date"
    covered = {"content-type": "application/json", "host": urlsplit(URL).netloc, "x-amz-date": date}
    assert found[3] == by_hand(URL, covered, BODY, "secret", date, "eu-west-1")


def test_a_session_token_travels_along() -> None:
    signed = Signer({**KEYS, "AWS_SESSION_TOKEN": "token"}).sign("POST", URL, HEADERS, BODY)
    assert signed["x-amz-security-token"] == "token"
    assert set(signed) == {"authorization", "x-amz-date", "x-amz-security-token"}


def test_the_secret_is_in_no_header() -> None:
    assert "secret" not in str(Signer(KEYS).sign("POST", URL, HEADERS, BODY))


def test_a_profile_is_found_in_the_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "credentials").write_text("[work]\naws_access_key_id = AKIDWORK\naws_secret_access_key = s\n")
    (tmp_path / "config").write_text("[profile work]\nregion = ap-south-1\n")
    signed = Signer({"AWS_PROFILE": "work"}).sign("POST", "http://127.0.0.1:1/model/x/converse-stream", {}, b"")
    assert "AKIDWORK/" in signed["authorization"]
    assert "/ap-south-1/bedrock/" in signed["authorization"]


def test_what_is_missing_is_said() -> None:
    with pytest.raises(ConfigurationError, match="AWS_ACCESS_KEY_ID"):
        Signer({}).sign("POST", URL, HEADERS, BODY)
    with pytest.raises(ConfigurationError, match="AWS_REGION"):
        Signer(KEYS).sign("POST", "http://127.0.0.1:1/", HEADERS, BODY)
    with pytest.raises(ConfigurationError, match="nobody"):
        Signer({"AWS_PROFILE": "nobody"}).sign("POST", URL, HEADERS, BODY)


def test_without_botocore_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "botocore.auth", None)
    with pytest.raises(ConfigurationError, match=r"inkwire\[bedrock\]"):
        Signer(KEYS).sign("POST", URL, HEADERS, BODY)


def test_importing_it_loads_no_botocore() -> None:
    code = "import sys, inkwire.transport.sigv4; sys.exit('botocore' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("url", "environ", "region"),
    [
        (URL, {"AWS_REGION": "us-east-1"}, "eu-west-1"),
        ("https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com", {}, "us-gov-west-1"),
        ("https://proxy.example/x", {"AWS_DEFAULT_REGION": "us-east-2"}, "us-east-2"),
        ("https://proxy.example/bedrock-runtime.eu-west-1.amazonaws.com", {}, None),
    ],
)
def test_the_region_is_the_addresss_else_the_environments(url: str, environ: dict[str, str], region: str) -> None:
    assert region_of(url, environ) == region
