"""The checker of recordings sees what is wrong."""

from __future__ import annotations

import pytest

from mcpsim import Client, Server, StreamableHttp
from mcpsim.recording import Recorder, Recording
from tests.support.checked import check_recording, faults_of, simulate_checked

META = (
    b'"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
    b'"io.modelcontextprotocol/clientCapabilities":{}}'
)
ASKED = b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{' + META + b"}}"
OPENED = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
    b'"capabilities":{},"clientInfo":{"name":"a","version":"1"}}}'
)
ACCEPTED = (
    b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{},'
    b'"serverInfo":{"name":"b","version":"1"}}}'
)


def recorded(*lines: bytes) -> Recording:
    """A stdio conversation: what begins with `<` comes from the server."""
    recorder = Recorder(lambda: 0)
    for line in lines:
        sender, receiver = ("server", "client") if line.startswith(b"<") else ("client", "server")
        recorder.sent(sender, receiver, line.removeprefix(b"<") + b"\n", connection=1)
    return recorder.recording({})


@pytest.mark.parametrize(
    ("lines", "name"),
    [
        ((b"{",), "not a message"),
        ((b"[" + ASKED + b"]",), "not a message"),
        ((b"3",), "not a message"),
        ((ASKED.replace(b'"2.0"', b'"1.0"'),), "not a message"),
        ((ASKED.replace(b'"id":1', b'"id":null'),), "not a message"),
        ((ASKED.replace(b'"id":1', b'"id":1.5'),), "not a message"),
        ((ASKED.replace(b'"id":1', b'"id":1,"extra":1'),), "not a message"),
        ((ASKED.replace(b"tools/list", b"tools/dance"),), "tools/dance"),
        ((ASKED.replace(b"2026-07-28", b"2031-01-01"),), "tools/list"),
        ((b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}',), "tools/list"),
        ((ASKED, b'<{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}'), "result of tools/list"),
        ((ASKED, b'<{"jsonrpc":"2.0","id":"1","result":{}}'), "result of a request that was never sent"),
        (
            (ASKED, b'<{"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"no"}}'),
            "error of a request that was never sent",
        ),
        ((ASKED, b'<{"jsonrpc":"2.0","id":1,"method":"roots/list"}'), "roots/list"),
        ((OPENED, b"<" + ACCEPTED.replace(b'"version":"1"', b'"version":1')), "result of initialize"),
        (
            (
                OPENED,
                b"<" + ACCEPTED,
                b'{"jsonrpc":"2.0","id":2,"method":"tools/list"}',
                b'<{"jsonrpc":"2.0","id":2,"result":{"tools":[],"resultType":"complete"}}',
            ),
            "result of tools/list",
        ),
        (
            (OPENED, b"<" + ACCEPTED, b'{"jsonrpc":"2.0","method":"notifications/progress"}'),
            "notifications/progress",
        ),
    ],
)
def test_a_wrong_message_is_found_and_can_be_allowed(lines: tuple[bytes, ...], name: str) -> None:
    recording = recorded(*lines)
    assert [fault.name for fault in faults_of(recording)] == [name]
    with pytest.raises(AssertionError, match=name):
        check_recording(recording)
    check_recording(recording, broken=[name])
    check_recording(recording, broken=[len(lines)])


def test_what_is_right_cannot_be_called_broken() -> None:
    recording = recorded(ASKED)
    check_recording(recording)
    with pytest.raises(AssertionError, match="Said to be broken"):
        check_recording(recording, broken=["tools/list"])


def test_a_batch_is_right_in_the_revision_that_has_batches() -> None:
    old = (
        OPENED.replace(b"2025-06-18", b"2025-03-26"),
        b"<" + ACCEPTED.replace(b"2025-06-18", b"2025-03-26"),
    )
    check_recording(recorded(*old, b'[{"jsonrpc":"2.0","id":2,"method":"ping"}]'))


def test_the_story_is_played_checked_and_its_error_raised() -> None:
    async def story(client: Client) -> None:
        await client.send_raw("{")
        raise LookupError("after all")

    with pytest.raises(AssertionError, match="not a message"):
        simulate_checked(story, server=Server("a"), transport=StreamableHttp())
    with pytest.raises(LookupError):
        simulate_checked(story, server=Server("a"), broken=["not a message"])
    assert simulate_checked(story, server=Server("a"), broken=["not a message"], check=False).error
