"""A made-up conversation before it is written in a dialect: who does what, in order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from warmset.testing.material import Call, Dice


@dataclass(frozen=True, slots=True)
class Scene:
    """One thing that happens.

    Args:
        what: "system", "user", "say" (a text of the assistant), "step" (the assistant calls tools),
            "orphan" (a result without a call).
        text: What is said; may be empty for a step.
        calls: The calls of a step.
        answered: The calls that get a result, in the order of the results.
        results: What the results say, one for each of `answered`.
        reasoning: What the model thought before, if it did.
        image: Whether a picture comes with it.
        extra: A user's text that comes with the results, where the dialect has that.
    """

    what: Literal["system", "user", "say", "step", "orphan"]
    text: str = ""
    calls: list[Call] = field(default_factory=list)
    answered: list[Call] = field(default_factory=list)
    results: list[str] = field(default_factory=list)
    reasoning: str | None = None
    image: bool = False
    extra: str | None = None


def write_script(dice: Dice, *, exchanges: int, orphans: bool) -> list[Scene]:
    """Make a conversation up.

    Args:
        dice: Where chance comes from.
        exchanges: How often a user asks something.
        orphans: Whether there may be results without calls, and calls without results, in its
            middle; providers refuse such lists.

    Returns:
        What happens, in order. It may end with a request, an answer, results, or open calls.
    """
    scenes: list[Scene] = []
    if dice.chance(0.6):
        scenes.append(Scene("system", dice.text()))
    for number in range(exchanges):
        last = number == exchanges - 1
        scenes.append(Scene("user", dice.text(), image=dice.chance(0.1)))
        if last and dice.chance(0.5):
            break
        for _ in range(dice.rng.choice((0, 0, 1, 1, 2, 4))):
            scenes.append(_step(dice, whole=not (orphans and dice.chance(0.2))))
            if orphans and dice.chance(0.15):
                scenes.append(Scene("orphan", calls=dice.calls()[:1], results=[dice.text()]))
        if last and dice.chance(0.4):
            if dice.chance(0.5):
                scenes.append(_step(dice, whole=False))
            break
        scenes.append(Scene("say", dice.text(), reasoning=_thought(dice)))
    return scenes


def _step(dice: Dice, *, whole: bool) -> Scene:
    calls = dice.calls()
    answered = dice.shuffled(calls)
    if not whole:
        answered = answered[: dice.rng.randrange(len(calls))]
    return Scene(
        "step",
        dice.text() if dice.chance(0.4) else "",
        calls,
        answered,
        [dice.text() for _ in answered],
        _thought(dice),
        dice.chance(0.05),
        dice.text() if whole and dice.chance(0.1) else None,
    )


def _thought(dice: Dice) -> str | None:
    return dice.text() if dice.chance(0.25) else None
