"""Anthropic's messages, as claude speaks them."""

import json
import uuid

from . import tools
from .script import Request, Turn


def texts(content):
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or [] if part.get("type", "text") == "text")


def results(content):
    if isinstance(content, str):
        return ""
    found = (part.get("content") for part in content or [] if part.get("type") == "tool_result")
    return "\n".join(texts(one) for one in found)


def request(body):
    said = ((one.get("role", ""), one.get("content")) for one in body.get("messages", []))
    turns = tuple(Turn(role, texts(content), results(content)) for role, content in said)
    offered = {
        one.get("name"): one.get("input_schema", {}).get("properties", {}) for one in body.get("tools") or []
    }
    return Request("anthropic", turns, offered, texts(body.get("system")))


def is_streamed(_path, body):
    return bool(body.get("stream"))


def answer(body, request, step):
    usage = {"input_tokens": 1000, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 20}
    message = {
        "id": f"msg_{uuid.uuid4().hex[:20]}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model"),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    if step.kind == "say":
        empty, stop = {"type": "text", "text": ""}, "end_turn"
        delta = {"type": "text_delta", "text": step.text}
    else:
        name, words = tools.call(step, request)
        empty, stop = {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex[:20]}", "name": name, "input": {}}, "tool_use"
        delta = {"type": "input_json_delta", "partial_json": json.dumps(words)}
    return [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ]


def whole(events):
    """The same answer without streaming."""
    message, block, delta = events[0]["message"], dict(events[1]["content_block"]), events[2]["delta"]
    if block["type"] == "text":
        block["text"] = delta["text"]
    else:
        block["input"] = json.loads(delta["partial_json"])
    return message | {"content": [block], "stop_reason": events[4]["delta"]["stop_reason"]}
