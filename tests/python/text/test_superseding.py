"""Whether one decision takes the place of another: by subject, number, and what it replaces."""

from __future__ import annotations

import pytest

from warmset.text.superseding import Open, topics_of


def supersedes(later, earlier, *, by="user", of="user"):
    known = Open()
    known.add(1, topics_of(earlier), asked=of == "user")
    known.add(2, topics_of(later), asked=by == "user")
    return known.gone == {1}


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("The port must be 8080.", "The port must be 9090."),
        ("We decided that the timeout is 30 seconds.", "The timeout should be 60 s, final."),
        ("The retention period of logs must be 30 days.", "Logs: the retention period must be 90."),
        ("Retention must be 30 days.", "Retention must be 12 weeks."),
        ("We should deploy on Fridays.", "We should not deploy on Fridays any longer."),
        ("We agreed: the label stays red.", "We agreed, the label stays red."),
        (
            "We decided to use Postgres for orders.",
            "We will use MySQL instead of Postgres for orders.",
        ),
        ("We chose Postgres.", "Decided: we switch from Postgres to MySQL."),
        ("Let's go with the red paint.", "We agreed to drop the red paint."),
        ("Decided: the port of kale is 8080.", "Decided: the port of kale is 8081 now."),
        ("The port must be 8080.", "The port must be changed to 9090."),
        ("The limit should be 5 %.", "The limit must be 7%."),
        ("The key must be KA1234567.", "The key must be FE7654321."),
    ],
)
def test_a_later_decision_takes_the_place(earlier, later):
    assert supersedes(later, earlier)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("The port of kale must be 8080.", "The port of fern must be 9090."),
        ("The port must be 8080.", "The port must be open."),
        ("The port must be 8080.", "The timeout must be 9090."),
        ("Kale 2 must use port 8080.", "Kale 3 must use port 8081."),
        (
            "Decided in meeting 2: the harbour pays for item 2.",
            "Decided in meeting 4: the harbour pays for item 4.",
        ),
        ("The port must be 8080.", "Should the port be 9090?"),
        ("The port must be 8080.", "Maybe the port should be 9090."),
        ("The port must be 8080.", "If it rains the port must be 9090."),
        (
            "We agreed that the Postgres backups must run nightly at two.",
            "We chose MySQL instead of Postgres.",
        ),
        (
            "We decided to use Postgres for orders.",
            "We will use Postgres instead of MySQL for invoices.",
        ),
        ("We chose Postgres.", "We chose MySQL."),
        ("Decided in meeting 2: the harbour pays.", "Decided in meeting 4: the harbour pays."),
        ("We must fix ticket 12.", "We must fix ticket 13."),
        ("Let's go with 8080 for kale 2.", "Let's go with 8080 for kale 3."),
        ("The gate of 2 must be 2.", "The gate of 2 must be 3."),
        ("The gate of 2 must be 2.", "The gate of 3 must be 3."),
        ("We must hurry.", "You must hurry."),
        ("We agreed.", "We agreed."),
        ("Decided: Tuesday.", "Decided: Wednesday."),
        ("The label must be red. The port must be 8080.", "The port must be 9090."),
    ],
)
def test_another_decision_does_not(earlier, later):
    assert not supersedes(later, earlier)


def test_all_that_a_message_decides_has_to_be_changed():
    known = Open()
    known.add(1, topics_of("The label text must be red. The port must be 8080."), asked=True)
    for number, port in ((2, 9090), (3, 7070)):
        known.add(number, topics_of(f"The port must be {port}."), asked=True)
        assert 1 not in known.gone
    known.add(4, topics_of("The label text must be blue instead of red."), asked=True)
    assert known.gone == {1, 2}


def test_what_a_person_decided_only_a_person_changes():
    earlier, later = "The port must be 8080.", "The port must be 9090."
    assert not supersedes(later, earlier, by="assistant", of="user")
    assert supersedes(later, earlier, by="user", of="assistant")
    assert supersedes(later, earlier, by="assistant", of="assistant")


def test_a_message_that_says_nothing_decides_nothing():
    assert topics_of("") == ()
    known = Open()
    known.add(1, (), asked=True)
    known.add(2, (), asked=True)
    assert not known.gone


def test_a_text_without_words_of_decision_is_read_whole():
    # a callable said that it decides something
    assert supersedes("The port is 9090.", "The port is 8080.")


def test_curly_apostrophes_and_long_texts():
    assert supersedes("We don't deploy on Friday nights.", "We don’t deploy on Friday nights.")
    assert topics_of("x" * 30_000 + " The port must be 8080.") == topics_of("x" * 30_000)
