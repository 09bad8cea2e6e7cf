"""What tests break on purpose, by test: everything else that the project's peers record is valid."""

from __future__ import annotations

from typing import Final, NamedTuple


class Row(NamedTuple):
    """One test.

    Attributes:
        why: what it is about that no valid message could show.
        messages: the names of what is broken, as in `tests.support.checked.Fault`; each of them must be.
        by: the lanes of peers that are none of the project's, and whose messages are not judged.
    """

    why: str
    messages: tuple[str, ...] = ()
    by: tuple[str, ...] = ()


GARBAGE: Final = "The program at the other end of the pipe writes what is no message."
CHECK_STORIES: Final = Row(
    "One of the stories that are played everywhere sends raw bytes and a method that does not exist.",
    ("not a message", "tools/dance"),
)
TWISTED: Final = "A peer misbehaves: what it sends is changed, and may be wrong in any way."
TOO_FEW_KEYS: Final = (
    "The exercise is to leave a required key out, or to name a revision that does not exist."
)

BROKEN: Final[dict[str, Row]] = {
    "tests/lessons/test_showing.py::test_what_is_no_json_is_shown_as_it_is": Row(
        "The client sends bytes that are no JSON, to see how they are shown.", ("not a message",)
    ),
    "tests/course/test_stories.py::test_a_story_comes_to_what_it_should": Row(
        "The story version-from-the-future asks for a revision that does not exist.", ("tools/list",)
    ),
    "tests/project/test_cli.py::test_run_plays_every_story": Row(
        "The story version-from-the-future asks for a revision that does not exist.", ("tools/list",)
    ),
    **{
        f"tests/widgets/test_stories.py::{name}": Row(
            "The story version-from-the-future asks for a revision that does not exist.", ("tools/list",)
        )
        for name in ("test_every_step_is_told_by_a_row_of_its_own", "test_only_facts_have_no_rule")
    },
    **{
        f"tests/course/test_benches.py::{name}": Row(
            "The story version-from-the-future asks for a revision that does not exist.", ("tools/list",)
        )
        for name in (
            "test_untouched_it_is_the_story_itself",
            "test_every_value_of_every_knob_changes_what_happens",
        )
    },
    "tests/course/test_benches.py::test_every_fault_that_is_offered_happens": Row(
        "The story version-from-the-future asks for a revision that does not exist.",
        ("tools/list", "notifications/cancelled"),
    ),
    "tests/audit/test_indices.py::test_a_story_in_every_form": Row(
        "The story version-from-the-future asks for a revision that does not exist.", ("tools/list",)
    ),
    "tests/audit/test_indices.py::test_whatever_the_wire_does": Row(
        "A gateway hands on what a fault has changed; a story asks for a revision that does not exist.",
        by=("*",),
    ),
    "tests/recording/test_interchange.py::test_every_run_exports_to_valid_rows_in_order": CHECK_STORIES,
    "tests/audit/test_stories.py::test_story": Row(
        "The story version-from-the-future asks for a revision that does not exist.", ("tools/list",)
    ),
    "tests/recording/test_mermaid.py::test_every_story_can_be_drawn": Row(
        "The story version-from-the-future asks for a revision that does not exist.", ("tools/list",)
    ),
    "tests/properties/test_fault_plans.py::test_any_plan_over_any_story": Row(
        "A gateway hands on what a fault has changed; the test judges the recording itself.", by=("*",)
    ),
    "tests/exercises/test_exercises.py::test_the_solution_passes": Row(
        TOO_FEW_KEYS, ("tools/call", "tools/list")
    ),
    "tests/exercises/test_exercises.py::test_the_line_that_plays_the_answer_plays_it": Row(
        TOO_FEW_KEYS, ("tools/call", "tools/list")
    ),
    "tests/exercises/test_exercises.py::test_a_set_says_how_far_one_is": Row(TOO_FEW_KEYS, ("tools/list",)),
    "tests/exercises/test_stateless.py::test_what_is_right_passes": Row(
        TOO_FEW_KEYS, ("tools/call", "tools/list")
    ),
    "tests/exercises/test_stateless.py::test_what_is_wrong_fails_for_its_reason": Row(
        "The client's part is played by answers to the exercises that are wrong.", by=("client",)
    ),
    "tests/interop/test_matrix.py::test_client_and_server_understand_each_other": Row(
        "The client asks for a method that does not exist.", ("desk/nothing",)
    ),
    "tests/live/test_http.py::test_a_compressed_response_is_refused": Row(
        "The endpoint sends what is no JSON.", by=("server",)
    ),
    "tests/live/test_http.py::test_a_web_page_is_no_endpoint": Row(
        "The endpoint sends what is no JSON.", by=("server",)
    ),
    **{
        f"tests/live/test_process.py::{name}": Row(GARBAGE, by=("server",))
        for name in (
            "test_one_frame_a_line_however_the_pipe_cuts",
            "test_what_follows_from_a_line_stands_after_it",
            "test_lines_that_come_after_the_end_of_stdin_are_recorded",
            "test_a_server_that_dies_in_the_middle_of_a_message",
            "test_a_server_that_writes_garbage",
            "test_a_server_that_writes_without_end",
            "test_a_timeout_names_the_bound_as_well",
            "test_a_server_that_is_stuck_in_writing_gets_to_see_the_end_of_stdin",
        )
    },
    "tests/server/test_completion.py::test_what_the_schema_refuses": Row(
        "The parameters are not those of the method.", ("completion/complete",)
    ),
    "tests/server/test_prompts.py::test_what_the_schema_refuses": Row(
        "The parameters are not those of the method.", ("prompts/get",)
    ),
    **{
        f"tests/simulation/{name}": CHECK_STORIES
        for name in (
            "test_contract.py::test_2_recordings_hold_whole_microseconds_and_time_never_goes_back",
            "test_contract.py::test_4_nothing_recorded_comes_from_outside_of_the_run",
            "test_contract.py::test_every_message_of_the_check_stories_is_valid",
            "test_everywhere.py::test_the_recordings_are_the_ones_that_were_written_down",
            "test_nesting.py::test_stepping_gives_the_same_bytes_as_running",
        )
    },
    **{
        f"tests/simulation/test_twists.py::{name}": Row(TWISTED, by=("*",))
        for name in (
            "test_what_is_changed_is_what_was_sent",
            "test_each_run_has_a_twist_of_its_own",
            "test_the_other_peer_meets_it_as_any_other_message",
            "test_an_answer_that_is_not_sent",
            "test_a_request_that_is_not_sent",
            "test_one_more_message_of_the_server",
            "test_one_more_message_of_the_client",
            "test_headers_of_one_more_request_fit_it",
            "test_heads",
            "test_bytes_without_framing",
            "test_an_event_keeps_its_id_and_another_one_may_come_first",
            "test_the_head_of_a_stream_goes_with_what_is_left_of_it",
            "test_two_bodies_in_one_plain_response_are_refused",
            "test_a_twist_with_a_memory",
        )
    },
    **{
        f"tests/course/test_misbehaving.py::{name}": Row(TWISTED, by=("*",))
        for name in (
            "test_it_breaks_its_rule_and_no_other_that_must_hold",
            "test_the_three_lines_of_the_documentation",
        )
    },
    "tests/course/test_misbehaving.py::test_its_twin_is_a_normal_peer_with_tasks": Row(
        "The official models know no tasks, which one earlier revision has as an experiment.",
        (
            "notifications/tasks/status",
            "result of tools/call",
            *(
                f"{of}tasks/{what}"
                for what in ("cancel", "get", "list", "result")
                for of in ("", "result of ")
            ),
        ),
    ),
    "tests/support/test_checked.py::test_the_story_is_played_checked_and_its_error_raised": Row(
        "The checker has to find it.", ("not a message",)
    ),
}
