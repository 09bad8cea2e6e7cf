"""Peers that misbehave in the legacy handshake and in its session."""

from __future__ import annotations

from typing import Final

from mcpsim.course.misbehaving.base import Misbehaviour
from mcpsim.course.misbehaving.changing import (
    add_after,
    add_before,
    change_answer,
    dropped,
    request_header,
    set_in_params,
    set_in_result,
    unanswered,
)
from mcpsim.course.misbehaving.lifecycle_parts import (
    DISCOVER,
    FUTURE,
    HANDS,
    INITIALIZE,
    INITIALIZED,
    LIST,
    OLDEST,
    PAST,
    client_by_hand,
    client_does,
    hello,
    list_the_tools,
    modern,
    note,
    offers,
    old_help_desk,
    ping_often,
    ping_once,
    ping_patiently,
    plain,
    refusal,
    sends,
    server_does,
    then_sends,
    with_roots,
)
from mcpsim.eras.revisions import LATEST_LEGACY
from mcpsim.errors import INVALID_PARAMS, METHOD_NOT_FOUND

HANDSHAKES: Final[tuple[Misbehaviour, ...]] = (
    client_by_hand(
        "client-begins-without-handshake",
        "initialize-is-first",
        "The client lists the tools of a legacy server without any handshake.",
        sends(plain("first", LIST)),
        sends(*HANDS, plain("first", LIST)),
        server=old_help_desk,
    ),
    client_does(
        "client-cannot-wait-for-the-result",
        "requests-wait-for-initialize-result",
        "The client sends its first request together with initialize.",
        add_after(INITIALIZE, lambda letter: plain("early", LIST), "request"),
    ),
    server_does(
        "server-asks-too-early",
        "server-requests-wait-for-initialized",
        "The server asks for the client's roots together with the result of initialize.",
        add_after(INITIALIZE, lambda letter: plain("roots", "roots/list"), "result"),
        clients=with_roots,
    ),
    client_does(
        "client-never-says-initialized",
        "initialized-is-sent",
        "The client goes on without notifications/initialized.",
        dropped(INITIALIZED),
    ),
    client_does(
        "client-asks-before-it-says-initialized",
        "requests-after-initialized",
        "The client lists the tools before it sends notifications/initialized.",
        add_before(INITIALIZED, lambda letter: plain("early", LIST), "notification"),
    ),
    client_by_hand(
        "client-initializes-twice",
        "initialize-is-sent-once",
        "The client sends initialize once more on the same pipe.",
        then_sends(hello()),
        list_the_tools,
        era="legacy",
    ),
    server_does(
        "server-answers-another-version-than-it-could",
        "initialize-answers-proposed-version",
        "The server supports the proposed version, and offers an older one.",
        offers(PAST),
        era="modern",
        story=sends(modern("look", DISCOVER), *HANDS),
    ),
    server_does(
        "server-answers-latest",
        "initialize-answers-own-version",
        "The server answers the version latest, which is no revision.",
        offers("latest"),
    ),
    server_does(
        "server-offers-its-oldest-version",
        "initialize-answers-latest-version",
        "The server does not know the proposed version, and offers its oldest one.",
        offers(OLDEST),
        era="modern",
        story=sends(modern("look", DISCOVER), hello(FUTURE)),
    ),
    server_does(
        "server-refuses-instead-of-offering",
        "initialize-offers-another-version",
        "The server refuses the proposed version by an error, and offers none.",
        change_answer(
            INITIALIZE,
            refusal(
                INVALID_PARAMS, "Unsupported protocol version", supported=[PAST], requested=LATEST_LEGACY
            ),
        ),
    ),
    client_does(
        "client-proposes-latest",
        "initialize-proposes-own-version",
        "The client proposes the version latest, which is no revision.",
        set_in_params(INITIALIZE, "protocolVersion", to="latest"),
    ),
    client_does(
        "client-proposes-an-old-version",
        "initialize-proposes-latest-version",
        "The client proposes an old version, and goes on with a later one that the server offers.",
        set_in_params(INITIALIZE, "protocolVersion", to=OLDEST),
        scenery=offers(LATEST_LEGACY),
    ),
    client_does(
        "client-goes-on-with-the-refused-version",
        "unsupported-version-disconnects",
        "The client goes on with the version that the server did not accept.",
        request_header("MCP-Protocol-Version", FUTURE, LIST),
        way="http",
        scenery=set_in_params(INITIALIZE, "protocolVersion", to=FUTURE),
    ),
)

SESSIONS: Final[tuple[Misbehaviour, ...]] = (
    server_does(
        "server-answers-ping-with-more",
        "ping-answered-with-empty-result",
        "The server answers a ping with a result that is not empty.",
        set_in_result("ping", "alive", to=True),
        story=ping_once,
    ),
    server_does(
        "server-does-not-know-ping",
        "ping-answered-with-empty-result",
        "The server answers a ping in a session with an error.",
        change_answer("ping", refusal(METHOD_NOT_FOUND, "Method not found: ping")),
        story=ping_patiently,
    ),
    server_does(
        "server-ignores-pings",
        "ping-answered-promptly",
        "The server does not answer pings.",
        unanswered("ping"),
        story=ping_patiently,
    ),
    client_by_hand(
        "client-pings-without-end",
        "ping-not-too-often",
        "The client pings many times within a moment.",
        ping_often,
        ping_once,
        era="legacy",
    ),
    client_by_hand(
        "client-uses-what-was-not-declared",
        "client-keeps-to-negotiated-capabilities",
        "The client lists the prompts of a server that did not declare any.",
        then_sends(plain("p", "prompts/list")),
        then_sends(plain("t", LIST)),
        era="legacy",
    ),
    server_does(
        "server-tells-of-prompts-that-it-lacks",
        "server-keeps-to-negotiated-capabilities",
        "The server says that its prompts have changed, and did not declare any.",
        add_before(LIST, lambda letter: note("notifications/prompts/list_changed"), "result"),
    ),
    client_by_hand(
        "client-asks-the-user-of-the-server",
        "method-in-negotiated-revision",
        "The client sends a request that only a server may send.",
        then_sends(plain("q", "sampling/createMessage", {"messages": [], "maxTokens": 9})),
        list_the_tools,
        era="legacy",
    ),
    client_by_hand(
        "client-asks-for-a-shutdown",
        "method-that-never-was",
        "The client sends shutdown, which MCP does not have.",
        then_sends(plain("bye", "shutdown")),
        list_the_tools,
        era="legacy",
    ),
)
