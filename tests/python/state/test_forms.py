"""Canonical forms of stored messages, also where some are erased while they are read."""

from __future__ import annotations

import pytest

from warmset.errors import Erased, NotFound
from warmset.messages.canonical import form_of
from warmset.state.forms import StoredForms

MESSAGES = [{"role": "user", "content": f"message {id_}"} for id_ in range(9)]
FORMS = list(map(form_of, MESSAGES))


@pytest.mark.parametrize("error", [Erased, NotFound])
@pytest.mark.parametrize("gone", range(9))
def test_a_message_that_is_erased_while_it_is_read_is_like_none_and_the_others_are(error, gone):
    def read(ids):
        if gone in ids:
            raise error("it is gone")
        return [MESSAGES[id_] for id_ in ids]

    forms = StoredForms()
    for _ in range(2):
        found = [forms.get(id_, range(9), read) for id_ in range(9)]
        assert found[:gone] == FORMS[:gone]
        assert found[gone] not in FORMS
        assert found[gone + 1 :] == FORMS[gone + 1 :]


def test_more_and_more_messages_are_read_at_once_and_each_once():
    asked = []

    def read(ids):
        asked.append(list(ids))
        return [MESSAGES[id_] for id_ in ids]

    forms = StoredForms()
    for id_ in range(9):
        assert forms.get(id_, range(9), read) == FORMS[id_]
    assert asked == [[0], [1, 2], [3, 4, 5, 6], [7, 8]]
