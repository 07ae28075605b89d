"""A generated conversation before it is written in a dialect: a list of scenes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from warmset.testing.material import Call, Dice


@dataclass(frozen=True, slots=True)
class Scene:
    """A scene of a conversation.

    Args:
        what: "system", "user", "say" (a text of the assistant), "step" (the assistant calls tools),
            "orphan" (a result without a call).
        text: The text; may be empty for a step.
        calls: The calls of a step.
        answered: The calls that get a result, in the order of the results.
        results: The texts of the results, one for each of `answered`.
        reasoning: What the model thought before, if it did.
        image: Whether a picture comes with it.
        extra: A user's text that is sent with the results, if the dialect allows it.
    """

    what: Literal["system", "user", "instruct", "say", "step", "orphan"]
    text: str = ""
    calls: list[Call] = field(default_factory=list)
    answered: list[Call] = field(default_factory=list)
    results: list[str] = field(default_factory=list)
    reasoning: str | None = None
    image: bool = False
    extra: str | None = None


def write_script(dice: Dice, *, exchanges: int, orphans: bool) -> list[Scene]:
    """Generate the scenes of a conversation.

    Args:
        dice: The source of randomness.
        exchanges: The number of user requests.
        orphans: Whether there may be results without calls, and calls without results, in its
            middle; providers reject such lists.

    Returns:
        The scenes, in order. It may end with a request, an answer, results, or open calls.
    """
    scenes: list[Scene] = []
    if dice.chance(0.6):
        scenes.append(Scene("system", dice.text()))
    for number in range(exchanges):
        last = number == exchanges - 1
        scenes.append(Scene("user", dice.text(), image=dice.chance(0.1)))
        if dice.chance(0.08):
            scenes.append(Scene("instruct", dice.text()))
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
