"""What the player says at a step, and which rule it names."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from mcpsim import Client, Server, Stdio, StreamableHttp, simulate
from mcpsim.course import STORIES
from mcpsim.eras.pages import spec_url
from mcpsim.recording import Recording, events
from mcpsim.widgets.narration import LINES, Narration, Narrator, url_of
from mcpsim.widgets.passing import passing_of
from mcpsim.widgets.reading import read
from mcpsim.widgets.steps import Steps, steps_of
from mcpsim.widgets.threads import threads_of
from tests.support.cases import case


def narrator_of(recording: Recording, steps: Steps) -> Narrator:
    conversation = read(recording)
    passing = passing_of(recording, conversation)
    return Narrator(recording, conversation, steps, passing, threads_of(recording, conversation, passing))


def told(recording: Recording) -> list[Narration]:
    steps = steps_of(recording)
    speaker = narrator_of(recording, steps)
    return [speaker.tell(step) for step in steps.all]


# ------------------------------------------------------------------------------- every row of the tables

FROM_SERVER = {"sampling/createMessage", "elicitation/create", "roots/list"}


class Scene:
    """A pen in one era: `ask` and `answer` do what that era does."""

    def __init__(self, made: Any, era: str) -> None:
        self.made, self.era, self.pen = made, era, made.Pen()
        if era == "legacy":
            # The mark of the era; a call of its own, so that ids do not meet.
            self.pen.send("client", "server", made.plain("start", "initialize", {"protocolVersion": "1"}))

    def ask(self, method: str, params: dict[str, Any] | None = None, id: Any = 1, **more: Any) -> None:
        params = {"name": "clock", "uri": "note://1", **(params or {})}
        sides = ("server", "client") if method in FROM_SERVER else ("client", "server")
        make = self.made.request if self.era == "modern" else self.made.plain
        self.pen.send(*sides, make(id, method, params), **more)

    def answer(self, method: str, result: dict[str, Any], id: Any = 1) -> None:
        sides = ("client", "server") if method in FROM_SERVER else ("server", "client")
        if self.era == "modern":
            result = {"resultType": "complete", **result}
        self.pen.send(*sides, {"jsonrpc": "2.0", "id": id, "result": result})

    def fail(self, code: int, id: Any = 1, **more: Any) -> None:
        self.pen.send("server", "client", self.made.error(id, code, "So it is."), **more)

    def notify(self, method: str, sides: tuple[str, str] = ("server", "client"), **params: Any) -> None:
        self.pen.send(*sides, self.made.notification(method, **params))

    def http(
        self, sides: tuple[str, str], head: dict[str, Any], body: bytes = b"", exchange: int = 1
    ) -> None:
        head = {"headers": [], **head}
        self.pen.send(*sides, body, exchange=exchange, head=head)

    def close(self, party: str, what: str, how: str = "closed", exchange: int = 0) -> None:
        peer = "server" if party == "client" else "client"
        self.pen.recorder.closed(party, peer, what, how, connection=1, exchange=exchange)

    def post(self) -> None:
        message = (
            self.made.request(1, "tools/call") if self.era == "modern" else self.made.plain(1, "tools/call")
        )
        self.pen.send(
            "client",
            "server",
            message,
            exchange=1,
            head={"method": "POST", "path": "/mcp", "headers": []},
        )


def relay(scene: Scene, *messages: tuple[str, str, Any, dict[str, Any] | None]) -> None:
    """Messages on two hops, of which 1 lies before the gateway and 2 behind it."""
    for sender, receiver, message, head in messages:
        body = message if isinstance(message, bytes) else scene.made.write(message)
        exchange = 1 if "client" in (sender, receiver) else 2
        scene.pen.send(sender, receiver, body, exchange=exchange, head=head)


def through(scene: Scene, message: dict[str, Any]) -> list[tuple[str, str, Any, dict[str, Any] | None]]:
    """A message of the client that goes through a gateway."""
    return [("client", "gateway", message, POST), ("gateway", "server", message, POST)]


def listing(scene: Scene) -> dict[str, Any]:
    return (scene.made.request if scene.era == "modern" else scene.made.plain)(1, "tools/list")


def kept(scene: Scene, scope: str = "public") -> dict[str, Any]:
    return scene.made.result(1, tools=[], ttlMs=9, cacheScope=scope)


def retry(scene: Scene) -> dict[str, Any]:
    return scene.made.request(1, "resources/read", {"uri": "a://b", "requestState": "x"})


def answered_by_the_gateway(scene: Scene, message: Any, status: int = 200) -> None:
    """Another request went through before, so that it is known who the gateway is."""
    before = scene.made.notification("notifications/x")
    scene.pen.send("client", "gateway", before, exchange=3, head=POST)
    scene.pen.send("gateway", "server", before, exchange=4, head=POST)
    relay(scene, ("client", "gateway", listing(scene), POST), ("gateway", "client", message, answer(status)))


def answer(status: int, *headers: list[str]) -> dict[str, Any]:
    return {"status": status, "headers": list(headers)}


def listen(scene: Scene) -> None:
    message = scene.made.request(1, "subscriptions/listen")
    scene.pen.send("client", "server", message, exchange=1, head=POST)


def die(scene: Scene) -> None:
    scene.pen.recorder.note("server", "The process of server dies.")


def lost_because_only(scene: Scene, why: str, message: dict[str, Any]) -> None:
    data = b"data: " + scene.made.write(message) + b"\n\n"
    frame = scene.pen.send("server", "client", data, arrives=False, exchange=1, head=STREAM)
    scene.pen.recorder.dropped(frame, "server", "client", why, connection=1, exchange=1)


def lost_because(scene: Scene, why: str, data: bytes) -> None:
    scene.post()
    frame = scene.pen.send("server", "client", data, arrives=False, exchange=1, head=STREAM)
    scene.pen.recorder.dropped(frame, "server", "client", why, connection=1, exchange=1)


def refused(scene: Scene, status: int, *headers: list[str]) -> None:
    scene.http(("client", "server"), {**POST, "headers": list(headers)}, scene.made.write(listing(scene)))
    scene.fail(-32600, id=None, exchange=1, head=answer(status))


def to_server(scene: Scene, data: bytes, **more: Any) -> None:
    scene.pen.send("client", "server", data, **more)


def to_client(scene: Scene, data: bytes, **more: Any) -> None:
    scene.pen.send("server", "client", data, **more)


def lost(scene: Scene, message: dict[str, Any]) -> None:
    frame = scene.pen.send("client", "server", message, arrives=False)
    scene.pen.recorder.dropped(frame, "client", "server", "fault", connection=1)


def cancel(scene: Scene, id: Any = 1) -> None:
    scene.notify("notifications/cancelled", ("client", "server"), requestId=id, reason="user")


def agree(scene: Scene, version: str) -> None:
    scene.ask("initialize", {"protocolVersion": version}, id="hello")
    scene.answer("initialize", {"protocolVersion": version}, id="hello")


def refuse_version(scene: Scene, code: int) -> None:
    data = {"supported": ["2025-11-25"], "requested": "1"}
    to_client(scene, scene.made.write(scene.made.error(1, code, "So it is.", data=data)))


def in_session(scene: Scene) -> None:
    head = {**POST, "headers": [["MCP-Session-Id", "s1"]]}
    scene.http(("client", "server"), head, scene.made.write(scene.made.plain(1, "tools/list")))


POST: dict[str, Any] = {"method": "POST", "path": "/mcp", "headers": []}
STREAM: dict[str, Any] = {"status": 200, "headers": [["Content-Type", "text/event-stream"]]}

# What leads to the rows that no plain message of the method leads to. The last step is the one that counts.
SCENES: dict[str, Callable[[Scene], object]] = {
    "request": lambda s: s.ask("tools/unheard-of"),
    "request from server": lambda s: (
        s.ask("tools/call"),
        to_client(s, s.made.write(s.made.request(9, "ping"))),
    ),
    "request without metadata": lambda s: (
        s.ask("tools/list"),
        to_server(s, s.made.write(s.made.plain(2, "tools/list"))),
    ),
    "request page": lambda s: s.ask("tools/list", {"cursor": ""}),
    "request retry": lambda s: s.ask("tools/call", {"inputResponses": {}, "requestState": "x"}),
    "request retry with state only": lambda s: s.ask("tools/call", {"requestState": "x"}),
    "request elicitation/create url": lambda s: s.ask("elicitation/create", {"mode": "url", "url": "u"}),
    "passed on": lambda s: relay(
        s,
        *through(s, listing(s)),
        *[
            (*sides, s.made.error(1, -5, "No."), answer(200))
            for sides in (("server", "gateway"), ("gateway", "client"))
        ],
    ),
    "passed on request": lambda s: relay(s, *through(s, listing(s))),
    "passed on request among replicas": lambda s: (
        relay(s, *through(s, listing(s))),
        s.pen.send("client", "gateway", s.made.request(2, "tools/list"), exchange=3, head=POST),
        s.pen.send("gateway", "other", s.made.request(2, "tools/list"), exchange=4, head=POST),
    ),
    "passed on initialize": lambda s: relay(s, *through(s, s.made.plain(1, "initialize", {}))),
    "passed on piece": lambda s: relay(
        s, *through(s, listing(s)), ("server", "gateway", b"", STREAM), ("gateway", "client", b"", STREAM)
    ),
    "passed on result that may be kept": lambda s: relay(
        s,
        *through(s, listing(s)),
        ("server", "gateway", kept(s), answer(200)),
        ("gateway", "client", kept(s), answer(200)),
    ),
    "passed on result of a retry": lambda s: relay(
        s,
        *through(s, retry(s)),
        ("server", "gateway", kept(s), answer(200)),
        ("gateway", "client", kept(s), answer(200)),
    ),
    "own kept private result": lambda s: answered_by_the_gateway(s, kept(s, "private")),
    "own kept result": lambda s: answered_by_the_gateway(s, kept(s)),
    "own result": lambda s: answered_by_the_gateway(s, s.made.result(1, tools=[])),
    "own answer": lambda s: answered_by_the_gateway(s, s.made.error(1, -5, "No.")),
    "own status": lambda s: answered_by_the_gateway(s, b"", 502),
    "notification": lambda s: s.notify("notifications/unheard-of"),
    "notification notifications/cancelled": lambda s: (s.ask("tools/call"), cancel(s)),
    "notification notifications/cancelled http": lambda s: s.pen.send(
        "client",
        "server",
        s.made.notification("notifications/cancelled", requestId=1),
        exchange=1,
        head=POST,
    ),
    "notification notifications/cancelled from server": lambda s: (
        s.ask("subscriptions/listen"),
        s.notify("notifications/cancelled", requestId=1),
    ),
    "notification notifications/cancelled misused": lambda s: (
        s.ask("tools/call"),
        s.notify("notifications/cancelled", requestId=1),
    ),
    "notification notifications/cancelled of nothing": lambda s: cancel(s, "never"),
    "notification notifications/cancelled subscriptions/listen": lambda s: (
        s.ask("subscriptions/listen"),
        cancel(s),
    ),
    "notification notifications/message": lambda s: (
        s.ask("logging/setLevel", {"level": "info"}),
        s.notify("notifications/message"),
    ),
    "notification notifications/message unasked": lambda s: (
        s.ask("tools/call"),
        s.notify("notifications/message"),
    ),
    "notification notifications/cancelled initialize": lambda s: cancel(s, "start"),
    "response": lambda s: (s.ask("tools/unheard-of"), s.answer("tools/unheard-of", {})),
    "response from client": lambda s: (
        s.ask("tools/call"),
        to_server(s, s.made.write(s.made.result(1))),
    ),
    "response unknown": lambda s: s.answer("tools/call", {}, id=77),
    "response cancelled": lambda s: (s.ask("tools/call"), cancel(s), s.answer("tools/call", {})),
    "response again": lambda s: (s.ask("tools/call"), s.answer("tools/call", {}), s.answer("tools/call", {})),
    "response without type": lambda s: (
        s.ask("tools/call"),
        to_client(s, b'{"jsonrpc":"2.0","id":1,"result":{}}'),
    ),
    "response unknown type": lambda s: (s.ask("tools/call"), s.answer("tools/call", {"resultType": "task"})),
    "response input_required": lambda s: (
        s.ask("tools/call"),
        s.answer("tools/call", {"resultType": "input_required", "inputRequests": {"a": {}}}),
    ),
    "response input_required with state only": lambda s: (
        s.ask("tools/call"),
        s.answer("tools/call", {"resultType": "input_required", "requestState": "x"}),
    ),
    "response resources/read retry": lambda s: (
        s.ask("resources/read", {"requestState": "x"}),
        s.answer("resources/read", {}),
    ),
    "response page": lambda s: (s.ask("tools/list"), s.answer("tools/list", {"tools": [], "nextCursor": ""})),
    "response list": lambda s: (s.ask("prompts/list"), s.answer("prompts/list", {"prompts": []})),
    "response tool error": lambda s: (s.ask("tools/call"), s.answer("tools/call", {"isError": True})),
    "response ping with members": lambda s: (s.ask("ping"), s.answer("ping", {"pong": True})),
    "response server/discover legacy": lambda s: (
        s.ask("server/discover"),
        s.answer("server/discover", {"supportedVersions": ["2025-11-25", "2025-06-18"]}),
    ),
    "response initialize": lambda s: (
        s.ask("initialize", {"protocolVersion": "1"}),
        s.answer("initialize", {"protocolVersion": "1"}),
    ),
    "response initialize counter": lambda s: (
        s.ask("initialize", {"protocolVersion": "2"}),
        s.answer("initialize", {"protocolVersion": "1"}),
    ),
    "error": lambda s: (s.ask("tools/call"), s.fail(-5)),
    "error reserved": lambda s: (s.ask("tools/call"), s.fail(-32099)),
    "error implementation": lambda s: (s.ask("tools/call"), s.fail(-32000)),
    "error probe": lambda s: (s.ask("server/discover"), s.fail(-1)),
    "error probe http": lambda s: (
        s.pen.post(1, s.made.request(1, "server/discover")),
        s.fail(-1, exchange=1, head={"status": 404, "headers": []}),
    ),
    # -32601 to `initialize` comes from a server that has no handshake; -32602 from one that has.
    "error initialize": lambda s: (
        s.pen.send("client", "server", s.made.plain(1, "initialize", {})),
        refuse_version(s, -32601 if s.era == "modern" else -32602),
    ),
    "error cancelled": lambda s: (s.ask("tools/call"), cancel(s), s.fail(-1)),
    "error origin": lambda s: refused(s, 403, ["Origin", "https://evil.example"]),
    "error session": lambda s: refused(s, 404, ["MCP-Session-Id", "s1"]),
    "error -32600 unknown": lambda s: s.fail(-32600, id=None),
    "error ping": lambda s: (s.ask("ping"), s.fail(-32602)),
    "error -32602 without metadata": lambda s: (
        s.ask("tools/list"),
        to_server(s, s.made.write(s.made.plain(2, "tools/call"))),
        s.fail(-32602, id=2),
    ),
    "error -32602 retry": lambda s: (s.ask("tools/call", {"requestState": "x"}), s.fail(-32602)),
    "error -32602 page": lambda s: (s.ask("tools/list", {"cursor": "x"}), s.fail(-32602)),
    "malformed stdio from server": lambda s: to_client(s, b"hello"),
    "malformed stdio from client": lambda s: to_server(s, b"hello"),
    "malformed encoding": lambda s: to_client(s, b'"\xff"'),
    "malformed id": lambda s: to_server(s, b'{"jsonrpc":"2.0","id":1.0,"method":"ping"}'),
    "malformed http from client": lambda s: to_server(s, b"hello", exchange=1, head=POST),
    "malformed": lambda s: (
        s.post(),
        to_client(s, b"<html>", exchange=1, head={"status": 502, "headers": [["Content-Type", "text/html"]]}),
    ),
    "batch": lambda s: to_server(s, b'[{"jsonrpc":"2.0","method":"a"}]'),
    "batch http": lambda s: to_server(s, b'[{"jsonrpc":"2.0","method":"a"}]', exchange=1, head=POST),
    "batch http from server": lambda s: (
        s.post(),
        to_client(s, b'[{"jsonrpc":"2.0","method":"a"}]', exchange=1, head={"status": 200, "headers": []}),
    ),
    "batch agreed": lambda s: (agree(s, "2025-03-26"), to_server(s, b'[{"jsonrpc":"2.0","method":"a"}]')),
    "stderr": lambda s: to_client(s, b"ready", channel="stderr"),
    "http GET": lambda s: s.http(("client", "server"), {"method": "GET"}),
    "http GET resume": lambda s: s.http(
        ("client", "server"), {"method": "GET", "headers": [["Last-Event-ID", "e1"]]}
    ),
    "http DELETE": lambda s: s.http(("client", "server"), {"method": "DELETE"}),
    "http request": lambda s: s.http(("client", "server"), {"method": "POST"}),
    "http 202": lambda s: s.http(("server", "client"), {"status": 202}),
    "http 202 misplaced": lambda s: (s.post(), s.http(("server", "client"), {"status": 202})),
    "http not 202": lambda s: (
        s.http(("client", "server"), POST, b'{"jsonrpc":"2.0","method":"notifications/x"}'),
        s.http(("server", "client"), {"status": 200}),
    ),
    "http DELETE answered": lambda s: (
        s.http(("client", "server"), {"method": "DELETE"}),
        s.http(("server", "client"), {"status": 200}),
    ),
    "http 403": lambda s: s.http(("server", "client"), {"status": 403}),
    "http 404": lambda s: (in_session(s), s.http(("server", "client"), {"status": 404})),
    "http 404 without session": lambda s: (s.post(), s.http(("server", "client"), {"status": 404})),
    "http 405": lambda s: s.http(("server", "client"), {"status": 405}),
    "http error": lambda s: s.http(("server", "client"), {"status": 500}),
    "http stream": lambda s: s.http(("server", "client"), STREAM),
    "http event": lambda s: (s.http(("server", "client"), STREAM), to_client(s, b"id: e1\n\n", exchange=1)),
    "http comment": lambda s: (s.http(("server", "client"), STREAM), to_client(s, b": hi\n\n", exchange=1)),
    "http GET answered": lambda s: (
        s.http(("client", "server"), {"method": "GET"}),
        s.http(("server", "client"), {"status": 200}),
    ),
    "http GET stream": lambda s: (
        s.http(("client", "server"), {"method": "GET"}),
        s.http(("server", "client"), STREAM),
    ),
    "http GET stream resumed": lambda s: (
        s.http(("client", "server"), {"method": "GET", "headers": [["Last-Event-ID", "e1"]]}),
        s.http(("server", "client"), STREAM),
    ),
    "http 405 to POST": lambda s: (s.post(), s.http(("server", "client"), {"status": 405})),
    "http response": lambda s: s.http(("server", "client"), {"status": 200}),
    "closed stdin": lambda s: s.close("client", "stdin"),
    "closed stdout": lambda s: s.close("server", "stdout"),
    "closed stdout at shutdown": lambda s: (s.close("client", "stdin"), s.close("server", "stdout")),
    "closed": lambda s: s.close("client", "socket"),
    "closed exchange": lambda s: (
        s.http(("server", "client"), STREAM),
        s.close("server", "exchange", exchange=1),
    ),
    "closed exchange without stream": lambda s: s.close("server", "exchange", exchange=1),
    "closed exchange by client": lambda s: (s.post(), s.close("client", "exchange", "aborted", exchange=1)),
    "closed exchange by server": lambda s: (s.post(), s.close("server", "exchange", exchange=1)),
    "closed exchange timeout": lambda s: (s.post(), s.close("client", "exchange", "timed out", exchange=1)),
    "closed stdout died": lambda s: (die(s), s.close("server", "stdout", "the process died")),
    "closed the pipes": lambda s: s.close("client", "the pipes", "cut"),
    "closed exchange cut": lambda s: (s.post(), s.close("client", "exchange", "cut", exchange=1)),
    "closed exchange cut late": lambda s: (
        s.post(),
        s.http(("server", "client"), answer(200), s.made.write(s.made.result(1))),
        s.close("client", "exchange", "cut", exchange=1),
    ),
    "closed exchange cut subscriptions/listen": lambda s: (
        listen(s),
        s.close("client", "exchange", "cut", exchange=1),
    ),
    "closed exchange cut standing": lambda s: (
        s.http(("client", "server"), {"method": "GET"}),
        s.close("client", "exchange", "cut", exchange=1),
    ),
    "closed exchange standing": lambda s: (
        s.http(("client", "server"), {"method": "GET"}),
        s.close("server", "exchange", exchange=1),
    ),
    "closed exchange cancelled": lambda s: (s.post(), cancel(s), s.close("client", "exchange", exchange=1)),
    "closed exchange by client subscriptions/listen": lambda s: (
        listen(s),
        s.close("client", "exchange", exchange=1),
    ),
    "closed exchange by server subscriptions/listen": lambda s: (
        listen(s),
        s.close("server", "exchange", exchange=1),
    ),
    "closed exchange by client initialize": lambda s: (
        s.http(("client", "server"), POST, s.made.write(s.made.plain(1, "initialize", {}))),
        s.close("client", "exchange", exchange=1),
    ),
    "handler died": lambda s: (
        s.ask("tools/call"),
        die(s),
        s.pen.handler(events.HANDLER_CANCELLED, "clock", 1),
    ),
    "handler stopped": lambda s: (
        s.ask("tools/call"),
        s.pen.handler(events.HANDLER_CANCELLED, "clock", 1),
    ),
    "handler cancelled": lambda s: (
        s.ask("tools/call"),
        cancel(s),
        s.pen.handler(events.HANDLER_CANCELLED, "clock", 1),
    ),
    "lost request": lambda s: (s.ask("tools/call"), lost(s, s.made.plain(5, "tools/call"))),
    "lost at closing": lambda s: lost_because(
        s, "the client closed the response stream", b"data: " + s.made.write(s.made.result(1)) + b"\n\n"
    ),
    "lost at closing initialize": lambda s: (
        s.http(("client", "server"), POST, s.made.write(s.made.plain(7, "initialize", {}))),
        lost_because_only(s, "the client closed the response stream", s.made.result(7)),
    ),
    "lost with its stream": lambda s: lost_because(
        s, "the connection was cut", b"data: " + s.made.write(s.made.result(1)) + b"\n\n"
    ),
    "lost resumable": lambda s: lost_because(
        s, "the connection was cut", b"id: 7\ndata: " + s.made.write(s.made.result(1)) + b"\n\n"
    ),
    "lost notification": lambda s: (s.ask("tools/call"), lost(s, s.made.notification("notifications/x"))),
}


def play(scene: Scene, key: str) -> None:
    if key in SCENES:
        SCENES[key](scene)
        return
    kind, _, rest = key.partition(" ")
    if kind == "request":
        scene.ask(rest)
    elif kind == "notification":
        # On stdio a server's messages need something that tells the sides apart.
        scene.ask("tools/call", id="before")
        scene.notify(rest)
    elif kind == "response":
        scene.ask(rest)
        scene.answer(rest, {})
    else:
        code, _, method = rest.partition(" ")
        scene.ask(method or "tools/unheard-of")
        scene.fail(int(code))


ROWS = [(era, key) for era, lines in LINES.items() for key in lines]


def test_every_row_is_said_by_some_message(made):
    for era, key in ROWS:
        with case(era, key):
            check_row(made, era, key)


def check_row(made, era, key):
    scene = Scene(made, era)
    play(scene, key)
    narration = told(scene.pen.done("x"))[-1]
    line = LINES[era][key]
    assert narration.url == (url_of(era, line) if line.rule else "")
    if line.what:
        pattern = ".*".join(re.escape(part) for part in re.split(r"\{\w+\}", line.what))
        assert re.match(pattern, narration.what), narration.what
    pattern = ".*".join(re.escape(part) for part in re.split(r"\{\w+\}", line.rule))
    assert re.fullmatch(pattern, narration.rule), narration.rule


def test_no_scene_is_left_over():
    assert set(SCENES) <= {key for _, key in ROWS}


def test_no_sentence_of_the_tables_stands_open(made):
    for lines in LINES.values():
        for line in lines.values():
            assert line.rule.endswith((".", ")")) or line.rule == line.page == ""
            assert "  " not in line.what + line.rule
            assert line.what == "" or line.what.endswith((".", "{text}", "{state}"))


@pytest.mark.parametrize(("era", "revision"), [("modern", "2026-07-28"), ("legacy", "2025-11-25")])
def test_the_pages_of_both_eras_have_their_revision(era, revision):
    own = [line for line in LINES[era].values() if line.rule and not line.revision]
    assert {url_of(era, line).split("/")[4] for line in own} == {revision}
    assert url_of(era, own[0]) == spec_url(era, own[0].page)


def test_only_batches_have_a_page_of_another_revision():
    others = {(era, key): url_of(era, line) for era, key in ROWS if (line := LINES[era][key]).revision}
    url = "https://modelcontextprotocol.io/specification/2025-03-26/basic/index#batching"
    assert others == {("legacy", "batch agreed"): url}


# ------------------------------------------------------------------------------------------ some sentences


def sentences(recording: Recording) -> list[str]:
    return [narration.what for narration in told(recording)]


def test_the_sentences_of_a_modern_call(made):
    assert sentences(made.modern_progress()) == [
        "The client asks the server to run the tool “export_report”. "
        "It wants progress reports under the token “report-1”.",
        "The server reports progress on `tools/call` #1: 1 of 3, “Built part 1 of 3”.",
        "The server reports progress on `tools/call` #1: 2 of 3, “Built part 2 of 3”.",
        "The server reports progress on `tools/call` #1: 3 of 3, “Built part 3 of 3”.",
        "The server gives back what the tool “export_report” returned.",
        "The client closes the standard input of the server: the shutdown begins.",
    ]


def test_the_sentences_of_the_handshake(made):
    said = sentences(made.legacy_handshake())
    assert said[:3] == [
        "The client opens the handshake. It offers the version “2025-11-25” and says what it can do.",
        "The server agrees to the version “2025-11-25” and says what it can do.",
        "The client says that it is ready: the handshake is complete.",
    ]
    assert said[6] == "The server asks the client to put a question to the user: “Close ticket 7?”"
    assert said[7] == "Note by the client: The user reads the question and presses Decline."
    assert said[8] == "The client sends back what the user did: “decline”."
    assert "After decline and cancel that is typically left out" in told(made.legacy_handshake())[8].rule


@pytest.mark.parametrize("transport", [Stdio(), StreamableHttp()], ids=["stdio", "http"])
def test_a_modern_server_that_refuses_the_handshake_is_told_by_its_own_rules(transport):
    async def story(client: Client) -> None:
        await client.list_tools()

    desk = Server("desk", era="modern")
    run = simulate(story, server=desk, era="legacy", transport=transport, check=False)
    said = told(run.recording)[1]
    assert said.what.startswith("The server refuses the legacy handshake: ")
    assert said.rule.startswith("A server that speaks only modern versions SHOULD name them here")
    assert "/2026-07-28/basic/versioning#" in said.url


def test_a_refused_state_is_told_by_a_rule_that_fits_each_reason():
    said = told(STORIES["state-is-good-once"].play().recording)
    (refused,) = (one for one in said if one.what.startswith("The server refuses"))
    assert "MUST refuse one that was changed" in refused.rule
    assert "SHOULD refuse one of another user or of another request, or one that is too old" in refused.rule
    assert "good only once, the server MUST see to that" in refused.rule


def test_the_sentences_of_lost_messages(made):
    said = told(made.dropped())
    assert said[1].what == (
        "The server reports progress on `tools/call` #1: 1. "
        "It is lost on the way: fault: drop notifications/progress."
    )
    assert said[4].what.endswith(
        "This is a copy of step 4: a fault sent it twice. It has not arrived when the recording ends."
    )
    assert said[5].what == "The client cancels `tools/call` #1: “timeout after 300 s”."
    assert said[6].what == "The server stops working on “slow” #1."


def test_the_sentences_of_a_question_through_a_gateway(made):
    assert sentences(made.gateway()) == [
        "The client asks the server, by way of the gateway, to run the tool “close_ticket”.",
        "The gateway passes `tools/call` #71 on to the server.",
        "The server cannot finish `tools/call` #71 yet: it needs input from the client: "
        "an answer from the user.",
        'The gateway passes the `input_required` result of `tools/call` #"a" on to the client.',
        "The client sends `tools/call` again, as a new request, now with answers to what the server, by way "
        "of the gateway, asked: “sure” (the user accepted).",
        "The gateway passes `tools/call` #72 on to the server.",
        "The server gives back what the tool “close_ticket” returned.",
        'The gateway passes the result of `tools/call` #"b" on to the client.',
    ]


def test_an_empty_line_is_no_message(made):
    pen = made.Pen()
    pen.send("client", "server", b"\n")
    assert sentences(pen.done("x")) == [
        "The client writes a line to the standard input of the server that is not a message."
    ]


def test_changed_bytes_are_mentioned(made):
    pen = made.Pen()
    frame = pen.send("client", "server", made.request(1, "tools/list"), arrives=False)
    pen.arrive(frame, "server", "client", changed=b"{}\n")
    assert sentences(pen.done("x"))[0].endswith("A fault changes it on the way: look at the raw bytes.")


def test_what_comes_from_the_wire_is_short_and_visible(made):
    for narration in told(made.hostile()):
        assert len(narration.what) < 1_000
        assert "\u202e" not in narration.what
        assert "\u2028" not in narration.what
        assert "\x1b" not in narration.what


def test_braces_in_a_message_are_no_placeholders(made):
    pen = made.Pen()
    pen.send("client", "server", made.request(1, "tools/call", {"name": "{sender} {0} {x!r}"}))
    assert sentences(pen.done("x")) == ["The client asks the server to run the tool “{sender} {0} {x!r}”."]


@pytest.mark.parametrize(
    ("party", "start"),
    [("client", "The client asks"), ("client 2", "The client 2 asks"), ("alice", "alice asks")],
)
def test_names_of_parties(made, party, start):
    pen = made.Pen()
    pen.send(party, "server", made.request(1, "tools/call"))
    assert sentences(pen.done("x"))[0].startswith(start)


def test_a_quoted_sentence_ends_the_sentence_around_it(made):
    pen = made.Pen()
    pen.send("client", "server", made.request(1, "tools/call", {"name": "t"}))
    for reason in ("Too slow.", "Why?", "too slow"):
        pen.send("client", "server", made.notification("notifications/cancelled", requestId=1, reason=reason))
    assert [each.what.partition(": ")[2] for each in told(pen.done("x"))[1:]] == [
        "“Too slow.”",
        "“Why?”",
        "“too slow”.",
    ]
