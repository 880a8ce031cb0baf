"""A server that speaks MCP in plain lines of JSON, without any library, and misbehaves when it is told to.

``python rough_server.py [WAY[:MORE]]``: the way is how it misbehaves from the start; what it does in a call is the tool's.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import cast

WAY, _, MORE = (sys.argv[1] if len(sys.argv) > 1 else "").partition(":")
LOCK = threading.Lock()
STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"
)
SAMPLE: dict[str, object] = {"messages": [], "maxTokens": 5}
NAMES = (
    *("echo", "meta", "die", "leave", "never", "late", "twice", "garbage", "progress", "flood", "tick", "log"),
    *("change", "remove", "mutable", "child", "mute", "error", "fail", "content", "ping", "ask", "sample", "roots"),
    *("sleep", "seen", "environment", "oversized", "shapeless", "structured", "deaf", "pid", "half", "nag", "sulk"),
    *("level", "hush", "visit", "doubled", "fractional", "pit", "shout", "storm", "after", "stranger", "wonder"),
    *("shuffle", "nap", "note", "moan", "drone", "drivel"),
)
ODD_NAMES = ("", " ", "a b", "a\nb", "a\x00b", "n" * 300, "ünï", "a/b", "a:b", "a.b", "A", "a", "__class__", "fine")
SELF: dict[str, object] = {"type": "object", "properties": {"next": {"$ref": "#"}}}
ODD_SCHEMAS: tuple[object, ...] = (
    {"type": "object", "properties": 5},
    {"type": "object", "properties": {"a": {"type": "no such type"}}},
    {"type": "object", "properties": {"a": {"$ref": "https://example.com/a.json"}}},
    {"type": "object", "required": "a"},
    {"type": "object", "properties": {"a": {"pattern": "("}}},
    {"type": ["object", "null"]},
    {"allOf": [{"$ref": "#/allOf/0"}]},
    SELF,
    {},
    True,
    None,
)


class State:
    def __init__(self) -> None:
        self.description = "As it was."
        self.removed = False
        self.cancelled: list[object] = []
        self.late: dict[object, object] = {}
        self.asked: dict[object, Callable[[dict[str, object]], None]] = {}
        self.ids = 0
        self.subscription: object = None
        self.sulking = False
        self.level: object = None
        self.calls = 0
        self.listings = 0
        self.shuffled = False


STATE = State()


def raw(data: bytes) -> None:
    with LOCK:
        sys.stdout.buffer.write(data + b"\n")
        sys.stdout.buffer.flush()


def mapping(value: object) -> dict[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def complain(words: str) -> None:
    sys.stderr.write(f"{words}\n")
    sys.stderr.flush()


def send(message: dict[str, object]) -> None:
    raw(json.dumps({"jsonrpc": "2.0", **message}).encode())


def answer(request: object, result: object) -> None:
    send({"id": request, "result": result})


def text(request: object, words: object, **more: object) -> None:
    answer(request, {"content": [{"type": "text", "text": str(words)}], **more})


def notify(method: str, **params: object) -> None:
    send({"method": f"notifications/{method}", "params": params})


def ask(method: str, params: dict[str, object], then: Callable[[dict[str, object]], None]) -> None:
    STATE.ids += 1
    STATE.asked[STATE.ids] = then
    send({"id": STATE.ids, "method": method, "params": params})


def later(seconds: float, work: Callable[[], None]) -> None:
    timer = threading.Timer(seconds, work)
    timer.daemon = True
    timer.start()


def call(request: object, name: str, arguments: dict[str, object], meta: dict[str, object]) -> None:
    token = meta.get("progressToken")
    STATE.calls += 1
    match name:
        case "echo":
            text(request, json.dumps(arguments))
        case "meta":
            answer(request, {"content": [], "structuredContent": meta})
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "leave":
            complain("no more today")
            os._exit(3)
        case "never":
            pass
        case "late":
            STATE.late[request] = arguments
        case "twice":
            text(request, "first")
            text(request, "second")
        case "garbage":
            for line in (b"42", b"[1]", b"\xff\xfe", b"a banner", b"", b'{"jsonrpc": "2.0"}', b"x" * 2_000_000):
                raw(line)
            for _ in range(int(str(arguments.get("more", 0)))):
                raw(b"noise")
            text(request, "found")
        case "progress":
            for at in range(1, 6):
                notify("progress", progressToken=token, progress=at, total=5, message=f"step {at}")
            text(request, "done")
        case "flood":
            for at in range(5_000):
                notify("progress", progressToken=token, progress=at)
                notify("message", level="info", data=f"line {at}")
                notify("resources/updated", uri="file:///x")
            text(request, "done")
        case "tick":

            def tick(left: int) -> None:
                if left:
                    notify("progress", progressToken=token, progress=1)
                    later(0.05, lambda: tick(left - 1))
                else:
                    text(request, "done")

            tick(int(str(arguments["times"])))
        case "log":
            notify("message", level="warning", logger="mill", data={"grain": 3})
            text(request, "done")
        case "change":
            STATE.description = "Something else."
            notify("tools/list_changed")
            text(request, "changed")
        case "remove":
            STATE.removed = True
            notify("tools/list_changed")
            text(request, "removed")
        case "child":
            child = subprocess.Popen([sys.executable, "-I", "-S", "-c", STUBBORN], stdout=subprocess.PIPE)
            assert child.stdout is not None
            child.stdout.readline()
            text(request, child.pid)
        case "mute":
            os.close(1)
            time.sleep(30)
        case "error":
            send({"id": request, "error": {"code": arguments["code"], "message": "I will not", "data": {"why": "x"}}})
        case "fail":
            text(request, "the mill is closed", isError=True, _meta={"armory-trio/effect": arguments.get("effect")})
        case "content":
            answer(request, {"content": arguments["content"]})
        case "structured":
            answer(request, {"content": [], "structuredContent": arguments})
        case "ping":
            ask("ping", {}, lambda _: text(request, "pong"))
        case "ask":
            schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
            params: dict[str, object] = {"mode": "form", "message": "how many?", "requestedSchema": schema}
            ask("elicitation/create", params, lambda told: text(request, json.dumps(told.get("result", told))))
        case "sample":
            ask("sampling/createMessage", SAMPLE, lambda told: text(request, json.dumps(told.get("error", told))))
        case "roots":
            ask("roots/list", {}, lambda told: text(request, json.dumps(told.get("result", told.get("error")))))
        case "sleep":
            later(float(str(arguments["seconds"])), lambda: text(request, "slept"))
        case "seen":
            text(
                request,
                json.dumps({"cancelled": STATE.cancelled, "calls": [STATE.calls], "listings": [STATE.listings]}),
            )
        case "environment":
            text(request, json.dumps(sorted(os.environ)))
        case "oversized":
            text(request, "x" * 3_000_000)
        case "shapeless":
            send({"id": request, "result": [1]})
        case "doubled":
            raw(2 * f'{{"jsonrpc":"2.0","id":{token},"result":{{}}}}'.encode())
        case "fractional":
            raw(f'{{"jsonrpc":"2.0","id":{token}.0,"result":{{}}}}'.encode())
        case "pit":
            deep = b'"\\ud83d",' + b"[" * 500 + b"]" * 500
            raw(b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":[%s]}}' % deep)
            text(request, "done")
        case "pid":
            text(request, os.getpid())
        case "nap":
            text(request, "good night")
            while not Path(str(arguments["until"])).exists():
                time.sleep(0.01)
        case "note":
            with Path(str(arguments["to"])).open("a", encoding="utf-8") as notes:
                notes.write(f"{arguments['n']}\n")
            text(request, "noted")
        case "half":
            half = b'{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"cut \\ud83d off \xff"}]}}'
            raw(half.replace(b"ID", str(request).encode()))
        case "sulk":
            STATE.sulking = True
            notify("tools/list_changed")
            text(request, "hmpf")
        case "visit":
            params = {"mode": "url", "message": "sign here", "url": "https://example.com/1", "elicitationId": "e1"}
            ask("elicitation/create", params, lambda told: text(request, json.dumps(told.get("result", told))))
        case "shout":
            complain("x" * 5_000_000 + "\n" + "y\n" * 20_000 + "enough")
            text(request, "done")
        case "shuffle":
            STATE.shuffled = True
            notify("tools/list_changed")
            text(request, "shuffled")
        case "storm":
            for at in range(2_000):
                STATE.description = f"The {at}th."
                notify("tools/list_changed")
            text(request, "done")
        case "after":
            text(request, "done")
            for at in range(50):
                notify("progress", progressToken=token, progress=at)
                notify("message", level="info", data=f"line {at}")
        case "stranger":
            for stranger in (10**9, "abc", None, [1], 1.5, True):
                answer(stranger, {"content": []})
                send({"id": stranger, "error": {"code": 1, "message": "x"}})
            text(request, "done")
        case "wonder":
            ask("no/such", {}, lambda told: text(request, mapping(told.get("error")).get("code")))
        case "moan":
            words = "no " * (int(str(arguments["size"])) // 3)
            text(request, words, isError=True, structuredContent={"why": words})
        case "drone":
            words = "on " * (int(str(arguments["size"])) // 3)
            notify("progress", progressToken=token, progress=1, total=2, message=words)
            notify("message", level="info", logger=words, data=words)
            text(request, "done")
        case "drivel":
            words, rest = ("x" * int(str(arguments.get(part, 1))) for part in ("words", "address"))
            params = {"mode": "url", "message": words, "url": f"https://example.com/{rest}", "elicitationId": "e1"}
            ask("elicitation/create", params, lambda told: text(request, json.dumps(told.get("result", told))))
        case "level":
            text(request, STATE.level)
        case "nag":
            for _ in range(20_000):
                send({"id": f"n{STATE.ids}", "method": "ping"})
            time.sleep(30)
        case "deaf":
            text(request, "still here")
            time.sleep(30)
        case _:
            send({"id": request, "error": {"code": -32602, "message": f"no tool {name}"}})


def tools() -> list[dict[str, object]]:
    listed: list[dict[str, object]] = [
        {"name": name, "description": f"Does {name}.", "inputSchema": {"type": "object", "additionalProperties": True}}
        for name in NAMES
        if not (name == "mutable" and STATE.removed)
    ]
    for tool in listed:
        if tool["name"] == "mutable":
            tool["description"] = STATE.description
        if tool["name"] == "structured":
            tool["outputSchema"] = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
        if tool["name"] == "echo":
            tool["annotations"] = {"readOnlyHint": True}
    return [dict(reversed(tool.items())) for tool in reversed(listed)] if STATE.shuffled else listed


def page(cursor: object) -> dict[str, object]:
    if WAY == "loop":
        return {"tools": [], "nextCursor": "again"}
    if WAY == "endless":
        at = int(str(cursor or 0))
        return {"tools": [{"name": f"t{at}", "inputSchema": {"type": "object"}}], "nextCursor": str(at + 1)}
    if WAY == "many":
        at = int(str(cursor or 0))
        found = [{"name": f"t{n}", "inputSchema": {"type": "object"}} for n in range(at, at + 500)]
        return {"tools": found, "nextCursor": str(at + 500)} if at < 9_500 else {"tools": found}
    if WAY == "names":
        return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ODD_NAMES]}
    if WAY == "schemas":
        return {"tools": [{"name": f"s{at}", "inputSchema": schema} for at, schema in enumerate(ODD_SCHEMAS)]}
    if WAY == "empty-cursor" and cursor is None:
        return {"tools": tools()[:3], "nextCursor": ""}
    if WAY == "empty-cursor":
        return {"tools": tools()[3:]}
    if WAY == "odd":
        odd: list[object] = [
            7,
            {"name": "no schema"},
            {"name": 5, "inputSchema": {"type": "object"}},
            {"name": "broken", "inputSchema": {"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}}},
            {"name": "task", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "required"}},
            {"name": "text only", "inputSchema": {"type": "string"}},
            *tools(),
            tools()[0],
        ]
        return {"tools": odd}
    return {"tools": tools()}


def modern(method: object, request: object, given: dict[str, object]) -> bool:
    """What a server does that only speaks the revision without a handshake; False if it is nothing special."""
    version = "2026-07-28"
    common = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    match method:
        case "initialize" if MORE == "shakes":
            shaken: dict[str, object] = {
                "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": "r", "version": "1"},
            }
            answer(request, {"protocolVersion": version, **shaken})
        case "initialize" if MORE:
            send({"id": request, "error": {"code": int(MORE), "message": "I miss something in it"}})
        case "initialize":
            wrong = {"supported": [version], "requested": given["protocolVersion"]}
            send({"id": request, "error": {"code": -32022, "message": "too old", "data": wrong}})
        case "server/discover":
            answer(
                request, {"supportedVersions": [version], "capabilities": {"tools": {"listChanged": True}}, **common}
            )
        case "tools/list":
            answer(request, {**page(given.get("cursor")), **common})
        case "subscriptions/listen":
            STATE.subscription = request
            notify("subscriptions/acknowledged", notifications={"toolsListChanged": True}, _meta=subscribed())
        case "tools/call" if given["name"] == "ask":
            if "inputResponses" in given:
                text(request, json.dumps([given["inputResponses"], given["requestState"]]), resultType="complete")
                return True
            if given.get("requestState") == "wait":
                schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
                params = {"mode": "form", "message": "how many?", "requestedSchema": schema}
                wanted = {"a": {"method": "elicitation/create", "params": params}}
                answer(request, {"resultType": "input_required", "inputRequests": wanted, "requestState": "s1"})
                return True
            answer(request, {"resultType": "input_required", "requestState": "wait"})
        case "tools/call" if given["name"] == "sample":
            refused: dict[str, object] = {"method": "sampling/createMessage", "params": SAMPLE}
            answer(request, {"resultType": "input_required", "inputRequests": {"a": refused}})
        case "tools/call" if given["name"] == "roots":
            if "inputResponses" in given:
                text(request, json.dumps(given["inputResponses"]), resultType="complete")
            else:
                answer(request, {"resultType": "input_required", "inputRequests": {"a": {"method": "roots/list"}}})
        case "tools/call" if given["name"] == "fail":
            if given.get("requestState"):
                send({"id": request, "error": {"code": -32602, "message": "on second thought"}})
            else:
                answer(request, {"resultType": "input_required", "requestState": "s"})
        case "tools/call" if given["name"] == "content":
            answer(request, {"resultType": "input_required"})
        case "tools/call" if given["name"] == "hush":
            answer(STATE.subscription, {"resultType": "complete", "_meta": subscribed()})
            text(request, "hushed", resultType="complete")
        case "tools/call" if given["name"] == "never":
            answer(request, {"resultType": "input_required", "requestState": "wait"})
        case "tools/call" if given["name"] == "mutable":
            STATE.calls += 1
            if given.get("requestState"):
                text(request, "ran", resultType="complete")
                return True
            STATE.description = "Something else."
            notify("tools/list_changed", _meta=subscribed())
            answer(request, {"resultType": "input_required", "requestState": "s"})
        case "tools/call" if given["name"] == "change":
            STATE.description = "Something else."
            notify("tools/list_changed", _meta=subscribed())
            text(request, "changed")
        case _:
            return False
    return True


def subscribed() -> dict[str, object]:
    return {"io.modelcontextprotocol/subscriptionId": STATE.subscription}


def handle(message: dict[str, object]) -> None:
    method, request = message.get("method"), message.get("id")
    given = mapping(message.get("params"))
    if WAY == "modern" and modern(method, request, given):
        return
    if method == "initialize":
        if WAY == "silent":
            complain("waiting for the moon")
            return
        if WAY == "raves":
            send({"id": request, "error": {"code": -32603, "message": "not for you! " * 200_000}})
            return
        if WAY == "refuses":
            send({"id": request, "error": {"code": int(MORE or -32603), "message": "not for you"}})
            return
        result = {
            "protocolVersion": given["protocolVersion"],
            "capabilities": {"tools": {"listChanged": True}, "logging": {}},
            "serverInfo": {"name": "rough", "version": "1"},
            "instructions": "Be careful.",
        }
        answer(request, result)
    elif method == "logging/setLevel":
        STATE.level = given["level"]
        answer(request, {})
    elif method == "tools/list" and WAY == "listless":
        pass
    elif method == "tools/list" and STATE.sulking:
        send({"id": request, "error": {"code": -32603, "message": "not now"}})
    elif method == "tools/list":
        STATE.listings += 1
        answer(request, page(given.get("cursor")))
    elif method == "tools/call":
        call(request, str(given["name"]), mapping(given.get("arguments")), mapping(given.get("_meta")))
    elif method == "notifications/cancelled":
        STATE.cancelled.append(given["requestId"])
        if given["requestId"] in STATE.late:
            text(given["requestId"], "too late")
    elif method == "server/discover":
        send({"id": request, "error": {"code": -32601, "message": "what is that?"}})
    elif method is None and request in STATE.asked:
        STATE.asked.pop(request)(message)


def main() -> None:
    if WAY == "dies":
        complain("no licence found")
        sys.exit(7)
    if WAY == "marked":
        sys.stdout.buffer.write(b"\xef\xbb\xbf")
    if WAY == "banner":
        raw(b"Welcome to the mill!\n")
    if WAY == "stays":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for line in sys.stdin.buffer:
        handle(json.loads(line))
    if WAY == "stays":
        time.sleep(600)


if __name__ == "__main__":
    main()
