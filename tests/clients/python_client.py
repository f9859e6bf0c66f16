"""Drives an MCP server with the `mcp` package, as a plan on stdin says, and prints the answers.

The plan is {"command", "args", "mode", "steps"}; `mode` is that of `mcp.Client`: "legacy" shakes
hands, "auto" finds the newest revision. Steps, one answer each:

    "list_tools"
    {"call": {"tool", "arguments"}}
    {"parallel": [{"tool", "arguments"}, ...]}
    {"read_to_end": {"path", "limit"}}
"""

import asyncio
import json
import sys

from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError


async def list_tools(client):
    listed = await client.list_tools()
    return [
        {
            "name": tool.name,
            "title": tool.title,
            "description": tool.description,
            "input_schema": tool.input_schema,
            "output_schema": tool.output_schema,
            "hints": [
                tool.annotations.read_only_hint,
                tool.annotations.destructive_hint,
                tool.annotations.idempotent_hint,
                tool.annotations.open_world_hint,
            ],
        }
        for tool in listed.tools
    ]


async def call(client, tool, arguments):
    # The client itself checks structured results against the tool's output schema.
    try:
        result = await client.call_tool(tool, arguments)
    except MCPError as error:
        return {"protocol_error": error.error.code}
    return {
        "is_error": result.is_error,
        "text": "".join(block.text for block in result.content),
        "structured": result.structured_content,
    }


async def parallel(client, calls):
    return await asyncio.gather(*(call(client, each["tool"], each["arguments"]) for each in calls))


async def read_to_end(client, path, limit):
    lines, windows, offset, total = [], 0, 1, None
    while total is None or offset <= total:
        arguments = {"file_path": path, "offset": offset, "limit": limit}
        answer = await call(client, "read", arguments)
        if answer["is_error"]:
            return answer
        shown = answer["structured"]
        lines += [line["text"] for line in shown["lines"]]
        windows += 1
        offset += shown["returned_lines"]
        total = shown["total_lines"]
    return {"windows": windows, "lines": lines}


async def take(client, step):
    match step:
        case "list_tools":
            return await list_tools(client)
        case {"call": each}:
            return await call(client, **each)
        case {"parallel": calls}:
            return await parallel(client, calls)
        case {"read_to_end": window}:
            return await read_to_end(client, **window)
    raise ValueError(f"no such step: {step}")


async def main():
    plan = json.load(sys.stdin)
    server = StdioServerParameters(command=plan["command"], args=plan["args"])
    async with Client(server, mode=plan["mode"]) as client:
        answers = [await take(client, step) for step in plan["steps"]]
        outcome = {
            "revision": str(client.protocol_version),
            "instructions": client.instructions,
            "answers": answers,
        }
    json.dump(outcome, sys.stdout)


asyncio.run(main())
