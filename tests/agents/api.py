"""A Messages API on the loopback interface, as much of it as Claude Code needs for a turn.

The last word of the newest prompt decides: one that begins with `tool-` gets a call of Bash, anything else itself in capital
letters, so that the answer is found on the screen. A request without tools is no turn (titles and the like).
"""

import http.server
import json
import threading
import uuid


class Turn:
    """One answer that a test waits with: the person has time to look away."""

    def __init__(self):
        self.asked = threading.Event()
        self.may_answer = threading.Event()


class Api(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.turns = {}
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    def expect(self, word, after_tool=False):
        """The next request with this word, which is answered only when the test says so."""
        turn = self.turns[word, after_tool] = Turn()
        return turn


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def send(self, status, body, kind="application/json"):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_HEAD(self):
        self.send(200, b"")

    def do_GET(self):
        self.send(404, b'{"type":"error","error":{"type":"not_found_error","message":"no such thing"}}')

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        if not self.path.split("?")[0].endswith("/v1/messages"):
            return self.send(200, b'{"input_tokens":10}')
        text, after_tool = newest_prompt(request.get("messages", []))
        word = (text.split() or [""])[-1]
        if not request.get("tools"):
            block = {"type": "text", "text": json.dumps({"title": "A title", "isNewTopic": False})}
        else:
            turn = self.server.turns.pop((word, after_tool), None)
            if turn:
                turn.asked.set()
                turn.may_answer.wait(60)
            if word.startswith("tool-") and not after_tool:
                command = {"command": f"touch {word}", "description": "a file"}
                block = {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex[:20]}", "name": "Bash", "input": command}
            else:
                block = {"type": "text", "text": word.upper()}
        message = answer(request.get("model"), block)
        if request.get("stream"):
            self.send(200, stream(message), "text/event-stream")
        else:
            self.send(200, json.dumps(message).encode())


def newest_prompt(messages):
    """What the person typed last, and whether a tool has answered since."""
    after_tool = False
    for message in reversed(messages):
        content = message["content"]
        if message["role"] != "user":
            continue
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        after_tool |= any(block["type"] == "tool_result" for block in content)
        # What Claude adds itself stands in tags.
        texts = [block["text"] for block in content if block["type"] == "text" and not block["text"].lstrip().startswith("<")]
        if texts:
            return texts[-1], after_tool
    return "", after_tool


def answer(model, block):
    return {
        "id": f"msg_{uuid.uuid4().hex[:20]}", "type": "message", "role": "assistant", "model": model, "content": [block],
        "stop_reason": "tool_use" if block["type"] == "tool_use" else "end_turn", "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 5, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0},
    }


def stream(message):
    """The same message as server-sent events."""
    block = message["content"][0]
    if block["type"] == "text":
        start, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
    else:
        start, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    events = [
        {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": start},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": end, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ]
    return b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)
