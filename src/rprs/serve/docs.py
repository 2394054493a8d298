"""The API reference at /docs, rendered from the OpenAPI schema: plain HTML without scripts or external assets."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from http import HTTPStatus
from typing import Any

__all__ = ["docs_page"]

Schema = Mapping[str, Any]

_METHODS = ("get", "post", "put", "patch", "delete")
_BOUNDS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "more than {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "less than {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "items: {} or more",
    "maxItems": "items: {} or fewer",
    "pattern": "like {}",
    "format": "{}",
}
_FRAME = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="icon" href="static/favicon.svg" type="image/svg+xml">
<link rel="stylesheet" href="static/docs.css">
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<nav aria-label="Contents">{navigation}</nav>
<main id="content">{content}</main>
</body>
</html>
"""


@dataclass(frozen=True, slots=True)
class _Operation:
    method: str
    path: str
    schema: Schema

    @property
    def anchor(self) -> str:
        return re.sub(r"[^a-z0-9]+", "-", f"{self.method} {self.path}".lower()).strip("-")

    @property
    def summary(self) -> str:
        return str(self.schema.get("description") or self.schema.get("summary") or "")


def docs_page(schema: Schema) -> str:
    """An OpenAPI schema as HTML: description, operations with examples, and objects."""
    info, models = schema.get("info", {}), schema.get("components", {}).get("schemas", {})
    operations = [
        _Operation(method.upper(), path, item[method])
        for path, item in schema.get("paths", {}).items()
        for method in _METHODS
        if method in item
    ]
    request_models = _referenced([each.schema.get("requestBody", {}) for each in operations], models)
    title = f"{info.get('title', 'API')} {info.get('version', '')}".strip()
    content = [
        f"<h1>{escape(title)}: HTTP API</h1>",
        _prose(info.get("description", "")),
        '<p>Schema: <a href="api/v1/openapi.json">openapi.json</a>. Web interface: <a href="./">search</a>.</p>',
        '<h2 id="operations">Operations</h2>',
        *(_operation(each, models) for each in operations),
        '<h2 id="objects">Objects</h2>',
        *(_model(name, models[name], name in request_models) for name in sorted(models)),
    ]
    return _FRAME.format(
        title=escape(f"{title}: HTTP API"),
        navigation=_navigation(operations, sorted(models)),
        content="\n".join(filter(None, content)),
    )


def _navigation(operations: Sequence[_Operation], names: Sequence[str]) -> str:
    listed = "".join(f'<li><a href="#{each.anchor}">{_title(each)}</a></li>' for each in operations)
    objects = "".join(f'<li><a href="#{_model_anchor(name)}">{escape(name)}</a></li>' for name in names)
    return (
        f'<p><a href="#operations">Operations</a></p><ul>{listed}</ul>'
        f'<p><a href="#objects">Objects</a></p><ul>{objects}</ul>'
    )


# ---------------------------------------------------------------------------- one operation


def _title(operation: _Operation) -> str:
    method = operation.method
    return f'<span class="method {method.lower()}">{method}</span> <code>{escape(operation.path)}</code>'


def _operation(operation: _Operation, models: Schema) -> str:
    schema = operation.schema
    parts = [f'<h3 id="{operation.anchor}">{_title(operation)}</h3>', _prose(operation.summary)]
    if parameters := schema.get("parameters"):
        rows = (
            [_code(each["name"]) + _required(each.get("required", False)), escape(each["in"]), *_about(each)]
            for each in parameters
        )
        parts += ["<h4>Parameters</h4>", _table(("Name", "In", "Type", "Description"), rows)]
    for kind, content in schema.get("requestBody", {}).get("content", {}).items():
        parts += [f"<h4>Body, {_code(kind)}</h4>", _shape(_resolved(content.get("schema", {}), models), needs=True)]
    parts += ["<h4>Responses</h4>", _responses(schema.get("responses", {}))]
    for kind, content in schema.get("responses", {}).get("200", {}).get("content", {}).items():
        if "$ref" in content.get("schema", {}):
            parts += [f"<h4>Response 200, {_code(kind)}</h4>", _shape(_resolved(content["schema"], models))]
    parts += ["<h4>Example</h4>", f'<pre tabindex="0"><code>{escape(_curl(operation, models))}</code></pre>']
    return f"<section>{''.join(parts)}</section>"


def _about(parameter: Schema) -> list[str]:
    """The type and description of a parameter or property."""
    schema = parameter.get("schema", parameter)
    description = str(parameter.get("description") or schema.get("description") or "")
    facts = list(_facts(schema))
    return [_type(schema), " ".join(filter(None, [_inline(description), f"({'; '.join(facts)})" if facts else ""]))]


def _responses(responses: Schema) -> str:
    """A table of responses; those that differ only in status share a row."""
    rows: dict[str, list[str]] = {}
    for status, response in responses.items():
        kinds = [f"{_code(kind)}: {_type(body['schema'])}" for kind, body in response.get("content", {}).items()]
        meaning = _inline(str(response.get("description") or _reason(status)).rstrip("."))
        rows.setdefault("<br>".join(kinds) or "none", []).append(f"{_code(status)} {meaning}")
    return _table(("Status", "Body"), ([", ".join(meanings), body] for body, meanings in rows.items()))


def _reason(status: str) -> str:
    try:
        return HTTPStatus(int(status)).phrase
    except ValueError:
        return status


def _curl(operation: _Operation, models: Schema) -> str:
    """An example command for a shell on this computer."""
    path, parameters = operation.path, []
    for each in operation.schema.get("parameters", []):
        value = str(_example(each.get("schema", {}), models))
        if each["in"] == "path":
            path = path.replace("{" + each["name"] + "}", value)
        elif each["in"] == "query" and each.get("required"):
            parameters.append(f"{each['name']}={value}")
    words = ["curl"] if operation.method == "GET" else ["curl", "-X", operation.method]
    words.append("http://127.0.0.1:8017" + path + ("?" + "&".join(parameters) if parameters else ""))
    content = operation.schema.get("requestBody", {}).get("content", {})
    lines = [" ".join(shlex.quote(word) for word in words)]
    if "application/json" in content:
        body = json.dumps(_example(content["application/json"].get("schema", {}), models), ensure_ascii=False)
        lines += ["-H 'Content-Type: application/json'", f"-d {shlex.quote(body)}"]
    line = " \\\n    ".join(lines)
    if "multipart/form-data" in content:
        line += "\n\n" + " ".join(shlex.quote(word) for word in [*words, "-F", "file=@brief.pdf"])
    return line


def _example(schema: Schema, models: Schema, depth: int = 0) -> Any:
    """A valid value: the schema's own example, or a minimal one."""
    if "$ref" in schema:
        return _example(models.get(_referred(schema), {}), models, depth + 1) if depth < 8 else {}
    for values in (schema.get("examples", [])[:1], [schema[key] for key in ("example", "const") if key in schema]):
        if values:
            return values[0]
    if schema.get("enum"):
        return schema["enum"][0]
    for several in ("anyOf", "oneOf", "allOf"):
        if schema.get(several):
            return _example(schema[several][0], models, depth + 1)
    kind = schema.get("type")
    if kind == "object" or "properties" in schema:
        required = schema.get("required", [])
        return {
            name: _example(each, models, depth + 1)
            for name, each in schema.get("properties", {}).items()
            if name in required
            or each.get("examples")
            or any(option.get("examples") for option in each.get("anyOf", []))
        }
    if kind == "array":
        return [_example(schema.get("items", {}), models, depth + 1)] if schema.get("minItems") else []
    return schema.get("default", {"integer": 1, "number": 1.0, "boolean": True}.get(str(kind), "text"))


# ---------------------------------------------------------------------------- objects and types


def _model_anchor(name: str) -> str:
    return "object-" + re.sub(r"[^A-Za-z0-9_-]+", "-", name)


def _model(name: str, schema: Schema, needs: bool) -> str:
    heading = f'<h3 id="{_model_anchor(name)}">{escape(name)}</h3>'
    return f"<section>{heading}{_prose(schema.get('description', ''))}{_shape(schema, needs)}</section>"


def _shape(schema: Schema, needs: bool = False) -> str:
    """An object as a table of its fields, with `needs` marking the required ones; anything else as its type."""
    properties = schema.get("properties")
    if not properties:
        return f"<p>{_type(schema)}</p>"
    needed = schema.get("required", []) if needs else []
    rows = [[_code(name) + _required(name in needed), *_about(each)] for name, each in properties.items()]
    if not any(meaning for *_, meaning in rows):
        return _table(("Field", "Type"), (row[:-1] for row in rows))
    return _table(("Field", "Type", "Description"), rows)


def _referred(schema: Schema) -> str:
    return str(schema["$ref"]).rpartition("/")[2]


def _resolved(schema: Schema, models: Schema) -> Schema:
    resolved: Schema = models.get(_referred(schema), schema) if "$ref" in schema else schema
    return resolved


def _referenced(part: Any, models: Schema) -> set[str]:
    """The names of all objects that a part of the schema refers to, directly or indirectly."""
    names: set[str] = set()
    stack = [part]
    while stack:
        here = stack.pop()
        if isinstance(here, Mapping):
            if "$ref" in here and (name := _referred(here)) not in names:
                names.add(name)
                stack.append(models.get(name, {}))
            stack.extend(here.values())
        elif isinstance(here, list):
            stack.extend(here)
    return names


def _type(schema: Schema) -> str:
    """A type in words, with links to objects."""
    if "$ref" in schema:
        name = _referred(schema)
        return f'<a href="#{_model_anchor(name)}">{escape(name)}</a>'
    for several in ("anyOf", "oneOf", "allOf"):
        if schema.get(several):
            return " or ".join(dict.fromkeys(_type(each) for each in schema[several]))
    if "enum" in schema or "const" in schema:
        return " or ".join(_code(json.dumps(each)) for each in schema.get("enum", [schema.get("const")]))
    kind = schema.get("type", "anything")
    if kind == "array":
        items = schema.get("items") or {"anyOf": schema.get("prefixItems", [])}
        return f"list of {_type(items)}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        return f"object of {_type(schema['additionalProperties'])}"
    return escape(" or ".join(kind) if isinstance(kind, list) else str(kind))


def _facts(schema: Schema) -> Iterator[str]:
    for options in (schema, *schema.get("anyOf", [])):
        for key, text in _BOUNDS.items():
            if key in options:
                value = options[key]
                yield escape(text.format(f"{value:,}" if isinstance(value, int) else value))
    if "default" in schema:
        yield f"default {_code(json.dumps(schema['default'], ensure_ascii=False))}"


# ---------------------------------------------------------------------------- HTML


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{escape(each)}</th>' for each in heads)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="table"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _code(text: object) -> str:
    return f"<code>{escape(str(text))}</code>"


def _required(needed: bool) -> str:
    return ' <span class="required">required</span>' if needed else ""


def _inline(text: str) -> str:
    """A line of HTML; text in backquotes becomes code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def _prose(text: object) -> str:
    """Paragraphs, separated by blank lines; indented ones are preformatted."""
    parts = [part for part in re.split(r"\n\s*\n", str(text).strip("\n")) if part.strip()]
    return "".join(
        f'<pre tabindex="0"><code>{escape(part)}</code></pre>' if part.startswith("    ") else f"<p>{_inline(part)}</p>"
        for part in parts
    )
