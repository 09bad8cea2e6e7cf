"""What tests break on purpose, by test: everything else that the project's peers record is valid."""

from __future__ import annotations

from typing import Final, NamedTuple

from mcpsim import course


class Row(NamedTuple):
    """One test.

    Attributes:
        why: what it is about that no valid message could show.
        messages: the names of what is broken, as in `tests.support.checked.Fault`; each of them must be.
        by: the lanes of peers that are none of the project's, and who are not judged.
        rules: the rules of the audit that are broken; each of them must be. Only those of level MUST count.
    """

    why: str
    messages: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()


GARBAGE: Final = "The program at the other end of the pipe writes what is no message."
CHECK_STORIES: Final = Row(
    "One of the stories that are played everywhere sends raw bytes and a method that does not exist.",
    ("not a message", "tools/dance"),
    rules=(
        "message-is-json",
        "message-is-utf-8",
        "request-id-is-string-or-integer",
        "stdin-carries-messages-only",
    ),
)
# One of the stories changes a state. Where only some of the recordings are judged, it is not among them.
CHECK_AND_SEALED: Final = CHECK_STORIES._replace(rules=(*CHECK_STORIES.rules, "mrtr-state-unchanged"))
STORIES: Final = Row(
    "The story version-from-the-future asks for a revision that does not exist, and others break a rule.",
    ("tools/list",),
    rules=tuple(sorted({rule for story in course.STORIES.values() for rule in story.breaks})),
)
NOT_DECLARED: Final = Row(
    "The client asks for what the server did not declare, to see it refused.",
    rules=("client-keeps-to-negotiated-capabilities",),
)
MADE_UP: Final = Row(
    "The client makes up a cursor, to see it refused.", rules=("pagination-cursor-is-opaque",)
)
TWISTED: Final = "A peer misbehaves: what it sends is changed, and may be wrong in any way."
BY_HAND: Final = Row("The client's part is played by hand, wrongly too.", by=("client",))
TOO_FEW_KEYS: Final = (
    "The exercise is to leave a required key out, or to name a revision that does not exist."
)

BROKEN: Final[dict[str, Row]] = {
    "tests/widgets/test_passing.py::test_a_gateway_that_shares_what_is_private_is_told_of_as_it_is": Row(
        "The gateway shares what is private.", rules=("caching-private-is-not-shared",)
    ),
    "tests/widgets/test_passing.py::test_the_result_of_a_retry_that_is_passed_on_must_not_be_kept": Row(
        "The gateway keeps the result of a retry.", rules=("caching-retry-is-not-kept",)
    ),
    "tests/widgets/test_passing.py::test_a_gateway_that_answers_by_itself_does_not_remember_nothing": Row(
        "One gateway shares what is private, one keeps the result of a retry.",
        rules=("caching-private-is-not-shared", "caching-retry-is-not-kept"),
    ),
    "tests/widgets/test_prediction.py::test_what_breaks_a_rule_is_not_asked": Row(
        "Three stories break a rule on purpose.",
        rules=("mrtr-all-answered", "mrtr-state-unchanged", "pagination-cursor-is-opaque"),
    ),
    "tests/widgets/test_prediction.py::test_a_result_is_wrong_where_the_request_had_to_fail": Row(
        "The story version-from-the-future asks for a revision that does not exist.", ("tools/list",)
    ),
    "tests/lessons/test_showing.py::test_what_is_no_json_is_shown_as_it_is": Row(
        "The client sends bytes that are no JSON, to see how they are shown.",
        ("not a message",),
        rules=("message-is-utf-8",),
    ),
    "tests/recording/test_markdown.py::test_every_message_of_a_story_is_there": STORIES._replace(
        # Only the first era of each story is played. There a made-up cursor can be told with less certainty.
        rules=tuple(rule for rule in STORIES.rules if rule != "pagination-cursor-is-opaque")
    ),
    **{
        f"tests/{name}": STORIES
        for name in (
            "audit/test_indices.py::test_a_story_in_every_form",
            "audit/test_stories.py::test_story",
            "course/test_benches.py::test_every_value_of_every_knob_changes_what_happens",
            "course/test_benches.py::test_untouched_it_is_the_story_itself",
            "course/test_stories.py::test_a_story_comes_to_what_it_should",
            "project/test_cli.py::test_run_plays_every_story",
            "recording/test_mermaid.py::test_every_story_can_be_drawn",
            "widgets/test_prediction.py::test_the_right_answer_is_what_comes_and_no_other_is",
            "widgets/test_stories.py::test_every_step_is_told_by_a_row_of_its_own",
            "widgets/test_stories.py::test_only_facts_have_no_rule",
        )
    },
    "tests/browser/test_bodies.py::test_the_pieces_of_every_story_are_what_the_whole_is": Row(
        "All stories are played, also those that break a rule; what each breaks is tested with the stories.",
        by=("*",),
    ),
    "tests/browser/test_predict.py::test_where_the_findings_are_left_out_nothing_speaks_of_them": Row(
        "A finding is needed that can be left out.", by=("*",)
    ),
    "tests/browser/test_every_story.py::test_every_story_there_and_back": Row(
        "All stories are played, also those that break a rule; what each breaks is tested with the stories.",
        by=("*",),
    ),
    **{
        f"tests/browser/test_accessibility.py::{name}": Row(
            "A finding of the audit has to be seen, and a message that is broken to be answered.", by=("*",)
        )
        for name in (
            "test_nothing_is_wrong_on_the_way",
            "test_every_text_stands_out_in_every_place",
        )
    },
    "tests/browser/lab/test_small_widgets.py::test_error_map": Row(
        "Each error is shown in a run with it.", by=("*",)
    ),
    "tests/browser/lab/test_small_widgets.py::test_message_lab": BY_HAND,
    "tests/browser/lab/test_small_widgets.py::test_message_lab_on_http": BY_HAND,
    "tests/browser/lab/test_player_and_bench.py::test_branch_with_each_kind_of_change": Row(
        TWISTED, by=("*",)
    ),
    "tests/course/test_benches.py::test_every_fault_that_is_offered_happens": STORIES._replace(
        messages=("tools/list", "notifications/cancelled"),
        # Here each is played in one era, in which it does not show for certain that a cursor is made up.
        rules=tuple(rule for rule in STORIES.rules if rule not in MADE_UP.rules),
    ),
    "tests/audit/test_indices.py::test_a_finding_names_a_page_of_the_era_in_which_the_run_was_played": Row(
        "A finding is needed about a message in which nothing shows its era.",
        ("not a message",),
        rules=("method-is-a-string",),
    ),
    "tests/audit/test_indices.py::test_whatever_the_wire_does": Row(
        "A gateway hands on what a fault has changed; a story asks for a revision that does not exist.",
        by=("*",),
    ),
    "tests/recording/test_interchange.py::test_every_run_exports_to_valid_rows_in_order": CHECK_AND_SEALED,
    **{
        f"tests/widgets/test_compare.py::{name}": Row(
            "Any of the stories may be played, and some break a rule.", by=("*",)
        )
        for name in (
            "test_every_step_is_in_one_row_and_in_order",
            "test_a_run_beside_itself_is_the_same_in_every_row",
        )
    },
    "tests/widgets/test_branch.py::test_what_is_no_json_is_said_and_sent": Row(
        "A message is edited into what is no message.",
        ("not a message",),
        rules=("stdin-carries-messages-only",),
    ),
    "tests/widgets/test_branch.py::test_hostile_text_stays_text": Row(
        "The method has a hostile name.", by=("client",)
    ),
    "tests/simulation/test_branching.py::test_a_branch_is_the_same_up_to_the_change": Row(
        "Messages of any story are changed, into what is no message too.", by=("*",)
    ),
    "tests/simulation/test_branching.py::test_bytes_that_are_no_json_are_sent_as_they_are": Row(
        "A message is edited into what is no message.",
        ("not a message",),
        rules=("stdin-carries-messages-only",),
    ),
    "tests/simulation/test_branching.py::test_the_next_message_is_edited": Row(
        "The headers stay as they were, and say something else than the edited body.",
        rules=("http-name-header-agrees",),
    ),
    "tests/simulation/test_everywhere.py::test_the_recordings_are_the_ones_that_were_written_down": (
        CHECK_AND_SEALED
    ),
    "tests/properties/test_fault_plans.py::test_any_plan_over_any_story": Row(
        "A gateway hands on what a fault has changed; the test judges the recording itself.", by=("*",)
    ),
    "tests/exercises/test_exercises.py::test_the_solution_passes": Row(
        # The last two: clients of a time to come, and servers whose refusal is a plain text.
        TOO_FEW_KEYS,
        ("tools/call", "tools/list", "server/discover", "not a message"),
        rules=("request-says-version-and-capabilities",),
    ),
    "tests/exercises/test_exercises.py::test_the_line_that_plays_the_answer_plays_it": Row(
        TOO_FEW_KEYS, ("tools/call", "tools/list"), rules=("request-says-version-and-capabilities",)
    ),
    "tests/exercises/test_exercises.py::test_a_set_says_how_far_one_is": Row(TOO_FEW_KEYS, ("tools/list",)),
    "tests/exercises/test_stateless.py::test_what_is_right_passes": Row(
        TOO_FEW_KEYS, ("tools/call", "tools/list"), rules=("request-says-version-and-capabilities",)
    ),
    "tests/exercises/test_stateless.py::test_what_is_wrong_fails_for_its_reason": Row(
        "The client's part is played by answers to the exercises that are wrong.", by=("client",)
    ),
    **{
        f"tests/exercises/test_pagination.py::{name}": Row(
            "Clients that change a cursor are shown, for learners to find the fault.",
            rules=("pagination-cursor-is-opaque",),
        )
        for name in (
            "test_the_audit_finds_the_same_faults",
            "test_the_logs_show_every_cursor",
            "test_no_recording_says_in_its_title_what_is_wrong",
        )
    },
    "tests/exercises/test_pagination.py::test_what_is_wrong_fails_for_its_reason": Row(
        "The client's part is played by answers to the exercises that are wrong.", by=("client",)
    ),
    "tests/exercises/test_progress.py::test_what_is_wrong_fails_for_its_reason": Row(
        "The server's handlers are answers to the exercises that are wrong.", by=("server",)
    ),
    **{
        f"tests/exercises/test_capstone.py::{name}": Row(
            "Servers and hosts are answers to the exercises that are wrong.", by=("client", "server")
        )
        for name in (
            "test_what_is_wrong_fails_for_its_reason",
            "test_each_of_the_four_rules_has_to_be_mended",
        )
    },
    "tests/course/test_capstone.py::test_a_bad_server_is_found_out": Row(
        "The servers are bad ones, for the judges to find out.", by=("server",)
    ),
    "tests/exercises/test_rounds.py::test_what_is_wrong_fails_for_its_reason": Row(
        "The client's part is played by answers to the exercises that are wrong.", by=("client",)
    ),
    "tests/exercises/test_eras.py::test_what_is_right_passes": Row(
        "Clients speak a version of a time to come, and servers refuse a probe with a plain text.",
        ("server/discover", "not a message"),
    ),
    "tests/exercises/test_eras.py::test_what_is_wrong_fails_for_its_reason": Row(
        "Both parts: answers to the exercises that are wrong, and servers of many kinds.", by=("*",)
    ),
    "tests/exercises/test_handshake.py::test_what_is_wrong_fails_for_its_reason": Row(
        "The client's part is played by answers to the exercises that are wrong.", by=("client",)
    ),
    "tests/exercises/test_handshake.py::test_the_recordings_have_the_fault_that_the_answers_say": Row(
        TWISTED, by=("*",)
    ),
    "tests/exercises/test_handshake.py::test_the_recordings_do_not_say_what_is_wrong_with_them": Row(
        TWISTED, by=("*",)
    ),
    **{
        f"tests/exercises/test_forensics.py::{name}": Row(
            "The trace of the lesson has ten faults, and each exhibit has its own: they are what is tested.",
            by=("*",),
        )
        for name in (
            "test_the_trace_is_of_a_realistic_size_and_the_same_every_time",
            "test_the_audit_finds_what_the_answers_say_and_nothing_else",
            "test_the_two_faults_that_no_audit_sees_are_there",
            "test_without_its_twists_nothing_is_left_but_what_the_clients_do",
            "test_an_innocent_row_is_no_fault_and_its_reason_is_true",
            "test_each_row_of_the_text_is_that_of_the_audit",
            "test_a_connection_can_be_read_alone",
            "test_the_audit_says_the_same_of_each_charge",
            "test_the_audit_blames_the_same_side_in_each_case",
            "test_what_decides_can_be_seen_in_the_texts",
            "test_who_made_the_ten_is_said_rightly",
            "test_no_title_says_what_is_wrong",
        )
    },
    "tests/exercises/test_handshake.py::test_our_own_server_answers_each_proposal_so": Row(
        "The client proposes what is no revision, to see what the server offers.", by=("client",)
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
    **{
        f"tests/{name}": NOT_DECLARED
        for name in (
            "eras/test_legacy_changes.py::test_what_the_server_did_not_declare_is_neither_told_nor_offered",
            "live/test_http_interoperation.py::test_an_automatic_client_finds_out_that_our_server_is_legacy",
            "live/test_http_interoperation.py::test_our_client_and_their_server",
            "live/test_interoperation.py::test_our_client_finds_out_what_our_server_is",
            "live/test_interoperation.py::test_the_official_sdk_and_we_understand_each_other",
            "server/test_completion.py::test_the_capability_is_declared_where_it_exists_and_something_completes",
            "server/test_prompts.py::test_prompts_alone_declare_prompts",
            "server/test_resources.py::test_without_resources_nothing_of_them_is_there",
        )
    },
    **{
        f"tests/{name}": MADE_UP
        for name in (
            "client/test_with_our_server.py::test_what_the_server_does_not_have",
            "server/test_pagination.py::test_a_cursor_of_another_list_is_not_valid",
            "server/test_pagination.py::test_no_text_is_a_cursor_by_chance",
            "server/test_pagination.py::test_what_is_no_cursor_of_the_list",
        )
    },
    "tests/gateway/test_cache.py::test_a_request_whose_headers_lie_is_left_to_the_server": Row(
        "The headers lie.", rules=("http-method-header-agrees",)
    ),
    "tests/gateway/test_cache.py::test_what_the_server_would_refuse_is_not_answered_from_the_cache": Row(
        "The requests are ones that the server refuses.",
        rules=("http-accept-lists-both", "http-version-header-agrees"),
    ),
    **{
        f"tests/gateway/test_nobody_gets_what_is_not_theirs.py::{name}": Row(
            "The gateway is one that shares what is private.", rules=("caching-private-is-not-shared",)
        )
        for name in ("test_the_check_sees_a_gateway_that_shares_everything",)
    },
    **{
        f"tests/server/{name}": Row(
            "Some clients write null for what they do not have, and the server puts up with it.",
            rules=("body-fits-its-schema",),
        )
        for name in (
            "test_completion.py::test_null_is_no_context",
            "test_pagination.py::test_null_is_no_cursor",
        )
    },
    "tests/server/test_completion.py::test_what_the_schema_refuses": Row(
        "The parameters are not those of the method.",
        ("completion/complete",),
        rules=("body-fits-its-schema",),
    ),
    "tests/server/test_prompts.py::test_what_the_schema_refuses": Row(
        "The parameters are not those of the method.", ("prompts/get",), rules=("body-fits-its-schema",)
    ),
    **{
        f"tests/simulation/{name}": CHECK_STORIES
        for name in (
            "test_contract.py::test_2_recordings_hold_whole_microseconds_and_time_never_goes_back",
            "test_contract.py::test_4_nothing_recorded_comes_from_outside_of_the_run",
            "test_contract.py::test_every_message_of_the_check_stories_is_valid",
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
        f"tests/project/test_cli.py::{name}": Row(TWISTED, rules=rules)
        for name, rules in {
            "test_run_plays_a_peer_that_misbehaves_and_its_twin": ("request-is-answered-once",),
            "test_run_prints_what_the_audit_says": ("request-is-answered-once",),
            "test_a_peer_that_gives_up_because_the_other_one_misbehaves_is_no_failure": (
                "stdio-message-is-one-line",
            ),
        }.items()
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
    **{
        # Where a client uses an id twice, the audit cannot tell which request an answer is for.
        f"tests/widgets/test_message_lab_steps.py::{name}": BY_HAND._replace(by=("*",))
        for name in ("test_any_lines", "test_any_http_requests", "test_any_templates_in_any_order")
    },
    **{
        f"tests/widgets/test_message_lab_steps.py::{name}": BY_HAND
        for name in (
            "test_what_is_refused_on_purpose_is_refused",
            "test_an_id_is_used_twice_in_a_session",
            "test_a_tool_that_needs_a_capability",
        )
    },
    **{
        f"tests/{name}": BY_HAND
        for name in (
            "widgets/test_message_lab.py::test_a_step_refuses_and_the_next_are_not_reached",
            "widgets/test_message_lab.py::test_a_state_that_was_changed_is_refused_before_the_handler_runs",
            "widgets/test_message_lab.py::test_any_text_is_a_message_like_any_other",
            "widgets/test_message_lab.py::test_a_text_that_is_too_long_is_not_sent",
            "widgets/test_message_lab.py::test_line_breaks_are_taken_out_on_stdio",
            "widgets/test_message_lab.py::test_a_conversation_has_an_end",
            "widgets/test_message_lab.py::test_what_is_stored_is_the_same_in_every_run",
            "browser/test_message_lab.py::test_what_is_broken_is_sent_anyway",
            "browser/test_message_lab.py::test_what_is_typed_is_sent_as_it_is",
            "browser/test_message_lab.py::test_nothing_in_a_message_runs",
            "browser/test_message_lab.py::test_what_is_not_allowed_is_sent_anyway",
            "browser/test_message_lab.py::test_http_by_mouse_and_key",
            "browser/test_hostile_widgets.py::test_a_widget_that_opens_is_harmless",
            "browser/test_hostile_widgets.py::test_what_is_typed_into_the_lab",
            "widgets/test_hostile_stills.py::test_a_still_widget_holds_nothing_that_runs",
            "widgets/test_hostile_stills.py::test_a_still_widget_tells_text",
        )
    },
    "tests/widgets/test_error_map.py::test_the_error_really_happens": Row(
        "Each example is wrong in one way, to see it refused; which way is what the test looks at.",
        by=("*",),
    ),
    **{
        f"tests/{name}": Row("An error is looked at that a wrong message brings.", by=("client",))
        for name in (
            "widgets/test_error_map.py::test_an_example_is_of_the_era_that_is_looked_at",
            "browser/test_error_map.py::test_by_mouse",
            "browser/test_error_map.py::test_by_key",
        )
    },
    "tests/widgets/test_message_lab_steps.py::test_an_id_that_is_in_work": BY_HAND,
    "tests/support/test_checked.py::test_the_story_is_played_checked_and_its_error_raised": Row(
        "The checker has to find it.",
        ("not a message",),
        rules=("message-is-json", "stdin-carries-messages-only"),
    ),
}
