"""How the record of a payload is written: candidates as columns, reasons by number, no texts."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from warmset._support.shown import plain
from warmset.errors import NewerFormat
from warmset.route.candidates import Candidate, Facts, Gathered, NeedReport, untried
from warmset.route.judgement import TriageReport
from warmset.route.payload import Excluded, Included, Missing
from warmset.route.plan import by_heir, why_left
from warmset.route.request import Request
from warmset.route.spec import TaskSpec
from warmset.route.triage import Verdict
from warmset.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from warmset.route.candidates import Classification
    from warmset.route.payload import Payload
    from warmset.route.plan import Plan

VERSION: Final = 1
"""The version of the format; another one is not read."""

CLASSES: Final[tuple[Classification, ...]] = (
    "essential",
    "supplementary",
    "redundant",
    "irrelevant",
)
ERASED: Final = "the reason was erased with an item that it was about"

_encode: Final = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
_NAMED: Final = ("conversation", "session", "pipeline", "error", "budget")
_WHOLE: Final = "<i8"
_REAL: Final = "<f8"
_SAME: Final = "relevance"
"""Stands for a column that is equal to another one."""

_NUMBERS: Final = {
    "id": _WHOLE,
    "tokens": _WHOLE,
    "at": _WHOLE,
    "relevance": _REAL,
    "similarity": _REAL,
}
"""Columns of candidates that hold numbers."""

_DISTINCT: Final = ("memory_type", "origin", "priority", "needs")
"""Columns in which most values stand many times."""

_SELDOM: Final[Mapping[str, Any]] = {
    "dependencies": (),
    "derived_from": (),
    "reward": None,
    "confidence": 1.0,
    "earlier": (),
}
"""Fields of candidates that are left out where no candidate has anything in them."""

_KNOWN: Final = (
    "memory_id",
    "tokens",
    "at",
    "origin",
    "dependencies",
    "derived_from",
    "reward",
    "confidence",
)
"""Fields that are known of an item, whatever it is a candidate for."""

_LISTS: Final = frozenset({"needs", "dependencies", "derived_from", "earlier"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoded:
    """A record as it is stored.

    Args:
        decision: All but what a model said.
        judged: What a model said, apart from the rest, because its words may be those of an item;
            None if rules judged.
        about: Ids of the items that the model judged.
    """

    decision: bytes
    judged: bytes | None
    about: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What a record says.

    Args:
        spec: What the task needed.
        request: What the payload was made for, without its tools.
        tool_tokens: What these took.
        encoding: The vocabulary that tokens were counted with.
        judge: The name of the class that judged.
        is_rule: Whether it says the same again of the same texts.
        verdicts: Else what it said, by id; None if that is not there any more.
        triage: Who judged, and what it took.
        gathered: The candidates, without labels.
        depended: What they depended on besides.
        named: By the name of what is depended on, the name of what stood for it.
        heirs: The names of what replaced others, by id.
        gone: Ids of what was removed before it was read.
        included: What stood in the payload.
        excluded: The other candidates.
        missing: What items in it depended on and what was not there.
        total_tokens: The tokens of the call.
        budget_remaining: What was left of the budget.
    """

    spec: TaskSpec
    request: Request
    tool_tokens: int
    encoding: str
    judge: str
    is_rule: bool
    verdicts: Mapping[int, Verdict] | None
    triage: TriageReport
    gathered: Gathered
    depended: tuple[Candidate, ...]
    named: Mapping[str, str]
    heirs: Mapping[int, str]
    gone: frozenset[int]
    included: tuple[Included, ...]
    excluded: tuple[Excluded, ...]
    missing: tuple[Missing, ...]
    total_tokens: int
    budget_remaining: int


class _Reasons:
    """Reasons, each once."""

    def __init__(self) -> None:
        self.listed: dict[str, int] = {}

    def number(self, reason: str) -> int:
        return self.listed.setdefault(reason, len(self.listed))

    def row(self, said: Verdict | Included | Excluded) -> tuple[int, int]:
        return CLASSES.index(said.classification), self.number(said.reason)


def encode(
    *,
    spec: TaskSpec,
    request: Request,
    system: Any,
    tool_tokens: int,
    encoding: str,
    judge: str,
    is_rule: bool,
    plan: Plan,
    payload: Payload,
    heirs: Mapping[int, str],
) -> Encoded:
    """Return the record of a payload.

    Args:
        spec: What the task needs.
        request: What the payload is made for; its query is redacted.
        system: Its system prompt, redacted.
        tool_tokens: The tokens of its tools.
        encoding: The vocabulary that tokens are counted with.
        judge: The name of the class that judged.
        is_rule: Whether it says the same again of the same texts.
        plan: What was decided.
        payload: What was made of it.
        heirs: The names of what replaces others, by id.

    Raises:
        TypeError: The system prompt is no plain JSON.
        ValueError: It is, but refers to itself.
    """
    gathered = plan.gathered
    every = [*gathered.candidates, *plan.depended]
    place = {one.id: at for at, one in enumerate(every)}
    included = {one.id for one in payload.context_payload}
    reasons = _Reasons()
    fields: dict[str, Any] = {
        "v": VERSION,
        "spec": spec.to_json(),
        "request": {
            "task": request.task,
            "query": request.query,
            "dialect": request.dialect,
            "now": request.now.isoformat(),
            "again": sorted(request.again),
            "skipped": sorted(request.skipped),
            "confidence": request.confidence,
            "earlier": request.earlier,
            "system": system,
        }
        | {name: getattr(request, name) for name in _NAMED},
        "tool_tokens": tool_tokens,
        "encoding": encoding,
        "judge": judge,
        "candidates": _columns(every),
        "count": len(gathered.candidates),
        "superseded": [[*one, heirs[one[2]]] for one in gathered.superseded],
        "needs": plain(gathered.needs),
        "gone": sorted(plan.gone),
        "in": [(place[one.id], one.tokens, *reasons.row(one)) for one in payload.context_payload],
        "out": [reasons.row(verdict) for _one, verdict in why_left(plan, included)],
        "missing": [(one.memory_id, one.needed_by, one.reason) for one in payload.missing],
        "session": gathered.session,
        "named": plan.named,
        "triage": plain(plan.report),
        "tokens": payload.total_tokens,
        "left": payload.budget_remaining,
    }
    if is_rule:
        return Encoded(decision=_bytes(fields, reasons), judged=None, about=())
    said = {
        "verdicts": [
            (id_, *reasons.row(verdict), int(verdict.first))
            for id_, verdict in plan.verdicts.items()
        ],
    }
    return Encoded(
        decision=_encode(fields).encode(),
        judged=_bytes(said, reasons),
        about=tuple(sorted(plan.verdicts)),
    )


def decode(payload_id: str, decision: bytes, judged: bytes | None, vector: Any) -> Decided:
    """Read a record.

    Args:
        payload_id: Its name.
        decision: All but what a model said.
        judged: What a model said; None if none judged, or if that was erased.
        vector: The query's vector, shape (dim,); None if there was none.

    Raises:
        NewerFormat: It has another format.
    """
    fields: dict[str, Any] = json.loads(decision)
    version = fields.get("v")
    if version != VERSION:
        raise NewerFormat(
            f"the record of payload {payload_id!r} has format {version!r:.20}, and this version "
            f"of warmset reads {VERSION}; use the version that wrote it"
        )
    said: dict[str, Any] = {} if judged is None else json.loads(judged)
    reasons: Sequence[str] = fields.get("reasons", said.get("reasons", ()))

    def row(kind: int, reason: int, first: int = 0) -> Verdict:
        return Verdict(CLASSES[kind], reasons[reason] if reasons else ERASED, first=bool(first))

    spec = TaskSpec.from_json(fields["spec"])
    every = list(_candidates(fields["candidates"]))
    candidates = tuple(every[: fields["count"]])
    included = tuple(
        _included(every[at], tokens, row(*verdict)) for at, tokens, *verdict in fields["in"]
    )
    ids = {one.id for one in included}
    left = [one for one in candidates if one.id not in ids]
    out = [
        (one.memory_id, one.relevance, row(*verdict))
        for one, verdict in zip(left, fields["out"], strict=True)
    ]
    out += [
        (name, 0.0, Verdict("redundant", by_heir(heir)))
        for _id, name, _heir_id, heir in fields["superseded"]
    ]
    verdicts = {id_: row(*verdict) for id_, *verdict in said.get("verdicts", ())}
    return Decided(
        spec=spec,
        request=_request(fields["request"], vector),
        tool_tokens=fields["tool_tokens"],
        encoding=fields["encoding"],
        judge=fields["judge"],
        is_rule="reasons" in fields,
        verdicts=None if judged is None else verdicts,
        triage=_report(fields["triage"]),
        gathered=Gathered(
            spec=spec,
            session=fields["session"],
            candidates=candidates,
            superseded=[(id_, name, heir) for id_, name, heir, _by in fields["superseded"]],
            needs=[NeedReport(**one) for one in fields["needs"]],
        ),
        depended=tuple(every[fields["count"] :]),
        named=fields["named"],
        heirs={heir: by for _id, _name, heir, by in fields["superseded"]},
        gone=frozenset(fields["gone"]),
        included=included,
        excluded=tuple(
            Excluded(
                memory_id=name,
                classification=verdict.classification,
                reason=verdict.reason,
                relevance=relevance,
            )
            for name, relevance, verdict in out
        ),
        missing=tuple(
            Missing(memory_id=name, needed_by=needed_by, reason=why)
            for name, needed_by, why in fields["missing"]
        ),
        total_tokens=fields["tokens"],
        budget_remaining=fields["left"],
    )


def _bytes(fields: Mapping[str, Any], reasons: _Reasons) -> bytes:
    return _encode({**fields, "reasons": list(reasons.listed)}).encode()


def _numbers(values: Iterable[float | None], kind: str) -> str:
    """Return numbers as they lie in memory: digits take twice the space, and far more time."""
    return b64encode(np.fromiter(values, kind).tobytes()).decode()


def _distinct(values: Iterable[Any]) -> list[Any]:
    """Return the values that there are, and the place of each one's among them."""
    there: dict[Any, int] = {}
    at = [there.setdefault(value, len(there)) for value in values]
    return [list(there), _numbers(at, _WHOLE)]


def _columns(every: Sequence[Candidate]) -> dict[str, Any]:
    known = [one.known for one in every]
    made: dict[str, Any] = {
        "id": _numbers((one.id for one in every), _WHOLE),
        "memory_id": [one.memory_id for one in known],
        "memory_type": _distinct(one.names("type")[0] for one in known),
        "tokens": _numbers((one.tokens for one in known), _WHOLE),
        "at": _numbers((one.at for one in known), _WHOLE),
        "origin": _distinct(one.origin for one in known),
        "priority": _distinct(one.priority for one in every),
        "needs": _distinct(one.needs for one in every),
        "relevance": _numbers((one.relevance for one in every), _REAL),
    }
    similar = [one.similarity for one in every]
    if None not in similar:
        made["similarity"] = _numbers(similar, _REAL)
        if made["similarity"] == made["relevance"]:  # nothing has aged
            made["similarity"] = _SAME
    else:
        made["similarity"] = similar
    for name, default in _SELDOM.items():
        values = list(map(attrgetter(name), every))
        if values.count(default) < len(values):
            made[name] = values
    return made


def _values(given: str | list[Any], kind: str) -> list[Any]:
    """Return a column of numbers; one in which some have none is a list."""
    if isinstance(given, list):
        return given
    return list(np.frombuffer(b64decode(given), kind).tolist())


def _candidates(columns: Mapping[str, Any]) -> Iterable[Candidate]:
    given = dict(columns)
    if given["similarity"] == _SAME:
        given["similarity"] = given["relevance"]
    read = {name: _values(given[name], kind) for name, kind in _NUMBERS.items()}
    for name in _DISTINCT:
        there, at = given[name]
        read[name] = [there[place] for place in _values(at, _WHOLE)]
    read |= {name: given[name] for name in ("memory_id", *_SELDOM) if name in given}
    for values in zip(*read.values(), strict=True):
        fields: dict[str, Any] = {
            name: tuple(value) if name in _LISTS else value
            for name, value in zip(read, values, strict=True)
        }
        kind = fields.pop("memory_type")
        known = {name: fields.pop(name) for name in _KNOWN if name in fields}
        yield Candidate(
            known=Facts(columns={"type": (kind,)}, **known), untried=untried(kind), **fields
        )


def _included(one: Candidate, tokens: int, verdict: Verdict) -> Included:
    return Included(
        memory_id=one.memory_id,
        memory_type=one.memory_type,
        classification=verdict.classification,
        tokens=tokens,
        reason=verdict.reason,
        relevance=one.relevance,
        needs=one.needs,
        id=one.id,
    )


def _request(fields: Mapping[str, Any], vector: Any) -> Request:
    given = {**fields, "now": datetime.fromisoformat(fields["now"]), "vector": vector}
    sets = {name: frozenset(fields[name]) for name in ("again", "skipped")}
    return Request(**{**given, **sets})


def _report(fields: Mapping[str, Any]) -> TriageReport:
    usage = fields.get("usage")
    return TriageReport(**{**fields, "usage": None if usage is None else Usage(**usage)})
