"""Small HTTP servers in the place of MCP endpoints: they say what they were told to say, byte for byte."""

from __future__ import annotations

import socket
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from threading import Thread


@contextmanager
def answering(*answers: bytes, wait_for_end: bool = False) -> Generator[tuple[str, list[bytes]]]:
    """Serve one connection after the other: read a request, send an answer, close.

    Gives the URL, and a list where each request is put as it came.

    Args:
        wait_for_end: leave the last connection open until the client closes it.
    """
    requests: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(20)
        serving = Thread(target=_serve, args=(listening, answers, requests, wait_for_end), daemon=True)
        serving.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", requests
        serving.join(20)
        assert not serving.is_alive()


def _serve(
    listening: socket.socket, answers: Sequence[bytes], requests: list[bytes], wait_for_end: bool
) -> None:
    for number, answer in enumerate(answers, 1):
        connection, _ = listening.accept()
        with connection:
            connection.settimeout(20)
            requests.append(_request(connection))
            connection.sendall(answer)
            if wait_for_end and number == len(answers):
                while connection.recv(65_536):
                    pass


def _request(connection: socket.socket) -> bytes:
    data = b""
    while True:
        head, separator, body = data.partition(b"\r\n\r\n")
        if separator:
            lengths = [
                line.split(b":")[1]
                for line in head.split(b"\r\n")
                if line.lower().startswith(b"content-length")
            ]
            if len(body) >= int(lengths[0] if lengths else 0):
                return data
        chunk = connection.recv(65_536)
        if not chunk:
            return data
        data += chunk


def response(body: bytes, *lines: str, status: str = "200 OK", kind: str = "application/json") -> bytes:
    """A complete response, after which the connection is closed: who kept it would find it broken."""
    length = f"Content-Length: {len(body)}"
    head = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", length, "Connection: close", *lines]
    return "\r\n".join([*head, "", ""]).encode("latin-1") + body


def stream(*pieces: bytes) -> bytes:
    """The beginning of a stream of server-sent events, which ends where the connection does."""
    return b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n" + b"".join(
        pieces
    )
