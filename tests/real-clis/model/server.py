"""The model behind HTTP on loopback: one thread for each request, each answered by its wire format."""

import gzip
import json
import sys
import threading
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from . import anthropic, gemini, responses

# Longer than any wait of a test: the test that holds a gate has opened it or failed by then.
LONGEST_HOLD = 900


def serve(model):
    """Starts answering. Returns the server; its `server_port` is where."""

    class Handler(Conversation):
        pass

    Handler.model = model
    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="model", daemon=True).start()
    return server


class Server(ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        """A CLI that is killed leaves its connections open. Everything else is a mistake of ours."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def wire_of(path):
    if path.endswith("/messages"):
        return anthropic
    if path.endswith("/responses"):
        return responses
    return gemini if "enerateContent" in path else None


class Conversation(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model = None

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.document({})

    def do_GET(self):
        names = ["claude-sonnet-4-5", "gpt-5.5"]
        models = [{"id": name, "object": "model", "type": "model", "display_name": name} for name in names]
        self.document({"object": "list", "data": models, "models": [], "has_more": False})

    def do_POST(self):
        body = self.body()
        path = self.path.split("?")[0]
        wire = wire_of(path)
        if wire is None:
            return self.document({"input_tokens": 100, "totalTokens": 100})
        request = wire.request(body)
        step = self.model.answer(request)
        if step.kind == "refuse":
            if not self.model.gate(step.gate).is_set():
                kind = "rate_limit_error" if step.status == 429 else "api_error"
                refusal = {"type": "error", "error": {"type": kind, "message": step.text}}
                return self.document(refusal, step.status, step.headers)
            step = step.then
        if step.gate:
            self.model.gate(step.gate).wait(LONGEST_HOLD)
        try:
            events = wire.answer(body, request, step)
        except LookupError as problem:
            return self.document({"error": {"type": "invalid_request_error", "message": str(problem)}}, 400)
        try:
            if wire.is_streamed(path, body):
                self.stream(events)
            else:
                self.document(wire.whole(events))
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def body(self):
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            raw = b""
            while size := int(self.rfile.readline().split(b";")[0] or b"0", 16):
                raw += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        coding = self.headers.get("content-encoding", "")
        if coding == "gzip":
            raw = gzip.decompress(raw)
        elif coding == "deflate":
            raw = zlib.decompress(raw)
        try:
            return json.loads(raw or b"{}")
        except ValueError:
            return {}

    def document(self, value, status=200, headers=()):
        text = json.dumps(value).encode()
        self.send_response(status)
        for name, said in headers:
            self.send_header(name, said)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    def stream(self, events):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for event in events:
            name = f"event: {event['type']}\n" if "type" in event else ""
            self.wfile.write(f"{name}data: {json.dumps(event)}\n\n".encode())
            self.wfile.flush()
