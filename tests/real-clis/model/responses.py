"""OpenAI's responses, as codex speaks them."""

import json
import time
import uuid

from . import tools
from .anthropic import texts as anthropic_texts
from .script import Request, Turn

RESULTS = ("function_call_output", "custom_tool_call_output", "local_shell_call_output")
CALLS = ("function_call", "custom_tool_call", "local_shell_call")


def texts(content):
    if isinstance(content, str):
        return content
    return anthropic_texts([{"text": part.get("text", "")} for part in content or []])


def request(body):
    asked = body.get("input") or []
    if isinstance(asked, str):
        asked = [{"type": "message", "role": "user", "content": asked}]
    turns = []
    for item in asked:
        if item.get("type", "message") == "message":
            turns.append(Turn(item.get("role", ""), texts(item.get("content"))))
        elif item["type"] in CALLS:
            turns.append(Turn("assistant", ""))
        elif item["type"] in RESULTS:
            turns.append(Turn("tool", "", texts(item.get("output"))))
    offered = {
        one.get("name") or one.get("type"): one.get("parameters", {}).get("properties", {})
        for one in body.get("tools") or []
    }
    return Request("responses", tuple(turns), offered, str(body.get("instructions", "")))


def is_streamed(_path, body):
    return bool(body.get("stream"))


def answer(body, request, step):
    item = output(body, request, step)
    usage = {
        "input_tokens": 1000,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 1020,
    }
    begun = {
        "id": f"resp_{uuid.uuid4().hex[:20]}",
        "object": "response",
        "created_at": int(time.time()),
        "model": body.get("model"),
        "status": "in_progress",
        "output": [],
    }
    ended = begun | {"status": "completed", "output": [item], "usage": usage}
    return [
        {"type": "response.created", "response": begun},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": ended},
    ]


def output(body, request, step):
    one = uuid.uuid4().hex[:20]
    if step.kind == "say":
        content = [{"type": "output_text", "text": step.text, "annotations": []}]
        return {"type": "message", "id": f"msg_{one}", "role": "assistant", "status": "completed", "content": content}
    name, words = tools.call(step, request)
    called = {"call_id": f"call_{one}", "name": name, "status": "completed"}
    if any(tool.get("type") == "custom" and tool.get("name") == name for tool in body.get("tools") or []):
        return {"type": "custom_tool_call", "id": f"ctc_{one}", "input": words["input"], **called}
    return {"type": "function_call", "id": f"fc_{one}", "arguments": json.dumps(words), **called}


def whole(events):
    return events[-1]["response"]
