"""The generated parts of reference pages; run as a program, it writes them anew."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from warmset import Memory
from warmset.serve.tools import CORE, Desk, Imports, Tool, table

ROOT = Path(__file__).resolve().parents[3]
REFERENCE = ROOT / "python" / "docs" / "reference"
TOOLS = REFERENCE / "tools.md"
MCP = REFERENCE / "mcp.md"
RESULTS = ROOT / "tests" / "conformance" / "results.json"
BEGIN = "<!-- generated: python tests/python/support/tool_pages.py -->"
END = "<!-- end -->"
EFFECTS = {"read": "reads", "write": "writes", "erase": "erases"}


def every_tool() -> list[Tool]:
    """Return the tools of a server that has everything."""
    with Memory.open(None, embedder="lexical") as memory:
        imports = Imports(directory=ROOT, run=lambda *_given: {})
        return table(Desk(memory=lambda: memory, limit=8_000, imports=imports))


def kind(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return ", ".join(f"`{one}`" for one in schema["enum"])
    types = schema.get("type", "any")
    name = " or ".join(types) if isinstance(types, list) else types
    if name == "array":
        inner = kind(schema.get("items", {}))
        size = schema.get("maxItems")
        name = f"list of {inner}" + (f", at most {size:,}" if size else "")
    low, high = schema.get("minimum"), schema.get("maximum")
    if high is not None and high < 2**31:
        name += f", {low} to {high}"
    if "maxLength" in schema:
        name += f", at most {schema['maxLength']:,} characters"
    return name


def row(*cells: str) -> str:
    return f"| {' | '.join(one.replace('|', chr(92) + '|') for one in cells)} |\n"


def tool_section(tool: Tool) -> str:
    older = f" Earlier name: `{tool.older}`." if tool.older else ""
    out = f"## {tool.name}\n\n{tool.description}\n\nIt {EFFECTS[tool.effect]}.{older}\n\n"
    if tool.properties:
        out += "| argument | type | default | meaning |\n|---|---|---|---|\n"
    for name, schema in tool.properties.items():
        default = schema.get("default")
        plain = default if isinstance(default, str) else json.dumps(default)
        shown = "none" if default is None else f"`{plain}`"
        shown = "required" if name in tool.required else shown
        out += row(f"`{name}`", kind(schema), shown, schema.get("description", ""))
    out += (
        "\n" * bool(tool.properties) + "| member of the result | type | meaning |\n|---|---|---|\n"
    )
    for name, schema in tool.output.items():
        often = "" if name in tool.always else " (not always there)"
        said = schema.get("description", "")
        if schema.get("type") == "array" and "properties" in schema.get("items", {}):
            named = ", ".join(f"`{one}`" for one in schema["items"]["properties"])
            said = f"{said} Each has {named}.".strip()
        out += row(f"`{name}`", kind(schema) + often, said)
    return out


def tools_text() -> str:
    """Return the generated part of the page of tools."""
    tools = every_tool()
    out = "| tool | in front | what it does |\n|---|---|---|\n"
    for tool in tools:
        front = "yes" if tool.name in CORE else "behind `warmset_more`"
        first = tool.description.split(". ")[0].rstrip(".")
        out += row(f"[`{tool.name}`](#{tool.name})", front, first)
    return out + "\n" + "\n".join(tool_section(tool) for tool in tools)


def conformance_text() -> str:
    """Return the generated part of the page of the server."""
    found = json.loads(RESULTS.read_text())
    revisions = found["revisions"]
    names = sorted({name for scenarios in revisions.values() for name in scenarios})
    out = f"Release {found['suite']}. "
    for revision, scenarios in revisions.items():
        passed = sum("judged" in one and not one["failed"] for one in scenarios.values())
        judged = sum("judged" in one for one in scenarios.values())
        out += f"{revision}: {passed} of {judged} scenarios that apply pass. "
    out = out.rstrip() + "\n\n" + row("scenario", *revisions) + "|---|" + "---|" * len(revisions)
    out += "\n"
    for name in names:
        cells = [_verdict(scenarios.get(name)) for scenarios in revisions.values()]
        out += row(f"`{name}`", *cells)
    return out


def _verdict(one: dict[str, Any] | None) -> str:
    if one is None:
        return "not in it"
    if "judged" not in one:
        return f"does not apply: {one['not applicable']}"
    where = "" if one["judged"] == "server" else ", with the suite's own tools"
    return f"{'fails' if one['failed'] else 'passes'}: {one['passed']} checks{where}"


def between(page: Path) -> str:
    """Return the generated part that a page has."""
    found = re.search(f"{re.escape(BEGIN)}\n(.*?){re.escape(END)}", page.read_text(), re.DOTALL)
    assert found is not None, page
    return found[1].strip("\n") + "\n"


def main() -> None:
    for page, text in ((TOOLS, tools_text()), (MCP, conformance_text())):
        before, _, rest = page.read_text().partition(BEGIN)
        after = rest.partition(END)[2]
        page.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{after}")


if __name__ == "__main__":
    main()
