"""What was judged, by whom, and what it took; the rules hold whoever judges."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

from warmset._support.log import event, kind, room
from warmset.errors import InvalidInputError, TriageError
from warmset.route.triage import Verdict
from warmset.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.route.candidates import Candidate
    from warmset.route.request import Request
    from warmset.route.texts import Texts
    from warmset.route.triage import RuleTriage, Triage

LOG: Final = room("route")

JudgedBy: TypeAlias = Literal["rules", "model", "custom"]
"""Who judged: the rules alone, a model, or a triage of the caller's."""

_WHY: Final = 400
"""Characters of a reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TriageReport:
    """Who judged the candidates of a payload, and what it took.

    Args:
        by: "rules", "model", or "custom" for a triage of the caller's.
        why: Why the rules judged although there is a triage, else None.
        asked: How many candidates a model was asked about.
        usage: What the triage took; None where none was asked.

    Raises:
        InvalidInputError: `by` is none of these words, or `usage` no `Usage`.
    """

    by: JudgedBy = "rules"
    why: str | None = None
    asked: int = 0
    usage: Usage | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.by not in get_args(JudgedBy):
            known = ", ".join(get_args(JudgedBy))
            raise InvalidInputError(f"by: expected one of {known}, found {self.by!r:.80}")
        if self.usage is not None and not isinstance(self.usage, Usage):
            raise InvalidInputError(f"usage: expected a Usage, found {self.usage!r:.80}")

    def line(self) -> str:
        """Return it as one line for the terminal."""
        who = {"rules": "the rules", "model": "a model", "custom": "a triage of its own"}[self.by]
        why = "" if self.why is None else f", because {self.why}"
        took = ""
        if self.usage is not None:
            about = "about " if self.usage.estimated else ""
            took = f" ({about}{self.usage.tokens:,} tokens, {self.usage.milliseconds:,.0f} ms)"
        return f"judged by {who}{took}{why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """Verdicts, and where they are from.

    Args:
        verdicts: What candidates are for the task, by id.
        report: Who judged, and what it took.
    """

    verdicts: Mapping[int, Verdict]
    report: TriageReport = TriageReport()


def judged(
    rules: RuleTriage,
    triage: Triage | None,
    request: Request,
    candidates: Sequence[Candidate],
    text: Texts,
) -> Judgement:
    """Judge candidates by the rules, and let a triage sort what these leave open.

    Args:
        rules: The rules.
        triage: Who judges besides; None for nobody. See `Triage` for what its word counts.
        request: What the payload is for.
        candidates: The candidates, essential ones first, then by worth.
        text: Returns the text of a candidate.

    Returns:
        A verdict for each candidate.
    """
    verdicts = dict(rules.judge(request, candidates, text))
    left = [one for one in candidates if verdicts[one.id].classification != "redundant"]
    unsettled = {one.id for one in left if one.priority != "essential"}
    if triage is None or not unsettled:
        return Judgement(verdicts=verdicts)
    started = time.perf_counter()
    report, why, broken = TriageReport(by="custom"), None, ""
    own: dict[int, Verdict] = {}
    try:
        answer = triage.judge(request, tuple(left), text)
        given: object = answer
        if isinstance(answer, Judgement):
            report, given = _reported(answer), answer.verdicts
        own = _verdicts(given)
        if own and not own.keys() & verdicts.keys():
            why, broken = "none of its ids is a candidate's", "no id of a candidate"
    except Exception as error:  # noqa: BLE001 - a triage never costs an answer
        reported = error.usage if isinstance(error, TriageError) else None
        usage = reported if isinstance(reported, Usage) else None
        report = replace(report, usage=usage or report.usage)
        why, broken = str(error) or repr(error), kind(error)
    took = (time.perf_counter() - started) * 1000
    report = replace(report, usage=replace(report.usage or Usage(0, 0), milliseconds=took))
    if why is None:
        ours = {id_: verdict for id_, verdict in own.items() if id_ in unsettled}
        return Judgement(verdicts=_joined(verdicts, ours, left, text), report=report)
    event(
        LOG,
        logging.WARNING,
        "fell_back",
        what="triage",
        to="rules",
        triage=type(triage).__name__,
        why=broken,
        candidates=len(left),
    )
    why = " ".join(why[: 2 * _WHY].split())[:_WHY]
    return Judgement(verdicts=verdicts, report=replace(report, by="rules", why=why))


def _reported(answer: Judgement) -> TriageReport:
    """Check what a triage says of itself.

    Raises:
        InvalidInputError: It is no report.
    """
    report: object = answer.report
    if not isinstance(report, TriageReport):
        raise InvalidInputError(f"report: expected a TriageReport, found {report!r:.80}")
    return report


def _verdicts(given: object) -> dict[int, Verdict]:
    """Check what a triage returned.

    Raises:
        InvalidInputError: It is no mapping from ids to verdicts.
    """
    if not isinstance(given, Mapping):
        raise InvalidInputError(f"triage: expected verdicts by id, found {type(given).__name__}")
    found: dict[int, Verdict] = {}
    for id_, verdict in given.items():
        if not isinstance(verdict, Verdict):
            raise InvalidInputError(f"triage: expected a Verdict, found {type(verdict).__name__}")
        found[id_] = verdict
    return found


def _joined(
    by_rules: Mapping[int, Verdict],
    own: Mapping[int, Verdict],
    left: Sequence[Candidate],
    text: Texts,
) -> dict[int, Verdict]:
    """Return the verdicts of the rules with those of a triage, as far as these count."""
    verdicts = {**by_rules, **own}
    claimed = [one for one in left if verdicts[one.id].classification == "redundant"]
    for id_, verdict in own.items():
        if verdict.classification == "essential":
            verdicts[id_] = Verdict("supplementary", verdict.reason, first=True)
    if not claimed:
        return verdicts
    kept = set[str]()
    for one in left:
        if verdicts[one.id].classification in ("essential", "supplementary"):
            kept |= text.said(one).facts
    for one in claimed:  # the worthiest first: of two that say the same, it stays
        said = text.said(one)
        lost = said.facts - kept
        if not lost and not said.is_long:
            continue
        why = (
            f"{len(lost)} of its facts stand nowhere else" if lost else "it is too long to compare"
        )
        verdicts[one.id] = Verdict("supplementary", f"called redundant, but {why}")
        kept |= lost
    return verdicts
