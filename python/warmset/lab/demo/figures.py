"""Everything that a demo shows, as data: rendered by `show`, or printed as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warmset.lab.corpus.transcript import Question
    from warmset.lab.demo.compare import Method
    from warmset.lab.demo.picture import Picture


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What was measured.

    Args:
        name: The conversation.
        kind: What kind of transcript it is.
        messages: How many it has.
        tokens: What sending all of them costs.
        embedder: The embedder's name, or "lexical".
        budget: The most tokens of a window.
        questions: The questions that were compared; none where no evidence is known.
        evidence: Ids of the evidence of each.
        methods: How each method did, the full conversation first.
        pictures: Windows taken apart.
        seconds: What each stage took.
        notes: What was left out.
    """

    name: str
    kind: str
    messages: int
    tokens: int
    embedder: str
    budget: int
    questions: Sequence[Question]
    evidence: Sequence[Sequence[int]]
    methods: Sequence[Method]
    pictures: Sequence[Picture]
    seconds: Mapping[str, float]
    notes: Sequence[str]

    @property
    def several(self) -> bool:
        """Whether a question needs more than one message, so that half an answer is possible."""
        return any(len(ids) > 1 for ids in self.evidence)

    def share(self, method: Method) -> float:
        """Return what a method's windows cost, as a part of what sending everything costs."""
        return method.tokens / self.methods[0].tokens

    def as_json(self) -> dict[str, Any]:
        """Return the figures as JSON has them; times in ISO 8601, ids as the store gave them."""
        return {
            "conversation": {
                "name": self.name,
                "kind": self.kind,
                "messages": self.messages,
                "tokens": self.tokens,
            },
            "embedder": self.embedder,
            "budget": self.budget,
            "methods": [
                {
                    "name": method.name,
                    "tokens": round(method.tokens, 1),
                    "share": round(self.share(method), 4),
                    "found": method.found,
                    "asked": len(method.outcomes),
                    "recall": round(method.recall, 4),
                }
                for method in self.methods
            ],
            "questions": [
                {
                    "question": question.text,
                    "evidence": list(ids),
                    "methods": {
                        method.name: {
                            "tokens": method.outcomes[at].tokens,
                            "found": method.outcomes[at].found,
                            "recall": round(method.outcomes[at].recall, 4),
                        }
                        for method in self.methods
                    },
                }
                for at, (question, ids) in enumerate(
                    zip(self.questions, self.evidence, strict=True)
                )
            ],
            "windows": [_picture(picture) for picture in self.pictures],
            "seconds": {stage: round(value, 3) for stage, value in self.seconds.items()},
            "notes": list(self.notes),
        }


def _picture(picture: Picture) -> dict[str, Any]:
    return {
        "query": picture.query,
        "tokens": picture.tokens,
        "budget": picture.budget,
        "full": picture.full,
        "picker": None if picture.picker is None else asdict(picture.picker),
        "net_saved": picture.net_saved,
        "found": picture.found,
        "parts": [
            {
                "name": part.name,
                "tokens": part.tokens,
                "ids": list(part.ids),
                "head": part.head,
            }
            for part in picture.parts
        ],
        "picked": [
            {
                "id": pick.id,
                "at": pick.at.isoformat(),
                "who": pick.who,
                "score": None if pick.score is None else round(pick.score, 4),
                "terms": pick.terms,
                "head": pick.head,
                "evidence": pick.evidence,
            }
            for pick in picture.picks
        ],
        "notes": list(picture.notes),
    }
