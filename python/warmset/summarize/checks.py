"""Telling a summary from what a model or a server says in its place."""

from __future__ import annotations

import json
import re
from typing import Final

from warmset.errors import InvalidInputError, SummaryRefused
from warmset.summarize.structured import is_structured

LONGEST_WISH: Final = 10_000
"""The most characters of instructions or of a focus."""

_PREFACE: Final = 1_000
"""Characters up to which a text that begins with a refusal is nothing else."""

_TAIL: Final = 200
_MARKUP: Final = re.compile(
    r"\s*(?:<!doctype\s+html|<html[\s>]|<\?xml\s|<head[\s>])", re.IGNORECASE
)
_TELLS: Final = (
    r"(?!\s+(?:and|are|came|comes|did|from|had|happened|has|have|in|is|made|means?|occurred|of|on"
    r"|seen|started|stopped|to|was|were|when|while|with)\b)"
)
_ERROR: Final = re.compile(
    r"\s*(?:[*_`\"'\[(]{1,3})?(?:"
    r"Traceback \(most recent call last\)"
    r"|(?:HTTP(?:/\d(?:\.\d)?)?\s+)?(?:status\s+|error\s+)?(?:code\s*)?:?\s*[45]\d\d\b\s*"
    r"(?:[:–—-]|$|(?:Internal|Bad|Service|Too many|Gateway|Not found|Forbidden|Unauthori[sz]ed"  # noqa: RUF001
    r"|Payment|Rate|Request|Server|Error\b|Client|Page))"
    rf"|Error code: \d{{3}}\b{_TELLS}"
    r"|(?:(?:API|Server|Client|Request|Network|Model|Internal|Fatal|Unknown"
    r"|Unexpected) )?Error\s*[:!]"
    r"|(?:[\w.]{1,60}\.)?[A-Z]\w{0,40}(?:Error|Exception|Timeout)\s*[:(]"
    r"|(?:The )?(?:server|model|engine|service) is (?:currently |temporarily )?(?:overloaded"
    r"|unavailable|busy)"
    r"|(?:Internal server error|Service (?:temporarily )?unavailable|Bad gateway|Gateway time-?out"
    r"|Too many requests|Rate[- ]limit(?:ed)?(?: (?:is |was )?(?:exceeded|reached))?"
    r"|Quota exceeded|Insufficient quota|Connection (?:refused|reset|error|aborted|closed)"
    r"|(?:The )?(?:request|read|connection|operation|model) timed out|Upstream connect error"
    r"|Unauthori[sz]ed|Forbidden|Not found|Payload too large|Context[_ ]length[_ ]exceeded"
    r"|Invalid (?:API key|request|model)|Overloaded|Something went wrong"
    r"|(?:An?|Some) (?:internal |unexpected |unknown )?(?:error|exception) (?:has )?occurred)"
    rf"{_TELLS}(?:\W|$))",
    re.IGNORECASE,
)
_STARTS_LOW: Final = re.compile(r"\s*(?:null|undefined|None|nan|N/A)\W*$", re.IGNORECASE)
_BODY: Final = re.compile(
    r"\s*(?:```(?:json)?\s*)?(?:\[\s*)?[{\[]\s*[\"'](?:error|errors|detail|fault|status"
    r"|statusCode|code|message|type)[\"']\s*:",
)
_ERROR_FIELDS: Final = frozenset({"error", "errors", "fault", "exception", "detail", "stacktrace"})
_CANNOT: Final = (
    r"(?:can(?:no|')?t|can not|could ?n[o']t|am (?:not able|unable)|are unable|'m (?:not able"
    r"|unable)"
    r"|won't|will not|must decline|have to decline|need to decline|do(?: not|n't) feel comfortable"
    r"|'m not comfortable|am not comfortable|am not allowed|'m not allowed|decline|refuse"
    r"|do not have"
    r"|don't have)"
)
_DOES: Final = (
    r"(?:help|assist|summari[sz]e|comply|provide|fulfil?l|do (?:that|this|so)|continue|process"
    r"|generate"
    r"|complete|produce|create|write|respond|answer|discuss|engage|share|access|support|see"
    r"|read|view"
    r"|(?:to )?any (?:text|content|conversation|messages|transcript)|the (?:ability|transcript"
    r"|conversation)"
    r"|with (?:that|this)|this request|that request|your request)"
)
_REFUSAL: Final = re.compile(
    rf"\W*(?:(?:I'm|I am|Im|we're|we are)\s(?:really |very |so |truly )?(?:sorry"
    rf"|afraid)\b.{{0,60}}?"
    rf"\b(?:I|we)\s?{_CANNOT}"
    rf"|(?:Unfortunately|Sorry|Apologies|My apologies|Regrettably|I apologi[sz]e)\b.{{0,40}}?"
    rf"\b(?:I|we)\s?{_CANNOT}.{{0,40}}?\b{_DOES}"
    rf"|I\s?{_CANNOT}\b.{{0,40}}?\b{_DOES}"
    r"|(?:I'm|I am) sorry,? (?:but )?(?:this|that|the (?:content|request|conversation|transcript))"
    rf"|As an? (?:AI|large|language|responsible)\b.{{0,60}}?\b{_CANNOT}"
    r"|(?:This|The|Your) (?:request|prompt|content|message|input"
    r"|conversation)\b.{0,30}?\b(?:violates|was"
    r" (?:blocked|flagged|refused|rejected)|has been (?:blocked|flagged|refused|rejected)"
    r"|goes against"
    r"|cannot be (?:processed|completed|summari[sz]ed)|can't be (?:processed|completed"
    r"|summari[sz]ed))"
    r"|There (?:is|was|are) (?:no|nothing)\b.{0,30}?\b(?:provided|given|to summari[sz]e)"
    r"|(?:Please|Could you|Can you) (?:please )?(?:provide|share|paste"
    r"|send)\b.{0,40}?\b(?:conversation"
    r"|transcript|text|messages|content)"
    r"|It (?:looks|seems|appears) (?:like |that |as if )?(?:you|the|there)\b.{0,40}?"
    r"(?:\bnot\b|n't\b|\bno\b|\bforgot\b|\bempty\b|\bmissing\b).{0,40}?"
    r"\b(?:provide|include|paste|share|transcript|conversation|text|message)"
    r"|No (?:conversation|transcript|text|messages|content) (?:was|were|is"
    r"|has been)? ?(?:provided|given)"
    r"|(?:Es tut mir (?:sehr )?leid|Entschuldigung).{0,40}\bkann\b|(?:Désolée?"
    r"|Je suis désolée?)\b.{0,40}\bpeux\b"
    r"|Je ne peux pas\b.{0,30}\b(?:aider|résumer|répondre)|Lo siento\b.{0,40}\bpuedo\b"
    r"|Mi dispiace\b.{0,40}\bposso\b"
    r"|(?:很|非常)?(?:抱歉|对不起|對不起).{0,12}(?:无法|無法|不能)|申し訳(?:ありません|ございません)|죄송(?:합니다|하지만))",
    re.IGNORECASE | re.DOTALL,
)


def checked_earlier(given: object) -> str | None:
    """Return an earlier summary as a caller gave it; None if it says nothing.

    Raises:
        InvalidInputError: It is no text.
    """
    if given is not None and not isinstance(given, str):
        raise InvalidInputError(f"previous: expected a text, found {given!r:.80}")
    return given or None


def checked_wish(name: str, given: object) -> str | None:
    """Return instructions or a focus as a caller gave them; None if they say nothing.

    Raises:
        InvalidInputError: They are no text, or too long.
    """
    if given is None:
        return None
    if not isinstance(given, str) or len(given) > LONGEST_WISH:
        raise InvalidInputError(
            f"{name}: expected a text of at most {LONGEST_WISH} characters, found {given!r:.80}"
        )
    return given.strip() or None


def checked_text(answer: object) -> str:
    """Return what a summarizer wrote, if it can be a summary.

    Args:
        answer: What it returned.

    Returns:
        The text as it is.

    Raises:
        SummaryRefused: It is no text, says nothing, is an error's text or body, a refusal, or JSON.
    """
    if not isinstance(answer, str):
        raise SummaryRefused("not_text", f"it is no text but {type(answer).__name__}")
    if not any(sign.isalnum() for sign in answer):
        raise SummaryRefused("empty", "it says nothing")
    head = answer[: 4 * _PREFACE].replace("’", "'").lstrip("\ufeff\u200b")
    if _is_error(head, len(answer)):
        raise SummaryRefused("error", f"it is an error's text: {_brief(answer)}")
    if len(answer) <= _PREFACE and _REFUSAL.match(head):
        raise SummaryRefused("refusal", f"the model refused: {_brief(answer)}")
    if is_structured(answer):
        raise SummaryRefused("json", f"it is data and not prose: {_brief(answer)}")
    return answer


def _is_error(head: str, length: int) -> bool:
    if _MARKUP.match(head):
        return True
    if _BODY.match(head):
        return _is_body(head)
    if _STARTS_LOW.match(head):
        return True
    found = _ERROR.match(head)
    if found is None:
        return False
    rest = head[found.end() :]
    return length <= found.end() + _TAIL or re.match(r"\s*[-:–—]?\s*[{<\[(]", rest) is not None  # noqa: RUF001


def _is_body(head: str) -> bool:
    """Tell whether JSON is an error's: it has a field for one, or cannot be read to its end."""
    plain = head.strip().removeprefix("```json").removeprefix("```").strip().removesuffix("```")
    try:
        body = json.loads(plain)
    except (ValueError, RecursionError):
        return re.match(r"(?:\[\s*)?[{\[]\s*[\"'](?:error|errors|fault)[\"']", plain) is not None
    one = body[0] if isinstance(body, list) and body else body
    if not isinstance(one, dict):
        return False
    if _ERROR_FIELDS & {str(name).casefold() for name in one}:
        return True
    said = one.get("status", one.get("statusCode", one.get("code", one.get("type", ""))))
    failed = str(said).casefold()
    return failed in {"error", "failed", "failure"} or bool(re.fullmatch(r"[45]\d\d", failed))


def _brief(text: str) -> str:
    line = " ".join(text[: 4 * _TAIL].split())
    return line if len(line) <= _TAIL else f"{line[:_TAIL]}…"
