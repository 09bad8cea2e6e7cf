"""The rules, by topic."""

from __future__ import annotations

from typing import Final

from mcpsim.audit.rule import Rule
from mcpsim.audit.rules.after_cancellation import AFTER_CANCELLATION
from mcpsim.audit.rules.answering import ANSWERING
from mcpsim.audit.rules.asking import CLIENT_FEATURES
from mcpsim.audit.rules.caching import CACHING
from mcpsim.audit.rules.caching_clients import CACHING_CLIENTS
from mcpsim.audit.rules.caching_gateways import CACHING_GATEWAYS
from mcpsim.audit.rules.cancellation import CANCELLATION
from mcpsim.audit.rules.completion import COMPLETION
from mcpsim.audit.rules.content import CONTENT
from mcpsim.audit.rules.declared import DECLARED
from mcpsim.audit.rules.dialects import DIALECTS
from mcpsim.audit.rules.elicitation import ELICITATION
from mcpsim.audit.rules.elicitation_forms import ELICITATION_FORMS
from mcpsim.audit.rules.elicitation_urls import ELICITATION_URLS
from mcpsim.audit.rules.encoding import ENCODING
from mcpsim.audit.rules.error_codes import ERROR_CODING
from mcpsim.audit.rules.falling_back import FALLING_BACK
from mcpsim.audit.rules.features import FEATURES
from mcpsim.audit.rules.http import HTTP
from mcpsim.audit.rules.http_answers import HTTP_ANSWERS
from mcpsim.audit.rules.http_eras import HTTP_ERAS
from mcpsim.audit.rules.http_get import HTTP_GET
from mcpsim.audit.rules.http_headers import HTTP_HEADERS
from mcpsim.audit.rules.http_metadata import HTTP_METADATA
from mcpsim.audit.rules.http_resuming import HTTP_RESUMING
from mcpsim.audit.rules.http_sessions import HTTP_SESSIONS
from mcpsim.audit.rules.http_streams import HTTP_STREAMS
from mcpsim.audit.rules.http_validation import HTTP_VALIDATION
from mcpsim.audit.rules.http_versions import HTTP_VERSIONS
from mcpsim.audit.rules.icons import ICONS
from mcpsim.audit.rules.ids import IDS
from mcpsim.audit.rules.kinds import KINDS
from mcpsim.audit.rules.lifecycle import LIFECYCLE
from mcpsim.audit.rules.log_contents import LOG_CONTENTS
from mcpsim.audit.rules.logging import LOGGING
from mcpsim.audit.rules.messages import MESSAGES
from mcpsim.audit.rules.meta import META
from mcpsim.audit.rules.meta_keys import META_KEYS
from mcpsim.audit.rules.mrtr import MRTR
from mcpsim.audit.rules.mrtr_retries import MRTR_RETRIES
from mcpsim.audit.rules.mrtr_states import MRTR_STATES
from mcpsim.audit.rules.negotiation import NEGOTIATION
from mcpsim.audit.rules.pagination import PAGINATION
from mcpsim.audit.rules.progress import PROGRESS
from mcpsim.audit.rules.prompts import PROMPTS
from mcpsim.audit.rules.resource_errors import RESOURCE_ERRORS
from mcpsim.audit.rules.resources import RESOURCES
from mcpsim.audit.rules.result_types import RESULT_TYPES
from mcpsim.audit.rules.roots import ROOTS
from mcpsim.audit.rules.sampling import SAMPLING
from mcpsim.audit.rules.sampling_answers import SAMPLING_ANSWERS
from mcpsim.audit.rules.stdio import STDIO
from mcpsim.audit.rules.subscription_ends import SUBSCRIPTION_ENDS
from mcpsim.audit.rules.subscriptions import SUBSCRIPTIONS
from mcpsim.audit.rules.task_messages import TASK_MESSAGES
from mcpsim.audit.rules.task_operations import TASK_OPERATIONS
from mcpsim.audit.rules.task_progress import TASK_PROGRESS
from mcpsim.audit.rules.task_states import TASK_STATES
from mcpsim.audit.rules.tasks import TASKS
from mcpsim.audit.rules.tool_calls import TOOL_CALLS
from mcpsim.audit.rules.tool_headers import TOOL_HEADERS
from mcpsim.audit.rules.tool_results import TOOL_RESULTS
from mcpsim.audit.rules.tools import TOOLS
from mcpsim.audit.rules.trace_context import TRACE_CONTEXT
from mcpsim.audit.rules.versioning import VERSIONING
from mcpsim.audit.schema import SCHEMA

RULES: Final[tuple[Rule, ...]] = (
    *AFTER_CANCELLATION,
    *ANSWERING,
    *CLIENT_FEATURES,
    *CACHING,
    *CACHING_CLIENTS,
    *CACHING_GATEWAYS,
    *CANCELLATION,
    *COMPLETION,
    *CONTENT,
    *DECLARED,
    *DIALECTS,
    *ELICITATION,
    *ELICITATION_FORMS,
    *ELICITATION_URLS,
    *ENCODING,
    *ERROR_CODING,
    *FALLING_BACK,
    *FEATURES,
    *HTTP,
    *HTTP_ANSWERS,
    *HTTP_ERAS,
    *HTTP_GET,
    *HTTP_HEADERS,
    *HTTP_METADATA,
    *HTTP_RESUMING,
    *HTTP_SESSIONS,
    *HTTP_STREAMS,
    *HTTP_VALIDATION,
    *HTTP_VERSIONS,
    *ICONS,
    *IDS,
    *KINDS,
    *LIFECYCLE,
    *LOG_CONTENTS,
    *LOGGING,
    *MESSAGES,
    *META,
    *META_KEYS,
    *MRTR,
    *MRTR_RETRIES,
    *MRTR_STATES,
    *NEGOTIATION,
    *PAGINATION,
    *PROGRESS,
    *PROMPTS,
    *RESOURCE_ERRORS,
    *RESOURCES,
    *RESULT_TYPES,
    *ROOTS,
    *SAMPLING,
    *SAMPLING_ANSWERS,
    *STDIO,
    *SUBSCRIPTION_ENDS,
    *SUBSCRIPTIONS,
    *TASK_MESSAGES,
    *TASK_OPERATIONS,
    *TASK_PROGRESS,
    *TASK_STATES,
    *TASKS,
    *TOOL_CALLS,
    *TOOL_HEADERS,
    *TOOL_RESULTS,
    *TOOLS,
    *TRACE_CONTEXT,
    *VERSIONING,
    *SCHEMA,
)
