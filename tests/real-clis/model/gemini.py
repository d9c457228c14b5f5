"""Google's generateContent, as gemini speaks it."""

import json

from . import tools
from .responses import texts
from .script import Request, Turn


def request(body):
    turns = []
    for content in body.get("contents") or []:
        role = "assistant" if content.get("role") == "model" else "user"
        parts = content.get("parts") or []
        answers = [part["functionResponse"].get("response", {}) for part in parts if "functionResponse" in part]
        results = "\n".join(str(one.get("output", one.get("error", ""))) for one in answers)
        turns.append(Turn(role, texts(parts), results))
    offered = {}
    for group in body.get("tools") or []:
        for one in group.get("functionDeclarations", []):
            schema = one.get("parametersJsonSchema") or one.get("parameters") or {}
            offered[one.get("name")] = schema.get("properties", {})
    system = body.get("systemInstruction") or {}
    return Request("gemini", tuple(turns), offered, texts(system.get("parts") if isinstance(system, dict) else ""))


def is_streamed(path, _body):
    return ":stream" in path


def answer(body, request, step):
    if step.kind == "say":
        part = {"text": aside(body) if request.is_aside else step.text}
    else:
        name, words = tools.call(step, request)
        part = {"functionCall": {"name": name, "args": words}}
    usage = {"promptTokenCount": 1000, "candidatesTokenCount": 20, "totalTokenCount": 1020}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    return [{"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"}]


def aside(body):
    """Some of its questions want JSON of a certain shape for an answer."""
    wanted = body.get("generationConfig") or {}
    schema = wanted.get("responseJsonSchema") or wanted.get("responseSchema")
    if schema or wanted.get("responseMimeType") == "application/json":
        return json.dumps(smallest(schema or {}))
    return "ok"


def smallest(schema):
    """The least that a JSON schema accepts."""
    if schema.get("enum"):
        return schema["enum"][0]
    kind = str(schema.get("type", "object")).lower()
    if kind == "object":
        return {name: smallest(inner) for name, inner in schema.get("properties", {}).items()}
    least = schema.get("minimum", 0)
    return {"array": [], "number": least, "integer": least, "boolean": False}.get(kind, "ok")


def whole(events):
    return events[0]
