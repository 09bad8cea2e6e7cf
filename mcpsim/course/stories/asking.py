"""Stories of servers that have to ask: the same handlers in both eras, on very different wires."""

from __future__ import annotations

from typing import Any, Final

import anyio
import mcp_types

from mcpsim.client import Client
from mcpsim.course.servers import travel_desk
from mcpsim.course.stories.story import BOTH, MODERN, Story, text_of, told
from mcpsim.errors import ProtocolError


async def one_question(client: Client) -> str:
    """A tool asks the user for a seat before it can go on."""
    return text_of(await client.call_tool("choose_seat", {"train": "IC 31"}))


async def two_rounds(client: Client) -> str:
    """A tool asks for the day, and when it knows the day, for the user's consent."""
    return text_of(await client.call_tool("book_trip", {"city": "Pisa"}))


async def two_questions_at_once(client: Client) -> str:
    """A tool asks for two things at the same time."""
    return text_of(await client.call_tool("plan_trip", {"city": "Pau"}))


async def user_declines(client: Client) -> str:
    """The user does not want to answer. That is an answer too, and the tool goes on without."""
    return text_of(await client.call_tool("choose_seat", {"train": "IC 31"}))


async def user_dismisses(client: Client) -> str:
    """The user closes the form without a choice: neither yes nor no."""
    return text_of(await client.call_tool("choose_seat", {"train": "IC 31"}))


async def visit_a_page(client: Client) -> str:
    """The user has to sign in on a page: the server sends a URL, and no secret passes through the client."""
    return text_of(await client.call_tool("open_account"))


async def ask_the_model(client: Client) -> str:
    """A tool lets the client's model write (sampling; deprecated in 2026-07-28)."""
    return text_of(await client.call_tool("write_postcard", {"city": "Lyon"}))


async def ask_for_folders(client: Client) -> str:
    """A tool asks where the client's folders are (roots; deprecated in 2026-07-28)."""
    return text_of(await client.call_tool("pack_documents"))


async def nobody_to_ask(client: Client) -> str:
    """The client does not declare that it can ask its user: the server must not try."""
    try:
        return text_of(await client.call_tool("choose_seat", {"train": "IC 31"}))
    except ProtocolError as error:
        return str(error)


async def state_without_a_question(client: Client) -> str:
    """A server sends only its request state: the client sends the request again at once."""
    return text_of(await client.call_tool("count_rounds", {"rounds": 2}))


async def one_answer_is_missing(client: Client) -> list[str]:
    """The client answers one of two questions: the server asks again for the other, and ignores extras."""
    call: dict[str, Any] = {"name": "plan_trip", "arguments": {"city": "Pau"}}
    first = await client.request("tools/call", call)
    day = {"action": "accept", "content": {"day": "2026-09-01"}}
    answers: dict[str, Any] = {"day": day, "weather": {"action": "accept", "content": {}}}
    second = await client.request(
        "tools/call", {**call, "inputResponses": answers, "requestState": first["requestState"]}
    )
    seat = {"action": "accept", "content": {"seat": "aisle", "bags": 1}}
    third = await client.request(
        "tools/call", {**call, "inputResponses": {"seat": seat}, "requestState": second["requestState"]}
    )
    return [*first["inputRequests"], *second["inputRequests"], third["content"][0]["text"]]


async def state_is_sealed(client: Client) -> list[str]:
    """Request state that was changed, sent with another request, or kept for too long: all are refused."""
    call: dict[str, Any] = {"name": "count_rounds", "arguments": {"rounds": 1}}
    first = await client.request("tools/call", call)
    state = str(first["requestState"])
    other: dict[str, Any] = {"name": "count_rounds", "arguments": {"rounds": 5}}
    changed = state[:-1] + ("A" if state[-1] != "A" else "B")
    seen = [await sent_with(client, call, changed), await sent_with(client, other, state)]
    await anyio.sleep(61)
    seen.append(await sent_with(client, call, state))
    return seen


async def state_is_good_once(client: Client) -> list[str]:
    """The same request state is sent twice to a server that takes each only once."""
    call: dict[str, Any] = {"name": "count_rounds", "arguments": {"rounds": 1}}
    state = str((await client.request("tools/call", call))["requestState"])
    return [await sent_with(client, call, state), await sent_with(client, call, state)]


async def sent_with(client: Client, call: dict[str, Any], state: str) -> str:
    """What comes back on a call with this request state."""
    try:
        result = await client.request("tools/call", {**call, "requestState": state})
    except ProtocolError as error:
        return str(error.code)
    return str(result["content"][0]["text"])


def fill_in(asked: mcp_types.ElicitRequestFormParams) -> dict[str, Any]:
    """What the user of these stories fills into a form: a value for every field that they know."""
    known = {"seat": "aisle", "bags": 1, "day": "2026-09-01", "agreed": True}
    return {name: known[name] for name in asked.requested_schema["properties"]}


def obliging(era: Any) -> Client:
    """A client whose user answers every form."""
    return Client(era=era, elicit=fill_in)


def declining(era: Any) -> Client:
    """A client whose user declines."""
    return Client(era=era, elicit=lambda asked: "decline")


def dismissing(era: Any) -> Client:
    """A client whose user closes every form."""
    return Client(era=era, elicit=lambda asked: "cancel")


def visiting(era: Any) -> Client:
    """A client whose user agrees to visit a page."""
    return Client(era=era, elicit_url=lambda asked: "accept")


def writing(era: Any) -> Client:
    """A client with a model that writes one sentence."""
    return Client(era=era, sample=lambda asked: "Greetings from the river.")


def rooted(era: Any) -> Client:
    """A client that offers one folder."""
    return Client(era=era, roots=["file:///home/user/travel"])


def strict_desk(**settings: Any) -> Any:
    """A travel desk whose request state is good for a minute."""
    return travel_desk(state_ttl_ms=60_000, **settings)


def once_desk(**settings: Any) -> Any:
    """A travel desk that takes each request state once."""
    return travel_desk(single_use_state=True, **settings)


ASKING: Final[tuple[Story, ...]] = (
    told(one_question, travel_desk, BOTH, clients=obliging),
    told(two_rounds, travel_desk, BOTH, clients=obliging),
    told(two_questions_at_once, travel_desk, BOTH, clients=obliging),
    told(user_declines, travel_desk, BOTH, clients=declining),
    told(user_dismisses, travel_desk, BOTH, clients=dismissing),
    told(visit_a_page, travel_desk, BOTH, clients=visiting),
    told(ask_the_model, travel_desk, BOTH, clients=writing),
    told(ask_for_folders, travel_desk, BOTH, clients=rooted),
    told(nobody_to_ask, travel_desk, BOTH),
    told(state_without_a_question, travel_desk, MODERN),
    told(one_answer_is_missing, travel_desk, MODERN, clients=obliging, breaks=("mrtr-all-answered",)),
    told(state_is_sealed, strict_desk, MODERN, breaks=("mrtr-state-unchanged",)),
    told(state_is_good_once, once_desk, MODERN),
)
