"""A signature or a JSON Schema, and a call's arguments in; checked arguments, or what is wrong with them, out.

Validate first, coerce second: arguments that fit are never touched. Those that do not are tried once more with what
models commonly get wrong put right ("42" for 42, null for an option left out, one thing for a list of one, JSON inside
a string), and only where the schema wants that very type. If they still do not fit, the complaint is about what came.
"""

from __future__ import annotations

import inspect
import json
import re
import typing
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from inkwire.errors import ConfigurationError, ToolError

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["ForeignArguments", "TypedArguments", "narrow"]

_MAX_COMPLAINTS = 8
_MAX_SHOWN = 120
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?")


class _Complaint(NamedTuple):
    """One thing that does not fit."""

    path: str
    received: str
    expected: str

    def __str__(self) -> str:
        return f"- {self.path or 'the arguments'}: received {self.received}; expected {self.expected}"


def _invalid(complaints: Iterable[_Complaint]) -> ToolError:
    lines = list(dict.fromkeys(str(each) for each in complaints))
    more = [f"- and {len(lines) - _MAX_COMPLAINTS} more"] if len(lines) > _MAX_COMPLAINTS else []
    shown = "\n".join(lines[:_MAX_COMPLAINTS] + more)
    return ToolError(f"The arguments do not fit this tool, so it did not run:\n{shown}")


class TypedArguments:
    """The arguments of a Python function; pydantic is loaded when the schema is first needed."""

    def __init__(self, function: Callable[..., Any], *, of_loop: tuple[type, ...] = ()) -> None:
        self._function = function
        self._of_loop = of_loop

    @cached_property
    def _hints(self) -> dict[str, Any]:
        return typing.get_type_hints(self._function, include_extras=True)

    @cached_property
    def filled_in(self) -> tuple[str, ...]:
        """The parameters that are not the model's."""
        return tuple(name for name, hint in self._hints.items() if name != "return" and hint in self._of_loop)

    @cached_property
    def _model(self) -> type[BaseModel]:
        from pydantic import ConfigDict, Field, create_model

        fields: dict[str, Any] = {}
        for name, parameter in inspect.signature(self._function).parameters.items():
            if name in self.filled_in:
                continue
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
                raise ConfigurationError(f"a tool takes named parameters only, not {parameter}")
            if name not in self._hints:
                raise ConfigurationError(f"parameter {name} of the tool {self._function.__name__} has no type")
            default = ... if parameter.default is parameter.empty else parameter.default
            words = [each for each in getattr(self._hints[name], "__metadata__", ()) if isinstance(each, str)]
            fields[name] = (self._hints[name], Field(default, description=words[0] if words else None))
        return create_model(self._function.__name__, __config__=ConfigDict(extra="forbid"), **fields)

    @cached_property
    def schema(self) -> Mapping[str, Any]:
        """The JSON Schema of the parameters."""
        schema = self._model.model_json_schema()
        _drop_titles(schema)
        return schema

    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters by name, as Python values; raises `ToolError`."""
        from pydantic import ValidationError

        try:
            return self._parsed(arguments)
        except ValidationError as first:
            error = first
        try:
            return self._parsed(narrow(arguments, self.schema))
        except ValidationError:
            pass
        raise _invalid(_typed_complaints(error, arguments, self.schema)) from None

    def _parsed(self, arguments: Any) -> dict[str, Any]:
        # Strict, but by JSON's rules: a date may be a string, a tuple an array, and "1" is no 1.
        model = self._model.model_validate_json(json.dumps(arguments), strict=True)
        return {name: getattr(model, name) for name in type(model).model_fields}


class ForeignArguments:
    """The arguments of a tool that brings its own JSON Schema, such as one of an MCP server."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = {"type": "object", "properties": {}, **schema}

    @property
    def schema(self) -> Mapping[str, Any]:
        """The schema as it was given."""
        return self._schema

    @cached_property
    def _validator(self) -> Any:
        from jsonschema import validators

        chosen = validators.validator_for(self._schema, default=validators.Draft202012Validator)
        return chosen(self._schema)

    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments, valid by the schema; raises `ToolError`."""
        errors = list(self._validator.iter_errors(dict(arguments)))
        if not errors:
            return dict(arguments)
        narrowed = narrow(arguments, self._schema)
        if isinstance(narrowed, dict) and self._validator.is_valid(narrowed):
            return narrowed
        raise _invalid(
            _Complaint(_dotted(error.absolute_path), _shown(error.instance), _schema_words(error)) for error in errors
        )


def _drop_titles(schema: Any) -> None:
    """pydantic titles repeat the names: tokens without meaning."""
    if isinstance(schema, dict):
        if isinstance(schema.get("title"), str):
            del schema["title"]
        for value in schema.values():
            _drop_titles(value)
    elif isinstance(schema, list):
        for value in schema:
            _drop_titles(value)


def _dotted(path: Iterable[Any]) -> str:
    return ".".join(str(step) for step in path)


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    short = text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}… ({len(text)} characters)"
    return f"{_json_type(value)} {short}" if _json_type(value) != "null" else "null"


def _json_type(value: Any) -> str:
    names = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number"}
    return names.get(type(value), "null")


def _typed_complaints(error: Any, arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterable[_Complaint]:
    for each in error.errors(include_url=False, include_context=False):
        path, value = _inside(arguments, each["loc"], missing=each["type"] == "missing")
        if each["type"] == "missing":
            yield _Complaint(path, "nothing", "a value: it is required")
        elif each["type"] == "extra_forbidden":
            names = ", ".join(schema.get("properties", {}))
            yield _Complaint(path, "an argument that this tool does not have", f"one of: {names}" if names else "none")
        else:
            yield _Complaint(path, _shown(value), each["msg"].removeprefix("Input should be "))


def _inside(arguments: Any, steps: tuple[Any, ...], *, missing: bool) -> tuple[str, Any]:
    """The path as far as it exists in what came (pydantic adds the names of union branches), and what is there."""
    value: Any = arguments
    path: list[Any] = []
    for step in steps:
        if isinstance(value, dict):
            is_there = step in value
        else:
            is_there = isinstance(value, list) and isinstance(step, int) and step < len(value)
        if is_there:
            value = value[step]
        elif missing and step == steps[-1]:
            value = None
        else:
            continue
        path.append(step)
    return _dotted(path), value


def _schema_words(error: Any) -> str:
    if error.validator == "type":
        kinds = error.validator_value
        return kinds if isinstance(kinds, str) else " or ".join(kinds)
    if error.validator == "enum":
        return "one of " + ", ".join(json.dumps(each, ensure_ascii=False) for each in error.validator_value)
    return str(error.message)[:300]


def narrow(value: Any, schema: Any, root: Mapping[str, Any] | None = None, depth: int = 0) -> Any:
    """`value` with common slips put right where `schema` wants another type; a copy, or `value` itself."""
    root = root if root is not None else schema
    if not isinstance(schema, Mapping) or depth > 50:
        return value
    if isinstance(reference := schema.get("$ref"), str):
        return narrow(value, _resolve(reference, root), root, depth + 1)
    branches = [each for each in schema.get("anyOf", ()) if isinstance(each, Mapping) and each.get("type") != "null"]
    if len(branches) == 1 and value is not None:
        return narrow(value, branches[0], root, depth + 1)
    value = _retyped(value, schema.get("type"))
    if isinstance(value, dict):
        return _narrow_object(value, schema, root, depth)
    if isinstance(value, list):
        return [narrow(item, schema.get("items"), root, depth + 1) for item in value]
    return value


def _narrow_object(value: dict[str, Any], schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> Any:
    properties = schema.get("properties", {})
    required = schema.get("required", ())
    return {
        name: narrow(item, properties.get(name), root, depth + 1)
        for name, item in value.items()
        if not (item is None and name in properties and name not in required)
    }


def _retyped(value: Any, wanted: Any) -> Any:
    match wanted:
        case "integer" if isinstance(value, str) and _INTEGER.fullmatch(value.strip()):
            return int(value)
        case "integer" if isinstance(value, float) and value.is_integer():
            return int(value)
        case "number" if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
            return float(value)
        case "boolean" if isinstance(value, str) and value.strip().lower() in ("true", "false"):
            return value.strip().lower() == "true"
        case "object" if isinstance(value, str):
            return _json_inside(value, dict)
        case "array" if not isinstance(value, list) and value is not None:
            inner = _json_inside(value, list) if isinstance(value, str) else value
            return inner if isinstance(inner, list) else [inner]
    return value


def _json_inside(text: str, kind: type) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, kind) else text


def _resolve(reference: str, root: Mapping[str, Any]) -> Any:
    found: Any = root
    for step in reference.removeprefix("#/").split("/"):
        found = found.get(step) if isinstance(found, Mapping) else None
    return found
