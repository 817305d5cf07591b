"""The daemon's tools and answers as MCP has them.

The text of a result is the daemon's `content`, whole. The structured content is the daemon's `data` where that says
what the text does not: without the rows that the text lists (`ROWS`), and not at all where the text is that JSON
itself, which is so of tools that change something. So tools that only read have an output schema, and no others.
Pictures are image content, and not in the structured one. Of an error the text is `[slug] message`.
"""

from typing import Any

import mcp_types

ROWS = ("results",)  # the rows of a search stand in both `content` and `data`


def tool_of(row: dict[str, Any], structured: bool) -> mcp_types.Tool:
    """A row of `tools.list` as an MCP tool; `structured` says whether this host gets structured content at all."""
    return mcp_types.Tool(
        name=row["name"],
        title=row.get("title"),
        description=row.get("description"),
        input_schema=row["params"],
        output_schema=output_schema(row) if structured and has_schema(row) else None,
        annotations=mcp_types.ToolAnnotations.model_validate(row.get("hints", {})),
    )


def has_schema(row: dict[str, Any]) -> bool:
    """Whether the tool's text is words, beside which its data can stand without saying them twice."""
    return row.get("hints", {}).get("readOnlyHint") is True and row.get("data", {}).get("type") == "object"


def output_schema(row: dict[str, Any]) -> dict[str, Any]:
    """The schema of the structured content: the data's, without what is left out of it."""
    schema: dict[str, Any] = row["data"]
    properties = {key: part for key, part in schema.get("properties", {}).items() if key not in ROWS}
    required = [key for key in schema.get("required", []) if key not in ROWS]
    definitions = {key: _without_picture(part) for key, part in schema.get("$defs", {}).items()}
    made = {**schema, "properties": properties, "required": required}
    return {**made, "$defs": definitions} if definitions else made


def succeeded(result: Any, structured: bool, schema: bool = False) -> mcp_types.CallToolResult:
    """A daemon's result. `schema`: the tool has an output schema, so that its structured content must be there."""
    content, data = str(result["content"]), result.get("data")
    facts: dict[str, Any] | None = None
    if structured and isinstance(data, dict) and (schema or not content.startswith("{")):
        facts = {key: value for key, value in data.items() if key not in ROWS}
    pictures = _pictures(data)
    if facts is not None and pictures:
        facts["files"] = [{key: value for key, value in file.items() if key != "image"} for file in facts["files"]]
    return mcp_types.CallToolResult(
        content=[_text(content), *pictures], structured_content=facts if schema else facts or None
    )


def failed(slug: str, message: str, data: dict[str, Any] | None) -> mcp_types.CallToolResult:
    """A failure: a result that the model reads, with the slug in front."""
    text = f"[{slug}] {message}"
    return mcp_types.CallToolResult(content=[_text(text)], structured_content=data or None, is_error=True)


def _pictures(data: Any) -> list[mcp_types.ImageContent]:
    """The pictures among the files that were read, in their order."""
    files = data.get("files") if isinstance(data, dict) else None
    images = [file.get("image") for file in files if isinstance(file, dict)] if isinstance(files, list) else []
    return [
        mcp_types.ImageContent(type="image", data=image["base64"], mime_type=image["mime"]) for image in images if image
    ]


def _without_picture(part: dict[str, Any]) -> dict[str, Any]:
    if "image" not in part.get("properties", {}):
        return part
    return {**part, "required": [key for key in part.get("required", []) if key != "image"]}


def _text(text: str) -> mcp_types.TextContent:
    return mcp_types.TextContent(type="text", text=text)
