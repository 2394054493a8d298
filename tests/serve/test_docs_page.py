"""The API reference at /docs."""

from __future__ import annotations

from rprs.serve.docs import docs_page

# ---------------------------------------------------------------------------- /docs

EVIL = "<script>alert('x')</script>"


def test_the_api_reference_is_complete_and_escaped() -> None:
    schema = {
        "info": {"title": f"Cases {EVIL}", "version": "1", "description": f"One `word`.\n\n    code {EVIL}"},
        "paths": {
            "/api/v1/find/{id}": {
                "post": {
                    "description": f"Finds. {EVIL}",
                    "parameters": [
                        {
                            "name": "id",
                            "in": "path",
                            "required": True,
                            "schema": {"type": "string", "examples": ["it's"]},
                        },
                        {"name": EVIL, "in": "header", "schema": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
                    ],
                    "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Ask"}}}},
                    "responses": {
                        "200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Hit"}}}},
                        "404": {"description": EVIL},
                        "5XX": {},
                    },
                }
            }
        },
        "components": {
            "schemas": {
                "Ask": {
                    "required": ["text"],
                    "properties": {
                        "text": {"type": "string", "maxLength": 20000, "examples": [EVIL]},
                        "inner": {"type": "array", "items": {"$ref": "#/components/schemas/Ask"}},
                        "kind": {"enum": ["a", "b"], "default": "a"},
                    },
                },
                "Hit": {"description": EVIL, "properties": {"score": {"type": "number"}}, "required": ["score"]},
            }
        },
    }
    page = docs_page(schema)
    assert "<script" not in page
    assert "style=" not in page
    assert page.count("&lt;script&gt;alert") >= 6
    assert '<h3 id="post-api-v1-find-id">' in page
    assert '<a href="#post-api-v1-find-id">' in page
    assert 'list of <a href="#object-Ask">Ask</a>' in page
    assert "at most 20,000 characters" in page
    assert "<code>text</code> <span" in page  # required of a request
    assert "<code>score</code></td>" in page  # fields of a response have no such mark
    assert "curl -X POST &#x27;http://127.0.0.1:8017/api/v1/find/it" in page
