"""The OpenAPI document is true: to what it allows and to what it forbids, answers are the documented ones."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from doors_kit import Person, Rest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from hivelore.doors.rest import openapi
from hivelore.doors.rest.app import route_names

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
OPERATIONS = {
    operation.label: operation
    for operation in (
        result.ok() for result in schemathesis.openapi.from_dict(openapi.document("0")).get_all_operations()
    )
}
FEW = settings(max_examples=40, suppress_health_check=list(HealthCheck), deadline=None)


def _send(rest: Rest, case: schemathesis.Case) -> Any:
    request = case.as_transport_kwargs(base_url="http://127.0.0.1:8420")
    method, url = request.pop("method"), request.pop("url")
    if "data" in request:  # what a client of another library calls the raw body
        request["content"] = request.pop("data")
    request.pop("cookies")
    return rest.http.request(method, url, **request)


@pytest.mark.promise("M-040")
def test_the_document_is_served_and_lists_every_route(alice: Person):
    document = Rest(Person(alice.hub, "nobody", None)).http.get("/openapi.json").json()
    assert document == openapi.document(alice.hub.version)
    listed = {f"{method.upper()} {path}" for path, item in document["paths"].items() for method in item}
    assert listed == {name.replace(":id", "{id}") for name in route_names()}


@pytest.mark.parametrize(
    ("label", "mode"),
    [
        *((label, GenerationMode.POSITIVE) for label in OPERATIONS),
        *((label, GenerationMode.NEGATIVE) for label in OPERATIONS if label.startswith("POST ")),
    ],
)
def test_every_answer_to_generated_requests_is_documented(rest: Rest, label: str, mode: GenerationMode):
    operation = OPERATIONS[label]
    known = rest.add("something to find")["id"]

    @FEW
    @given(case=operation.as_strategy(generation_mode=mode), of_a_memory=st.booleans())
    def ask(case: schemathesis.Case, of_a_memory: bool) -> None:
        if of_a_memory and "id" in case.path_parameters:
            case.path_parameters["id"] = known
        case.validate_response(_send(rest, case), checks=CHECKS)

    ask()


@FEW
@given(raw=st.binary(max_size=60), path=st.sampled_from(["/memory/add", "/memory/search"]))
def test_any_bytes_as_a_body_get_a_documented_refusal_or_answer(rest: Rest, raw: bytes, path: str):
    answer = rest("POST", path, raw)
    assert answer.status_code in (200, 400)
    assert answer.json()
