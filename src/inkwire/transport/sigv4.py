"""A request's method, address, headers and body in; the headers that sign it for AWS out (Signature Version 4).

botocore signs and finds the credentials: environment, profile, single sign-on, container or instance role. Some of
those ask a server, so `Signer.sign` may block and belongs in a thread.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from inkwire.errors import ConfigurationError

__all__ = ["Signer", "region_of"]

_REGION_HOST = re.compile(r"^https?://bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\.amazonaws\.com")
_REGION_NAMES = ("AWS_REGION", "AWS_DEFAULT_REGION")
_KEY_ID, _SECRET, _TOKEN = "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"
_SIGNED = ("authorization", "x-amz-date", "x-amz-security-token")
_SERVICE = "bedrock"
"""The name in the signature's scope; it is not the host's `bedrock-runtime`."""


def region_of(url: str, environ: Mapping[str, str]) -> str | None:
    """The AWS region that the address names, else the environment's; None when neither does."""
    if found := _REGION_HOST.match(url):
        return found[1]
    return next((environ[name] for name in _REGION_NAMES if environ.get(name)), None)


class Signer:
    """Signs requests with the credentials it found once; botocore renews those that expire."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._session: Any = None
        self._credentials: Any = None

    def sign(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> dict[str, str]:
        """The headers to add to this very request; the body must be sent as it is given here.

        `url` is signed as it is written: `:` in a model's name must be percent-encoded there and stay so on the wire.
        Raises `ConfigurationError` without botocore, region or credentials. Source: AWS, Signature Version 4.
        """
        auth, request = _botocore()
        credentials = self._find()
        region = self._region(url)
        # Only what no proxy changes is signed.
        kept = {name: value for name, value in headers.items() if name.lower() in ("content-type", "host")}
        signed = request(method=method, url=url, headers=kept, data=body)
        auth(credentials, _SERVICE, region).add_auth(signed)
        return {name.lower(): str(value) for name, value in signed.headers.items() if name.lower() in _SIGNED}

    def _region(self, url: str) -> str:
        region = region_of(url, self._environ) or self._session.get_config_variable("region")
        if not region:
            raise ConfigurationError(f"no AWS region for {url}: set {_REGION_NAMES[0]}")
        return str(region)

    def _find(self) -> Any:
        """The credentials as they are now: those that expire are renewed here."""
        from botocore.credentials import Credentials
        from botocore.exceptions import BotoCoreError
        from botocore.session import Session

        try:
            self._session = self._session or Session(profile=self._environ.get("AWS_PROFILE"))
            key_id, secret = self._environ.get(_KEY_ID), self._environ.get(_SECRET)
            if self._credentials is None and key_id and secret:
                self._credentials = Credentials(key_id, secret, self._environ.get(_TOKEN))
            self._credentials = self._credentials or self._session.get_credentials()
            frozen = self._credentials and self._credentials.get_frozen_credentials()
        except BotoCoreError as cause:
            raise ConfigurationError(f"AWS credentials cannot be had: {cause}") from cause
        if not frozen or not frozen.access_key:
            raise ConfigurationError(
                f"no AWS credentials: set {_KEY_ID} and {_SECRET}, or AWS_PROFILE, "
                "or use a Bedrock API key in AWS_BEARER_TOKEN_BEDROCK"
            )
        return frozen


def _botocore() -> tuple[Any, Any]:
    try:
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest
    except ImportError as cause:
        raise ConfigurationError("signing for AWS needs botocore: pip install 'inkwire[bedrock]'") from cause
    return SigV4Auth, AWSRequest
