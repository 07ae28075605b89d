"""Facts to plant: each in two wordings that share every number, path and name."""

from __future__ import annotations

import random

NAMES = (
    "Olga Brandt",
    "Keiji Mori",
    "Tamsin Reed",
    "Lucio Ferri",
    "Irene Duarte",
    "Bohdan Sova",
    "Priya Nair",
    "Magnus Holt",
)
PLACES = ("Tallinn", "Porto", "Leeds", "Graz", "Bergen", "Sibiu", "Nantes", "Kyoto")
FILES = ("config/limits.toml", "src/intake.py", "deploy/hosts.yml", "docs/plan.md")

WORDINGS = (
    (
        "The staging database listens on port {n} of host {file}.",
        "Staging's database, host {file}, is reached through port {n}.",
    ),
    (
        "{name} approved a budget of {n} euros for the new greenhouse.",
        "For the new greenhouse a sum of {n} euros was granted by {name}.",
    ),
    (
        "The retry limit in {file} has been raised to {n} attempts.",
        "{file} now permits {n} attempts before it gives up.",
    ),
    (
        "{name} flies to {place} on flight {n} with the prototype.",
        "The prototype travels on flight {n} to {place} with {name}.",
    ),
    (
        "The backup of the ledger weighs {n} gigabytes and lies in {place}.",
        "In {place} there is a backup of the ledger of {n} gigabytes.",
    ),
    (
        "{name} is allergic to walnuts and carries {n} capsules along.",
        "Walnuts make {name} ill, who has {n} capsules at hand.",
    ),
    (
        "The lease of the workshop in {place} ends after {n} days.",
        "After {n} days there is no more lease for the workshop in {place}.",
    ),
    (
        "The password policy of {file} asks for {n} characters.",
        "According to {file} a password must have {n} characters.",
    ),
    (
        "{name} counted {n} herons at the estuary near {place}.",
        "Near {place}, at the estuary, {n} herons were seen by {name}.",
    ),
    (
        "The pump in hall {n} was last serviced by {name}.",
        "It was {name} who last looked after the pump of hall {n}.",
    ),
    (
        "We have not paid invoice {n} from {place} so far.",
        "Nobody has settled invoice {n} that came from {place}.",
    ),
    (
        "The telescope of {name} has a mirror of {n} millimetres.",
        "{name} owns a telescope whose mirror measures {n} millimetres.",
    ),
    (
        "Our choir in {place} rehearses piece number {n} this spring.",
        "This spring piece number {n} is what the choir in {place} practises.",
    ),
    (
        "The importer in {file} skips rows beyond line {n}.",
        "Rows past line {n} are ignored by the importer in {file}.",
    ),
    (
        "{name} bought {n} kilos of clay for the pottery class.",
        "For the pottery class {n} kilos of clay were acquired by {name}.",
    ),
    (
        "The ferry to {place} takes {n} minutes in calm weather.",
        "With calm weather one reaches {place} by ferry within {n} minutes.",
    ),
)


def planted(kinds: tuple[str, ...], each: int, seed: int) -> list[dict[str, str]]:
    """Make facts of each kind.

    Args:
        kinds: The kinds.
        each: Facts of each kind.
        seed: For the values.

    Returns:
        For each fact its kind, the statement that is planted, another wording of it, and a
        look-alike: the same sentence with another number.
    """
    rng = random.Random(seed)  # noqa: S311 - not for secrets
    numbers = rng.sample(range(1_100, 9_900), 2 * each * len(kinds))
    out: list[dict[str, str]] = []
    for at in range(each * len(kinds)):
        said, other = WORDINGS[at // len(kinds) % len(WORDINGS)]
        slots = {
            "name": rng.choice(NAMES),
            "place": rng.choice(PLACES),
            "file": rng.choice(FILES),
            "n": numbers[2 * at],
        }
        out.append(
            {
                "kind": kinds[at % len(kinds)],
                "said": said.format(**slots),
                "other": other.format(**slots),
                "alike": said.format(**(slots | {"n": numbers[2 * at + 1]})),
            }
        )
    rng.shuffle(out)
    return out
