"""The published schemas are those of the code, and what is printed fits them."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import msgspec
import pytest

from inkwire.json_schema import SCHEMAS, schema_of
from tests.streams import STREAM_CASES, Stream

DOCS = Path(__file__).parent.parent / "docs" / "schema"


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_published_schema_is_the_code_s(name: str) -> None:
    published = json.loads((DOCS / f"{name}.schema.json").read_text(encoding="utf-8"))
    assert published == json.loads(json.dumps(schema_of(name))), "renew with: python -m inkwire.json_schema docs/schema"
    jsonschema.Draft202012Validator.check_schema(published)


@pytest.mark.parametrize("stream", STREAM_CASES[::7], ids=lambda stream: stream.name)
def test_every_event_fits_the_published_schema(stream: Stream) -> None:
    validator = jsonschema.Draft202012Validator(schema_of("events"))
    pipeline = stream.pipeline()
    for event in [*pipeline.feed(stream.body), *pipeline.finish()]:
        validator.validate(json.loads(msgspec.json.encode(event)))
