"""The REST operation `memory/timeline`."""

from __future__ import annotations

from hivelore.doors.rest import compact
from hivelore.doors.rest.bodies import Body, required, whole_number
from hivelore.doors.rest.memory import find_one
from hivelore.rooms.memory.around import timeline as around_one
from hivelore.rooms.transcripts import service as transcripts
from hivelore.work import Call

BESIDE = 3  # memories on each side, when the request does not say


def timeline(call: Call, body: Body) -> Body:
    """What was said or stored around a memory, in order of time."""
    operation = "memory.timeline"
    found = find_one(call, required(body, "id", operation))
    before, after = (whole_number(body, side, operation, least=0) for side in ("before", "after"))
    around = around_one(
        call,
        found.id,
        BESIDE if before is None else before,
        BESIDE if after is None else after,
        transcripts.turns_beside,
    )
    return compact.timeline(around, call.hub.clock.now_ms())
