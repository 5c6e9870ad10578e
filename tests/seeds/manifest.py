"""The promises of the systems that hivelore replaces, as far as it keeps them by now, and the tests that prove each.

Ids: P are those of polymnemo, M those of Memmy. `holds` says in our words what is true here; tests are named from the
folder `tests` on and carry the mark `promise` with the id (`test_manifest.py` checks both ways). A promise that is not
kept yet is not listed.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Promise:
    holds: str
    tests: tuple[str, ...]


def _promise(holds: str, *tests: str) -> Promise:
    return Promise(holds, tests)


_ALIASES = "core/test_settings.py::test_an_alias_means_what_it_means_in_the_system_it_comes_from"
_OWN_USER = "wire/test_keys.py::test_each_key_is_its_own_user"
_MANY_CLIENTS = "wire/test_many_clients.py::test_ten_clients_write_at_once_and_every_memory_is_recalled"
_NO_NETWORK = "wire/test_no_network.py::test_nothing_leaves_the_machine_by_default"
_SHARED = "doors/memory/test_isolation.py::test_what_is_written_to_a_shared_namespace_is_readable_by_all_at_once"
_NOT_CHANGED = "doors/memory/test_get_update_forget.py::test_what_another_user_shared_can_be_read_and_not_changed"
_NOT_SEEN = "doors/memory/test_isolation.py::test_no_answer_holds_a_word_of_the_others_secret"
_PARTS = "doors/memory/test_remember.py::test_a_long_text_gets_several_ids_in_order_and_one_group"
_COMMANDS = "wire/test_cli.py::test_a_memory_is_added_found_shown_and_deleted"
_BOTH_DOORS = "wire/test_cli.py::test_what_an_agent_remembers_the_command_line_finds_and_the_other_way_round"

PROMISES: dict[str, Promise] = {
    # -- polymnemo: memory ---------------------------------------------------------------------------------------------
    "P-001": _promise("All clients of one endpoint share one memory.", _MANY_CLIENTS),
    "P-002": _promise("What one assistant stored, another one recalls.", _MANY_CLIENTS, _SHARED),
    "P-003": _promise(
        "Memories can live in a Postgres database of one's own.",
        "wire/test_replicas.py::test_what_one_stores_the_other_recalls_changes_and_forgets",
    ),
    "P-004": _promise(
        "A saved session comes back to the letter.",
        "doors/memory/test_sessions.py::test_a_session_comes_back_exactly_whatever_the_page_size",
    ),
    "P-005": _promise(
        "Passages of saved sessions are recalled.",
        "doors/memory/test_sessions.py::test_passages_are_recalled_with_session_and_place",
    ),
    "P-008": _promise(
        "Vectors come from an ONNX model on this machine, without a key.",
        _NO_NETWORK,
        "ports/test_embed_e5.py::test_a_cached_conversion_needs_no_weights",
    ),
    "P-009": _promise("No language model is called for memory work.", _NO_NETWORK),
    "P-010": _promise(
        "Recall finds by meaning, on Postgres with pgvector too, what shares no word with the question.",
        "base/search/test_find.py::test_vectors_find_what_no_word_can",
    ),
    "P-011": _promise("A namespace is shared from the start or its owner's alone.", _SHARED, _NOT_SEEN),
    "P-012": _promise("Whoever writes owns what is written.", _NOT_CHANGED),
    "P-016": _promise(
        "A bearer key in a request tells who is calling.", "base/test_identity.py::test_a_known_key_is_its_user"
    ),
    "P-018": _promise(
        "A text is cut into chunks, and each chunk gets a vector (in pgvector, on Postgres).",
        "base/search/test_vectors.py::test_every_chunk_of_a_long_text_gets_its_vector",
    ),
    "P-021": _promise(
        "One module chooses every implementation, so that tools need not change when one does.",
        "seeds/test_packaging.py::test_implementations_are_chosen_in_the_composition_root_alone",
    ),
    "P-028": _promise(
        "`ping` names the implementation of each part.",
        "doors/memory/test_contract.py::test_ping_needs_no_key_and_names_the_layers",
    ),
    # -- polymnemo: installation and keys ------------------------------------------------------------------------------
    "P-029": _promise(
        "Python 3.11 is enough.", "seeds/test_packaging.py::test_it_is_written_for_python_3_11_and_newer"
    ),
    "P-030": _promise(
        "An editable installation gives the command, and the extra `dev` the tools.",
        "seeds/test_packaging.py::test_an_editable_installation_leads_to_the_checkout_and_gives_the_command",
    ),
    "P-033": _promise(
        "`.env.example`, copied to `.env` and filled in, configures a server.",
        "cli/test_config_files.py::test_dotenv_of_the_working_folder_is_read",
        "cli/test_docs.py::test_the_example_file_holds_every_setting_and_is_inert_until_edited",
    ),
    "P-034": _promise(
        "Keys are pairs of key and user, separated by commas, under polymnemo's variable too.",
        _ALIASES,
        "core/test_settings.py::test_a_key_pair_splits_at_the_first_colon_and_is_trimmed",
    ),
    "P-035": _promise("Each key is one user, who writes as nobody else.", _OWN_USER),
    "P-038": _promise("PORT sets the port.", _ALIASES),
    "P-039": _promise("A URL and a bearer header are all that a remote client needs.", _OWN_USER),
    "P-043": _promise("Only the owner changes and removes a memory.", _NOT_CHANGED),
    "P-049": _promise("What is written to a shared namespace, everybody reads at once.", _SHARED),
    "P-050": _promise("What is written to any other namespace, its owner alone sees.", _NOT_SEEN),
    # -- polymnemo: chunks and tools -----------------------------------------------------------------------------------
    "P-052": _promise(
        "A long text is cut when it is stored, one vector a chunk.",
        "base/search/test_vectors.py::test_every_chunk_of_a_long_text_gets_its_vector",
    ),
    "P-053": _promise("A long text gives several ids.", _PARTS),
    "P-054": _promise(
        "Of a long text, recall gives the part that answers.",
        "rooms/test_memory_room.py::test_of_a_long_text_the_part_that_answers_is_given",
    ),
    "P-061": _promise(
        "`remember` stores a text.", "doors/memory/test_remember.py::test_a_short_text_gets_one_id", _PARTS
    ),
    "P-062": _promise(
        "`recall` finds by meaning.",
        "base/search/test_find.py::test_vectors_find_what_no_word_can",
        "doors/memory/test_recall.py::test_the_best_comes_first_with_a_score",
    ),
    "P-063": _promise(
        "`list_memories` lists.", "doors/memory/test_list.py::test_paging_to_the_end_gives_every_item_once"
    ),
    "P-064": _promise(
        "`get_memory` reads one memory by its id.", "doors/memory/test_remember.py::test_a_short_text_gets_one_id"
    ),
    "P-065": _promise(
        "`update` replaces a text.",
        "doors/memory/test_get_update_forget.py::test_update_replaces_the_text_and_keeps_the_rest",
    ),
    "P-066": _promise(
        "`forget` removes a memory.",
        "doors/memory/test_get_update_forget.py::test_forget_removes_the_text_everywhere",
    ),
    "P-067": _promise(
        "`save_session` keeps a session whole.",
        "doors/memory/test_sessions.py::test_a_session_comes_back_exactly_whatever_the_page_size",
    ),
    "P-068": _promise(
        "`load_session` reads it back.",
        "doors/memory/test_sessions.py::test_the_first_page_says_what_the_contract_says",
    ),
    "P-072": _promise(
        "`ping` tells that the server answers.",
        "doors/memory/test_contract.py::test_ping_needs_no_key_and_names_the_layers",
    ),
    "P-073": _promise(
        "A client attaches a namespace as a resource.",
        "doors/memory/test_resource.py::test_a_namespace_reads_as_the_page_that_lists_it",
    ),
    "P-076": _promise(
        "A page describes every tool with its arguments and real answers.",
        "tidy/test_tools_page.py::test_every_tool_has_its_text_its_arguments_and_an_example",
    ),
    # -- polymnemo: settings -------------------------------------------------------------------------------------------
    "P-077": _promise(
        "Variables of polymnemo count, in the environment and in `.env`.",
        _ALIASES,
        "core/test_settings.py::test_an_ambient_alias_does_not_beat_the_own_name_in_dotenv",
    ),
    "P-078": _promise(
        "`.env.example` lists every setting.",
        "cli/test_docs.py::test_the_example_file_holds_every_setting_and_is_inert_until_edited",
    ),
    "P-079": _promise(
        "polymnemo's variable names the database, and a server can insist on having one.",
        _ALIASES,
        "core/test_settings.py::test_a_named_database_satisfies_require_database",
    ),
    "P-081": _promise(
        "Without keys there is no bearer authentication.",
        "core/test_settings.py::test_bearer_without_keys_is_refused",
    ),
    "P-082": _promise("A setting lists the namespaces that everybody reads.", _ALIASES, _SHARED),
    "P-083": _promise("A setting chooses the address; loopback is the default.", _ALIASES),
    "P-085": _promise(
        "A setting chooses the path of the endpoint.",
        _ALIASES,
        "wire/test_serve.py::test_another_path_for_the_endpoint_is_served",
    ),
    "P-100": _promise(
        "On Postgres a server keeps nothing of its own, and any of several answers.",
        "wire/test_replicas.py::test_the_data_folder_of_a_replica_holds_no_memories",
        "wire/test_replicas.py::test_pages_and_sessions_may_be_read_from_either_in_turn",
    ),
    "P-108": _promise("The licence is MIT.", "seeds/test_packaging.py::test_the_licence_is_mit"),
    # -- Memmy: one store for all agents -------------------------------------------------------------------------------
    "M-001": _promise(
        "Everything that agents learn is in one SQLite database.",
        "wire/test_serve.py::test_what_was_stored_is_there_when_the_server_starts_again",
        "seeds/test_one_file.py::test_one_file_carried_elsewhere_is_the_whole_store_with_vectors",
    ),
    "M-002": _promise("All agents of a machine read and write one store.", _MANY_CLIENTS),
    "M-006": _promise("A server and its commands are enough to share memory.", _BOTH_DOORS),
    "M-008": _promise(
        "A trace holds request, answer and tool calls as they were.",
        "doors/rest/test_one_memory.py::test_a_trace_in_full",
    ),
    "M-026": _promise(
        "Memory outlives the conversation and the server's process.",
        "wire/test_serve.py::test_what_was_stored_is_there_when_the_server_starts_again",
    ),
    "M-074": _promise("Searching and adding by shell commands is all that an agent needs.", _BOTH_DOORS),
    "M-076": _promise("A note of one agent is found by the others of the machine.", _MANY_CLIENTS),
    "M-101": _promise(
        "One file, vectors included, is the whole store.",
        "seeds/test_one_file.py::test_one_file_carried_elsewhere_is_the_whole_store_with_vectors",
    ),
    "M-102": _promise(
        "SQLite's own backup makes a consistent copy of a running store.",
        "seeds/test_one_file.py::test_a_copy_made_while_the_store_is_written_is_consistent",
    ),
    "M-115": _promise(
        "Several servers share one Postgres database.",
        "wire/test_replicas.py::test_what_one_stores_the_other_recalls_changes_and_forgets",
    ),
    # -- Memmy: transcripts --------------------------------------------------------------------------------------------
    "M-014": _promise(
        "Claude Code's transcripts are found at every depth.",
        "importers/test_claude_code.py::test_transcripts_are_found_at_all_levels_and_everything_else_is_counted",
    ),
    "M-021": _promise(
        "Each complete turn of a conversation becomes one memory.",
        "importers/test_claude_code.py::test_each_request_of_the_user_is_one_turn_whatever_tools_were_used",
        "importers/test_run.py::test_the_numbers_of_the_account_add_up_and_equal_what_is_stored",
    ),
    "M-022": _promise(
        "A turn is complete when both sides said something.",
        "importers/test_claude_code.py::test_a_turn_without_an_answer_is_counted_in_the_middle_and_yielded_at_the_end",
    ),
    "M-023": _promise(
        "What was broken off is not stored.",
        "importers/test_run.py::test_a_turn_is_stored_once_it_is_complete",
    ),
    "M-024": _promise(
        "Importing again stores nothing twice.",
        "importers/test_claude_code.py::test_the_contract_sample_gives_the_golden_turn_and_request_ids",
        "importers/test_run.py::test_a_second_run_stores_nothing_and_says_so",
    ),
    "M-025": _promise(
        "An import tells what it read, what it took and what is new.",
        "importers/test_run.py::test_the_numbers_of_the_account_add_up_and_equal_what_is_stored",
    ),
    # -- Memmy: REST ---------------------------------------------------------------------------------------------------
    "M-038": _promise(
        "Under /api/v1, health alone answers without a key.",
        "doors/rest/test_conventions.py::test_health_answers_without_a_key_and_in_the_contracts_shape",
        "doors/rest/test_conventions.py::test_without_the_right_key_nothing_happens",
    ),
    "M-040": _promise(
        "The REST API lies under /api/v1.",
        "doors/rest/test_openapi.py::test_the_document_is_served_and_lists_every_route",
    ),
    "M-041": _promise("memory/add stores a memory.", "doors/rest/test_add.py::test_a_plain_note_becomes_a_trace"),
    "M-042": _promise(
        "memory/search finds memories.",
        "doors/rest/test_search.py::test_the_markdown_of_a_trace_is_the_contracts_to_the_letter",
    ),
    "M-043": _promise("GET memory/:id reads one.", "doors/rest/test_one_memory.py::test_a_trace_in_full"),
    "M-044": _promise(
        "DELETE memory/:id removes one.",
        "doors/rest/test_one_memory.py::test_a_deleted_memory_is_gone_for_every_door",
    ),
    # -- Memmy: the server and its commands ----------------------------------------------------------------------------
    "M-029": _promise(
        "A part that is missing or too old is named at the start.",
        "ports/test_embed_e5.py::test_without_its_libraries_it_names_them",
        "sql/test_schema.py::test_a_store_of_a_newer_version_is_refused_and_not_changed",
    ),
    "M-030": _promise(
        "The server starts without a display.",
        "wire/test_serve.py::test_a_server_says_that_it_is_alive_and_what_is_ready",
    ),
    "M-034": _promise("--host chooses the address.", "cli/test_main.py::test_serve_passes_every_flag_to_its_setting"),
    "M-039": _promise(
        "Why a server did not start is told in words.",
        "wire/test_serve.py::test_a_folder_that_cannot_be_made_is_an_error_in_words",
    ),
    "M-059": _promise(
        "--url names the server.",
        "cli/test_client.py::test_the_option_wins_over_the_variables_and_they_go_in_order",
    ),
    "M-060": _promise(
        "--token gives the key.",
        "cli/test_client.py::test_the_key_comes_from_the_option_then_variables_then_the_first_pair",
    ),
    "M-062": _promise(
        "--source says where a memory comes from.",
        "cli/test_client.py::test_add_sends_the_text_with_title_tags_layer_and_source",
    ),
    "M-065": _promise(
        "`health` asks whether a server runs.", "wire/test_cli.py::test_health_tells_about_a_server_that_runs"
    ),
    "M-066": _promise("`search` finds memories.", _COMMANDS),
    "M-067": _promise("`add` stores one.", _COMMANDS),
    "M-068": _promise("`get` shows one.", _COMMANDS),
    "M-069": _promise("`delete` removes one.", _COMMANDS),
    "M-078": _promise(
        "It is an MCP server, over HTTP and over stdio.",
        "wire/test_http.py::test_initialize_introduces_the_server_and_its_purpose",
        "wire/test_stdio.py::test_the_end_of_the_input_ends_the_child_and_nothing_else_was_on_its_output",
    ),
    "M-116": _promise(
        "Interfaces are documented, and one that changes is noticed.",
        "tidy/test_stability.py::test_no_interface_changed_without_its_snapshot",
    ),
    "M-117": _promise(
        "A command that reaches no server says so and what to start.",
        "wire/test_cli.py::test_without_a_server_each_command_says_what_to_start",
    ),
    # -- Memmy: privacy and keys ---------------------------------------------------------------------------------------
    "M-088": _promise("By default nothing leaves the machine.", _NO_NETWORK),
    "M-093": _promise(
        "An embedding endpoint of one's own can be used.",
        "ports/test_embed_http.py::test_the_request_is_the_openai_one",
        "ports/test_embed_http.py::test_remote_is_true_unless_the_host_is_loopback",
    ),
    "M-094": _promise(
        "The server listens on this machine only.",
        "wire/test_serve.py::test_a_server_listens_on_one_address_of_this_machine_only",
    ),
    "M-095": _promise(
        "It answers on whatever port a tunnel gives it.",
        "doors/rest/test_conventions.py::test_loopback_hosts_are_let_in_on_any_port",
    ),
    "M-096": _promise(
        "An address that others can reach needs keys.",
        "wire/test_keys.py::test_an_address_that_others_can_reach_needs_keys",
        "core/test_settings.py::test_listening_beyond_this_machine_without_keys_is_refused_with_two_ways_out",
    ),
    "M-098": _promise("Memmy's variable for the token counts.", _ALIASES),
    "M-099": _promise("So does its second name.", _ALIASES),
    "M-100": _promise(
        "Values may refer to the environment.",
        "core/test_settings.py::test_references_in_files_are_replaced_from_the_environment",
    ),
    # -- Memmy: search -------------------------------------------------------------------------------------------------
    "M-110": _promise(
        "Every memory is searched, however many are newer.",
        "seeds/test_one_file.py::test_a_memory_older_than_two_thousand_others_is_found_by_meaning_and_by_word",
    ),
    "M-112": _promise(
        "Vectors come after the storing.",
        "base/search/test_vectors.py::test_text_is_findable_at_commit_and_vectors_follow",
    ),
    "M-113": _promise(
        "A model that fails delays no write and loses no work.",
        "base/search/test_vectors.py::test_a_model_that_is_not_ready_is_waited_for_without_losing_work",
        "jobs/test_worker.py::test_what_is_only_unavailable_is_retried_for_ever",
    ),
    "M-114": _promise(
        "A new memory is found by its words at once, and the answer says what still waits for a vector.",
        "doors/memory/test_honest_search.py::test_a_note_is_found_by_word_before_it_has_a_vector",
    ),
}
