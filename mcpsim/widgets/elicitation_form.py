"""The elicitation form: a server's question as a user sees it, and the answer as it travels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

import anyio
import mcp_types
from pydantic import BaseModel

from mcpsim.client.client import Client
from mcpsim.eras.revisions import ClientEra
from mcpsim.errors import ElicitationSchemaError, FramingError, SimulationError
from mcpsim.messages import write_json
from mcpsim.recording import Recording
from mcpsim.recording.run import Run
from mcpsim.server.context import Context
from mcpsim.server.server import Server
from mcpsim.simulation.simulate import Simulation, simulate
from mcpsim.transports.link import Stdio, StreamableHttp
from mcpsim.utilities.elicitation import form_of, with_defaults
from mcpsim.widgets import scripts
from mcpsim.widgets.acting import Acting, text_in
from mcpsim.widgets.bench_view import error_text
from mcpsim.widgets.elicitation_form_view import (
    ACCEPT,
    ACTIONS,
    URLS,
    answer_json,
    faults_of_answer,
    form_data,
    form_html,
    form_text,
    travelled,
)
from mcpsim.widgets.text import compact_text, one_line

Question = Mapping[str, Any] | BaseModel | type[BaseModel]
Answer = mcp_types.ElicitResult
Story = Callable[..., Any]

MAX_ANSWER_BYTES: Final = 100_000
MAX_ANSWERS: Final = 50
MESSAGE: Final = "Please fill this in."


class ElicitationForm(Acting):
    """A form for a server's question: `ElicitationForm(schema)` as the last line of a cell.

    The browser checks each field, and Python checks them again. An answer is then played by real peers on the
    virtual clock, once in each era, and the messages that carried it are shown. `ElicitationForm.in_run`
    takes the answers of a whole run instead.

    Args:
        question: a `requestedSchema`, or a pydantic model class for one; or the parameters of an
            `elicitation/create`, as a dict or a model of mcp-types: a form, or a URL to visit.
        on_answer: called with the `mcp_types.ElicitResult` of each answer that is right.
        server: which server asks, for the user.

    Attributes:
        answer: the last answer that was right, as `mcp_types.ElicitResult`; or None.
        faults: what is wrong with the last one that was not, by the name of the field.
        runs: what was played with the last answer, by era.
        error: what else went wrong, or "".

    Raises:
        ElicitationSchemaError: the question is none of these.

    https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation
    """

    _esm = scripts.script(
        (*scripts.COMMON, "acting", "form"), "{ render: renderForm, faultsOf: elicitationFaults }"
    )
    _css = scripts.style("acting", "form")

    def __init__(
        self,
        question: Question,
        on_answer: Callable[[Answer], object] | None = None,
        *,
        server: str = "desk",
    ) -> None:
        self.question: Mapping[str, Any] | None = question_of(question)
        _check_sendable(self.question)
        self._server = server
        self._on_answer = on_answer
        self.answer: Answer | None = None
        self.faults: dict[str, list[str]] = {}
        self.runs: dict[str, Run] = {}
        self._unplayed = ""
        super().__init__()

    @classmethod
    def in_run(
        cls,
        story: Story,
        *,
        server: Callable[[], Server],
        era: ClientEra = "modern",
        transport: Stdio | StreamableHttp | None = None,
    ) -> ElicitationForm:
        """A form that stands for the user of a run: the run waits for each answer.

        A run is deterministic, so with each answer it is played again from the start, up to the next question
        that has no answer yet.

        Args:
            story: an async function, called with the client.
            server: makes the server; each time a new one, because handlers may keep something.
            era: the client's era.
            transport: as of `simulate`.

        Raises:
            SimulationError: the run cannot go on. What the story raises is shown.
        """
        return _FormInRun(story, server, era, transport)

    @property
    def run(self) -> Run | None:
        """What was played with the last answer (modern); None where nothing was."""
        return self.runs.get("modern")

    @property
    def recording(self) -> Recording | None:
        """What crossed the wire in `run`, or None."""
        return self.run.recording if self.run is not None else None

    def respond(self, action: str, content: Mapping[str, Any] | None = None) -> None:
        """Answer, as the buttons do.

        Args:
            action: "accept", "decline" or "cancel".
            content: what is filled in, by field; what is left out and has a default gets it.

        Raises:
            ValueError: the answer does not fit the form; the text says where. Or there is no question.
        """
        self._do(lambda: self._respond(action, content or {}))
        if self.faults:
            told = " ".join(f"{name}: {fault}" for name, found in self.faults.items() for fault in found)
            raise ValueError(f"The answer does not fit the form. {told}")

    def _act(self, wish: Mapping[str, Any]) -> None:
        if wish.get("do") != "answer":
            raise ValueError(f"There is nothing like {wish.get('do')!r:.40} to do here.")
        content: Any = wish.get("content", {})
        if not isinstance(content, Mapping):
            raise ValueError("content must be an object.")
        if len(write_json(cast("Mapping[str, Any]", content))) > MAX_ANSWER_BYTES:
            raise ValueError(f"The answer is larger than {MAX_ANSWER_BYTES:,} bytes.")
        self._respond(text_in(wish, "action", 10), cast("Mapping[str, Any]", content))

    def _respond(self, action: str, content: Mapping[str, Any]) -> None:
        if action not in ACTIONS:
            raise ValueError(f"action must be one of {', '.join(ACTIONS)}, not {action!r}.")
        question = self.question
        if question is None or not form_data(question, self._server)["answerable"]:
            raise ValueError("There is no question that could be answered.")
        is_filled = action == ACCEPT and question.get("mode") != "url"
        filled: dict[str, Any] | None = None
        self.faults = {}
        if is_filled:
            filled = with_defaults(question["requestedSchema"], content)
            self.faults = faults_of_answer(question["requestedSchema"], filled)
        if self.faults:
            return
        answer = Answer(action=cast("Any", action), content=filled)
        self._take(answer)
        self.answer = answer
        if self._on_answer is not None:
            self._on_answer(answer)

    def _take(self, answer: Answer) -> None:
        """Let real peers carry the answer, in both eras."""
        question = cast("Mapping[str, Any]", self.question)
        self.runs = {}
        self._unplayed = ""
        try:
            self.runs = {era: _play(question, answer, self._server, era) for era in _ERAS}
        except ElicitationSchemaError as error:
            self._unplayed = (
                f"This workbook's server would not send this form, so nothing was played. "
                f"{one_line(str(error), 300)}"
            )

    def _history(self) -> list[str]:
        return []

    def _status(self) -> str:
        if self.faults:
            count = len(self.faults)
            before = " Below stands what was sent before." if self.answer is not None else ""
            fields = "1 field is" if count == 1 else f"{count} fields are"
            return f"The answer was not sent: {fields} not right.{before}"
        if self.answer is None:
            return "Nothing has been answered yet."
        return f"The answer is {self.answer.action}: {ACTIONS[self.answer.action]} {self._unplayed}".strip()

    def _carried(self) -> list[dict[str, Any]]:
        labels = {"legacy": "Legacy", "modern": "Modern"}
        return [
            {"label": labels[era], "messages": travelled(run.recording)} for era, run in self.runs.items()
        ]

    def _data(self) -> dict[str, Any]:
        answer = self.answer
        return {
            "title": "Elicitation form",
            "form": None if self.question is None else form_data(self.question, self._server),
            # A new form is built where this is another one.
            "key": compact_text(self.question),
            "faults": self.faults,
            "status": self._status(),
            "answer": "" if answer is None else answer_json(answer.action, answer.content),
            "carried": self._carried(),
            "history": self._history(),
            "replays": False,
            "transcript": "",
            "urls": list(URLS),
        }

    def __repr__(self) -> str:
        """The same text in every run: nbval compares it."""
        return f"ElicitationForm({self._server!r})"

    def still_text(self) -> str:
        return form_text(self.shown)

    def still_html(self) -> str:
        return form_html(self.shown)


class _FormInRun(ElicitationForm):
    """A form that stands for the user of a run."""

    def __init__(
        self,
        story: Story,
        server: Callable[[], Server],
        era: ClientEra,
        transport: Stdio | StreamableHttp | None,
    ) -> None:
        self._story = story
        self._make = server
        self._era: ClientEra = era
        self._transport = transport
        self._given: tuple[Answer, ...] = ()
        self._finished: Run | None = None
        self.question = None
        self._play_on(())
        question = self.question
        name = self._server
        # A run without a question is a form without fields; it is shown as a run that is over.
        super().__init__(question or {"mode": "url", "message": "", "url": ""}, server=name)
        self.question = question
        self._show()

    @property
    def run(self) -> Run | None:
        """The run, when it is over; None while it waits for an answer."""
        return self._finished

    @property
    def recording(self) -> Recording | None:
        """What crossed the wire so far."""
        return self._so_far

    def _act(self, wish: Mapping[str, Any]) -> None:
        if wish.get("do") == "undo":
            self._play_on(self._given[:-1])
        elif wish.get("do") == "again":
            self._play_on(())
        else:
            super()._act(wish)
            return
        self.faults = {}
        self.answer = None

    def _take(self, answer: Answer) -> None:
        if len(self._given) >= MAX_ANSWERS:
            raise ValueError(f"That is enough: {MAX_ANSWERS} answers are taken at most.")
        self._play_on((*self._given, answer))

    def _play_on(self, answers: tuple[Answer, ...]) -> None:
        """Play the run with these answers, up to the first question without one."""
        server = self._make()
        left = iter(answers)
        asked: list[tuple[Mapping[str, Any], int]] = []

        async def answer(params: Any) -> Answer:
            given = next(left, None)
            if given is None:
                asked.append((question_of(params), len(simulation.recording.events)))
                await anyio.sleep_forever()
            return cast("Answer", given)

        simulation = Simulation(
            self._story,
            server=server,
            client=Client(era=self._era, elicit=answer, elicit_url=answer),
            transport=self._transport,
        )
        with simulation:
            try:
                while not asked and simulation.step():
                    pass
            except SimulationError:
                # Nothing can happen while it waits for the user.
                if not asked:
                    raise
            whole = simulation.recording
            # What happens while the user thinks, such as a timeout, has not happened yet.
            self._so_far = Recording(whole.header, whole.events[: asked[0][1]]) if asked else whole
            finished = None if asked else simulation.finish()
        self._finished = finished
        self.question = asked[0][0] if asked else None
        self._given = answers
        self._server = server.title or server.name

    def _history(self) -> list[str]:
        return [
            f"Answer {number}: {one.action}" + (f" {compact_text(one.content)}" if one.content else "")
            for number, one in enumerate(self._given, start=1)
        ]

    def _status(self) -> str:
        if self.faults:
            return super()._status()
        run = self._finished
        if run is None:
            return f"The run waits for answer {len(self._given) + 1}: {self._server} asks."
        if run.error is not None:
            return f"The run is over. {error_text(run.error)}"
        return f"The run is over. It came to: {one_line(compact_text(_plain(run.value)), 300)}"

    def _carried(self) -> list[dict[str, Any]]:
        messages = travelled(self._so_far)
        return [{"label": self._era.capitalize(), "messages": messages}] if messages else []

    def _data(self) -> dict[str, Any]:
        number = len(self._given)
        return {
            **super()._data(),
            "key": f"{number} {compact_text(self.question)}",
            "replays": True,
            "transcript": self._so_far.transcript(),
        }


_ERAS: Final[tuple[ClientEra, ...]] = ("legacy", "modern")


def question_of(question: Any) -> dict[str, Any]:
    """A question as the parameters of an `elicitation/create`, from whatever says it.

    Raises:
        ElicitationSchemaError: it is no question.
    """
    if isinstance(question, type):
        return {"mode": "form", "message": MESSAGE, "requestedSchema": form_of(cast("Any", question))}
    if isinstance(question, BaseModel):
        question = question.model_dump(mode="json", by_alias=True, exclude_none=True)
    if not isinstance(question, Mapping):
        raise ElicitationSchemaError(
            "A question is a requestedSchema, a pydantic model class, or the parameters of "
            "elicitation/create, "
            f"not {question!r:.60}."
        )
    found = dict(cast("Mapping[str, Any]", question))
    inner: Any = found.get("params")
    if found.get("method") == "elicitation/create" and isinstance(inner, Mapping):
        return dict(cast("Mapping[str, Any]", inner))
    if {"message", "requestedSchema", "url", "mode"} & found.keys() and "properties" not in found:
        return found
    return {"mode": "form", "message": MESSAGE, "requestedSchema": found}


def _check_sendable(question: Mapping[str, Any]) -> None:
    try:
        write_json(question)
    except FramingError as error:
        raise ElicitationSchemaError(f"No server can send this question. {error}") from None


def _play(question: Mapping[str, Any], answer: Answer, name: str, era: ClientEra) -> Run:
    """Let a real server ask this question, and a real client answer it."""
    server = Server(name)
    message = str(question.get("message", MESSAGE))
    refused: list[ElicitationSchemaError] = []

    @server.tool(name="ask")
    async def ask(context: Context) -> str:
        """Ask the user."""
        try:
            if question.get("mode") == "url":
                found = await context.elicit_url(message, question["url"], key="question")
            else:
                found = await context.elicit(message, question["requestedSchema"], key="question")
        except ElicitationSchemaError as error:
            refused.append(error)
            raise
        return found.action

    async def call(client: Client) -> Any:
        """A tool asks the user."""
        return await client.call_tool("ask")

    client = Client(era=era, elicit=lambda _: answer, elicit_url=lambda _: answer)
    run = simulate(call, server=server, client=client, title="One question", check=False)
    if refused:
        raise refused[0]
    if run.error is not None:
        raise run.error
    return run


def _plain(value: Any) -> Any:
    if isinstance(value, mcp_types.CallToolResult):
        return " ".join(getattr(part, "text", "") for part in value.content)
    return value.model_dump(mode="json") if isinstance(value, BaseModel) else value
