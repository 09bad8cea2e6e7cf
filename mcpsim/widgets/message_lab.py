"""The message lab: write any message by hand, send it to a running server, and see what becomes of it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, get_args

from mcpsim.errors import MalformedMessage, McpSimError
from mcpsim.messages import DEFAULT_LIMITS, Message, RequestId, read_message
from mcpsim.recording import Recording, events
from mcpsim.server.server import Server
from mcpsim.simulation.lab import MAX_WAIT_MS, LabConnection
from mcpsim.transports.http import SESSION_ID_HEADER, Headers, HttpRequest
from mcpsim.transports.link import Stdio, StreamableHttp
from mcpsim.widgets import scripts
from mcpsim.widgets.acting import Acting, text_in, whole_in
from mcpsim.widgets.message_lab_desk import lab_desk
from mcpsim.widgets.message_lab_known import Known, known_of
from mcpsim.widgets.message_lab_steps import MAX_MESSAGES, Mirror, Walked
from mcpsim.widgets.message_lab_templates import ENDPOINT, Template, fitting_headers, templates
from mcpsim.widgets.message_lab_view import (
    Entry,
    Outcome,
    entry_data,
    headers_text,
    history_data,
    lab_html,
    lab_text,
    open_data,
    outcome_of,
    read_headers,
    state_data,
    templates_data,
)
from mcpsim.widgets.text import clock, decoded, one_line
from mcpsim.widgets.view import player_data

TransportName = Literal["stdio", "http"]
EraChoice = Literal["both", "modern", "legacy"]

#: How long a message may be, in characters or bytes: a little more than the server takes, so that one can see
#: it refused.
MAX_TEXT: Final = 4_500_000
MAX_HEADERS: Final = 100_000
MAX_SHORT: Final = 2_000
#: How many messages can be sent before the lab has to start again.
MAX_ENTRIES: Final = 100
#: How long the lab waits for what comes back, in milliseconds of the virtual clock.
SETTLE_MS: Final = 500
_LINE_BREAKS: Final = re.compile("[\r\n]+")
TRANSPORTS: Final[Mapping[str, Callable[[], Stdio | StreamableHttp]]] = {
    "stdio": Stdio,
    "http": StreamableHttp,
}
TRANSPORT_NAMES: Final[Mapping[str, str]] = {"stdio": "stdio", "http": "Streamable HTTP"}


class MessageLab(Acting):
    """Sends messages by hand to a running server: `MessageLab(server)` as the last line of a cell.

    The server is a real one, on the virtual clock. After each message the lab shows what every step of a
    modern request said, or how the legacy session moved; then what came back; and what the audit says about
    it. Nothing that is sent can do harm: bytes that are no message are a message like any other here.

    Sending waits until nothing is left to be done, or half a second of the virtual clock at most. What takes
    longer goes on with `wait`.

    Args:
        server: what to talk to; or a function that makes a new one whenever the lab starts again; None for a
            small help desk.
        transport: "stdio" or "http".
        era: whose templates are offered: "both", "modern" or "legacy". It changes nothing for the server.
        seed: where session ids, state and the like come from.

    Attributes:
        transport, era: see above.
        entries: what was sent since the last start, in order.
        error: why the last wish could not be fulfilled, or "".

    Raises:
        ValueError: `transport` or `era` is none of those.
        TypeError: `server` is neither a server nor a function that makes one.

    https://modelcontextprotocol.io/specification/2026-07-28/basic/index#messages
    """

    _esm = scripts.script((*scripts.COMMON, "acting", "lab"), "{ render: renderLab }")
    _css = scripts.style("acting", "lab")

    def __init__(
        self,
        server: Server | Callable[[], Server] | None = None,
        *,
        transport: TransportName = "stdio",
        era: EraChoice = "both",
        seed: int | str = 0,
    ) -> None:
        if era not in get_args(EraChoice):
            raise ValueError(f"era must be one of {', '.join(get_args(EraChoice))}, not {era!r:.40}.")
        if server is not None and not isinstance(server, Server) and not callable(server):
            raise TypeError(
                f"server must be a Server, or a function that makes one, not {type(server).__name__}."
            )
        self._given = server
        self._seed = seed
        self._edit: dict[str, Any] = {"n": 0}
        self.era: str = era
        self._connection: LabConnection | None = None
        self._begin(transport)
        super().__init__()

    def _begin(self, transport: str) -> None:
        """Begin with a new server, or at least with a new connection to it."""
        if transport not in TRANSPORTS:
            raise ValueError(f"transport must be one of {', '.join(TRANSPORTS)}, not {transport!r:.40}.")
        given = self._given
        server = lab_desk() if given is None else given if isinstance(given, Server) else given()
        connection = LabConnection(server, transport=TRANSPORTS[transport](), seed=self._seed)
        if self._connection is not None:
            self._connection.close()
        self.transport: str = transport
        self._server = server
        self._connection = connection
        self._mirror = Mirror(server, connection.is_http)
        self._opening = 0
        self.entries: tuple[Entry, ...] = ()
        self._at = -1
        self._said = "A new server is running. It has heard nothing yet."

    # ----------------------------------------------------------------------------------- for cells

    @property
    def recording(self) -> Recording:
        """Everything that was said since the last start: a Player shows it."""
        return self._live.recording

    @property
    def at_us(self) -> int:
        """The virtual clock, in microseconds since the last start."""
        return self._live.at_us

    @property
    def outcome(self) -> Outcome | None:
        """How the exchange that is shown stands; None before the first."""
        return outcome_of(self.entries[self._at], self.recording) if self.entries else None

    @property
    def templates(self) -> tuple[Template, ...]:
        """Everything there is to send now, with whether the protocol allows it, and why not."""
        return templates(self._known(), self.era)

    def send(self, content: Any, buffers: Any = None, *, one_line: bool = True) -> None:
        """Send a text: a line on stdio; on HTTP the body of a POST, with the headers that fit it.

        Args:
            content: any text, or any bytes. Half of a surrogate pair goes out as bytes that are not UTF-8.
            buffers: only for what a widget of Jupyter tells its own view, which has the same name.
            one_line: whether the line breaks of a text are taken out first (stdio): a message is one line.
                Bytes go out as they are.

        Raises:
            ValueError: it is too long, or nothing can be sent any more; the text says what to do.
            TypeError: it is neither text nor bytes.
        """
        if isinstance(content, Mapping) or buffers is not None:
            super().send(content, buffers)  # pyright: ignore[reportUnknownMemberType]
        elif not isinstance(content, str | bytes):
            raise TypeError(f"Send a text, or bytes; not {type(content).__name__}.")
        elif self._live.is_http:
            self.send_http(content)
        else:
            text: str | bytes = content
            self._do(lambda: self._send_line(text, joined=one_line))

    def send_http(
        self,
        body: str | bytes = "",
        *,
        method: str = "POST",
        path: str = ENDPOINT,
        headers: Mapping[str, str] | Sequence[tuple[str, str]] | None = None,
    ) -> None:
        """Send an HTTP request.

        Args:
            headers: the header lines; None for those that fit the body.

        Raises:
            ValueError: the lab is on stdio, or as for `send`.
        """
        fitting = headers is None
        lines = self._fitting(_bytes(body)) if fitting else Headers(headers or ()).items()
        self._do(lambda: self._send_request(body, method, path, lines))

    def send_template(self, key: str) -> None:
        """Send one of the templates as it is, whether the protocol allows it now or not.

        Args:
            key: its name, such as "modern tools/list" or "bad JSON".

        Raises:
            ValueError: there is none of this name now, or as for `send`.
        """
        found = next((one for one in self.templates if one.key == key), None)
        if found is None:
            names = ", ".join(one.key for one in self.templates)
            raise ValueError(f"There is no template {key!r:.60} now. There is {names}.")
        if self._live.is_http:
            self.send_http(found.body, method=found.method, headers=found.headers)
        else:
            self.send(found.body)

    def wait(self, ms: float) -> None:
        """Let time pass on the virtual clock.

        Args:
            ms: how much, in milliseconds, up to a day.

        Raises:
            ValueError: it is no such time.
        """
        self._do(lambda: self._wait(ms))

    def close_stream(self, exchange: int) -> None:
        """Close the response stream of an HTTP exchange, as a client does that goes away.

        Raises:
            ValueError: no such stream is open.
        """
        self._do(lambda: self._abort(exchange))

    def hang_up(self) -> None:
        """Close the connection as a client does: standard input, or all streams that are open."""
        self._do(self._hang_up)

    def start_again(self, transport: TransportName | None = None) -> None:
        """Begin anew, with a new connection, and a new server where the lab can make one.

        Raises:
            ValueError: there is no such transport.
        """
        self._do(lambda: self._begin(transport or self.transport))

    def __repr__(self) -> str:
        """The same text in every run: nbval compares it."""
        return f"MessageLab({self._server!r}, transport={self.transport!r}, sent={len(self.entries)})"

    def still_text(self) -> str:
        """The last exchanges, step by step."""
        return lab_text(self._dated_title(), self.entries, self.recording)

    def still_html(self) -> str:
        """The last exchanges, and the diagram of all that was said."""
        recording = self.recording
        return lab_html(self._dated_title(), self.entries, recording, player_data(recording))

    # ----------------------------------------------------------------------------------- doing

    @property
    def _live(self) -> LabConnection:
        assert self._connection is not None
        return self._connection

    def _act(self, wish: Mapping[str, Any]) -> None:
        do = wish.get("do")
        if do == "send":
            self._send_wish(wish)
        elif do == "wait":
            self._wait(whole_in(wish, "ms", 0, MAX_WAIT_MS))
        elif do == "show":
            self._show_entry(whole_in(wish, "number", 1, max(1, len(self.entries))))
        elif do == "fit":
            self._fit(wish)
        elif do == "close":
            self._abort(whole_in(wish, "exchange", 0, 2**31))
        elif do == "hang up":
            self._hang_up()
        elif do == "again":
            self._begin(text_in(wish, "transport", 20))
        elif do == "era":
            self._choose(text_in(wish, "era", 20))
        else:
            raise ValueError(f"There is nothing like {do!r:.40} to do here.")

    def _send_wish(self, wish: Mapping[str, Any]) -> None:
        body = _json_text(wish, "body", MAX_TEXT)
        if not self._live.is_http:
            self._send_line(body, joined=wish.get("joined") is True)
            return
        headers = read_headers(_json_text(wish, "headers", MAX_HEADERS))
        method, path = _json_text(wish, "method", MAX_SHORT), _json_text(wish, "path", MAX_SHORT)
        self._send_request(body, method.strip(), path.strip(), headers)

    def _check(self, text: str | bytes) -> None:
        if len(text) > MAX_TEXT:
            raise ValueError(
                f"This has {len(text):,} characters, and the lab sends {MAX_TEXT:,} at most. The server "
                f"takes {DEFAULT_LIMITS.max_bytes:,} bytes."
            )
        if self._live.failure:
            raise ValueError(f"{self._live.failure} Start again.")
        if len(self.entries) >= MAX_ENTRIES:
            raise ValueError(f"{MAX_ENTRIES} messages are enough for one conversation. Start again.")

    def _send_line(self, text: str | bytes, *, joined: bool) -> None:
        live = self._live
        if live.is_http:
            raise ValueError("This lab speaks HTTP: give method and headers too.")
        self._check(text)
        if self._mirror.held[""].session.phase == "closed":
            raise ValueError("The connection is closed: nothing can be sent any more. Start again.")
        data = _bytes(_on_one_line(text) if joined and isinstance(text, str) else text)
        # What is no whole line is one all the same: the server would wait for its end for ever.
        lines = data.removesuffix(b"\n").split(b"\n")
        begin = live.event_count
        walked: list[Walked] = []
        for line in lines[:MAX_MESSAGES]:
            live.send_line(line + b"\n")
            walked += self._mirror.take_line(line.removesuffix(b"\r"), self._in_work())
        if len(lines) > MAX_MESSAGES:
            live.send_line(b"\n".join(lines[MAX_MESSAGES:]) + b"\n")
            for line in lines[MAX_MESSAGES:]:
                self._mirror.take_line(line.removesuffix(b"\r"))
        left_out = len(lines) - len(lines[:MAX_MESSAGES]) + max(0, len(walked) - MAX_MESSAGES)
        self._sent(Entry(len(self.entries) + 1, _shown(text), begin, tuple(walked[:MAX_MESSAGES]), left_out))

    def _send_request(
        self, body: str | bytes, method: str, path: str, headers: Sequence[tuple[str, str]]
    ) -> None:
        live = self._live
        if not live.is_http:
            raise ValueError('This lab is on stdio: send a line, or start again with transport="http".')
        self._check(body)
        if not method or len(method) > MAX_SHORT:
            raise ValueError("An HTTP request needs a method, such as POST.")
        if path.partition("?")[0] != ENDPOINT:
            raise ValueError(
                f"There is nothing at {one_line(path, 60)!r}: the only endpoint here is {ENDPOINT}. A web "
                "server would answer 404."
            )
        request = HttpRequest(method, path, Headers(headers), _bytes(body))
        begin = live.event_count
        exchange = live.send_request(request)
        walked = self._mirror.take_request(request)
        left_out = max(0, len(walked) - MAX_MESSAGES)
        self._opening = exchange
        self._sent(
            Entry(
                len(self.entries) + 1,
                _shown(body),
                begin,
                tuple(walked[:MAX_MESSAGES]),
                left_out,
                method,
                path,
                tuple(headers),
                exchange,
            )
        )

    def _sent(self, entry: Entry) -> None:
        self.entries = (*self.entries, entry)
        self._at = len(self.entries) - 1
        self._live.settle(SETTLE_MS)
        self._follow()
        self._said = f"{entry.number}. {entry.label}: {outcome_of(entry, self.recording).sentence}"

    def _wait(self, ms: float) -> None:
        live = self._live
        before = live.event_count
        live.wait(ms)
        self._follow()
        came = sum(event.kind == events.DELIVERED for event in self.recording.events[before:])
        what = f"{came} messages arrived" if came != 1 else "1 message arrived"
        self._said = f"It is {clock(live.at_us)} now. {what if came else 'Nothing arrived'} meanwhile."
        if self.entries:
            self._at = len(self.entries) - 1

    def _abort(self, exchange: int) -> None:
        try:
            self._live.abort(exchange)
        except McpSimError as error:
            raise ValueError(str(error)) from None
        self._live.settle(SETTLE_MS)
        self._follow()
        self._said = "The response stream is closed. For a modern server that cancels the request."

    def _hang_up(self) -> None:
        try:
            self._live.hang_up()
        except McpSimError as error:
            raise ValueError(str(error)) from None
        self._mirror.hang_up()
        self._live.settle(SETTLE_MS)
        self._follow()
        where = "All streams are closed." if self._live.is_http else "Standard input is closed."
        self._said = f"{where} There is no message for that."

    def _follow(self) -> None:
        """Learn what the server gave out: the id of a session."""
        if self._opening:
            for frame in self.recording.frames:
                if frame.exchange == self._opening and frame.head is not None and "status" in frame.head:
                    id = Headers((name, value) for name, value in frame.head.get("headers", ()))
                    self._mirror.began(id.get(SESSION_ID_HEADER) or "")
                    self._opening = 0
                    break

    def _show_entry(self, number: int) -> None:
        if not self.entries:
            raise ValueError("Nothing was sent yet.")
        self._at = number - 1
        entry = self.entries[self._at]
        self._put(entry.text, entry.method, entry.path, entry.headers)
        self._said = f"{number}. {entry.label} is in the editor again."

    def _fit(self, wish: Mapping[str, Any]) -> None:
        body = _json_text(wish, "body", MAX_TEXT)
        self._put(None, "POST", ENDPOINT, self._fitting(_bytes(body)))
        self._said = "The headers fit the body now."

    def _put(self, text: str | None, method: str, path: str, headers: Sequence[tuple[str, str]]) -> None:
        """Put something into the editor. As ASCII: half of a surrogate pair would not get to a browser."""
        self._edit = {
            "n": self._edit["n"] + 1,
            "body": None if text is None else json.dumps(text),
            "method": json.dumps(method),
            "path": json.dumps(path),
            "headers": json.dumps(headers_text(headers)),
        }

    def _fitting(self, body: bytes) -> tuple[tuple[str, str], ...]:
        try:
            message: Message | None = read_message(body)
        except MalformedMessage:
            message = None
        return fitting_headers(self._known(), message)

    def _choose(self, era: str) -> None:
        if era not in get_args(EraChoice):
            raise ValueError(f"There are no templates for {era!r:.40}.")
        self.era = era

    # ----------------------------------------------------------------------------------- showing

    def _known(self) -> Known:
        return known_of(self._server, self._mirror, self.recording)

    def _in_work(self) -> frozenset[RequestId]:
        """The ids of the requests whose handlers run."""
        found: set[RequestId] = set()
        for event in self.recording.events:
            id: Any = (event.detail or {}).get("id")
            if event.kind == events.HANDLER_STARTED:
                found.add(id)
            elif event.kind in (events.HANDLER_FINISHED, events.HANDLER_CANCELLED):
                found.discard(id)
        return frozenset(found)

    def _title(self) -> str:
        server = self._server
        eras = {"both": "both eras", "modern": "the modern era", "legacy": "the legacy era"}[server.era]
        name = one_line(server.name, 60)
        return f"Message lab: {name} ({eras}) on {TRANSPORT_NAMES[self.transport]}"

    def _dated_title(self) -> str:
        return f"{self._title()}, at {clock(self.at_us)}"

    def _data(self) -> dict[str, Any]:
        recording, live, known = self.recording, self._live, self._known()
        data = player_data(recording)
        sessions = [one for one in self._mirror.held.values() if one.session.phase not in ("new", "closed")]
        entries = self.entries
        return {
            "title": self._title(),
            "status": self._said,
            "failure": live.failure,
            "transport": self.transport,
            "transports": [[name, label] for name, label in TRANSPORT_NAMES.items()],
            "era": self.era,
            "clock": clock(live.at_us),
            "resting": live.is_resting,
            "closed": known.phase == "closed" or bool(live.failure),
            "state": state_data(known, sessions=len(sessions)),
            "open": open_data(known, live.open_exchanges, entries),
            "templates": templates_data(templates(known, self.era)),
            "entry": entry_data(entries, self._at, recording, data) if entries else None,
            "history": history_data(entries, recording),
            "edit": self._edit,
            "limit": MAX_TEXT,
        }


def _on_one_line(text: str) -> str:
    """The text without its line breaks. JSON knows none but as blanks between its parts."""
    return " ".join(line.strip(" \t") for line in _LINE_BREAKS.split(text))


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")


def _shown(text: str | bytes) -> str:
    return text if isinstance(text, str) else decoded(text)


def _json_text(wish: Mapping[str, Any], name: str, limit: int) -> str:
    """A text of the browser, which comes as a JSON string: so it can hold anything.

    Raises:
        ValueError: it is none, or too long.
    """
    # An escape takes six characters.
    written = text_in(wish, name, limit * 6 + 2)
    try:
        value: Any = json.loads(written)
    except ValueError:
        raise ValueError(f"{name} must be a JSON string.") from None
    if not isinstance(value, str):
        raise ValueError(f"{name} must be a JSON string.")
    if len(value) > limit:
        raise ValueError(f"{name} has {len(value):,} characters, and at most {limit:,} can be sent.")
    return value
