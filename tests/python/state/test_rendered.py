"""How the front of a list is recognised as a window: by hashes alone, without a store."""

from __future__ import annotations

from warmset.state.rendered import WINDOWS, LastWindows, Recognised, Rendered, Shown


def turn(id_):
    return Shown(b"%d" % id_, id_)


def ours(name, until):
    return Shown(name, until, ours=True)


def marks(*found):
    return [one if isinstance(one, bytes) else b"%d" % one for one in found]


BLOCK = b"block"
WINDOW = Rendered([turn(1), turn(2), ours(BLOCK, 7), turn(8), turn(9)])


def recognised(*found, window=WINDOW):
    return window.recognise(marks(*found))


def test_a_whole_window_stands_for_all_turns():
    assert recognised(1, 2, BLOCK, 8, 9) == Recognised(5, 9)
    assert recognised(1, 2, BLOCK, 8, 9, b"new", 1) == Recognised(5, 9)


def test_a_front_stands_for_what_comes_before_the_next_turn():
    assert recognised(1) == recognised(1, b"new") == Recognised(1, 1)
    assert recognised(1, 2, BLOCK) == Recognised(3, 7)
    assert recognised(1, 2, BLOCK, b"new", 9) == Recognised(3, 7)
    assert recognised(1, 2, BLOCK, 8, b"new") == Recognised(4, 8)
    assert recognised(1, 2, BLOCK, 8, b"new", BLOCK, 9) == Recognised(4, 8)
    assert recognised(b"new") is None
    assert recognised() is None
    assert Rendered().recognise([]) is Rendered().recognise(marks(1)) is None


def test_what_is_ours_may_be_missing():
    assert recognised(1, 2, 8, 9) == Recognised(4, 9)
    assert recognised(1, 2, b"new") == Recognised(2, 2)


def test_turns_before_the_first_block_may_be_edited():
    assert recognised(b"new", 2, BLOCK, 8, 9) == Recognised(5, 9, (0, 2), 0, 2)
    assert recognised(1, b"new", b"more", BLOCK, 8) == Recognised(5, 8, (1, 3), 1, 2)
    assert recognised(BLOCK, 8, 9) == Recognised(3, 9, (0, 0), 0, 2)


def test_a_message_whose_turns_are_unknown_ends_nothing():
    window = Rendered([Shown(b"a", None), Shown(b"b", None), Shown(b"c", 9, request="Why?")])
    assert recognised(b"a", b"b", b"c", b"new", window=window) == Recognised(3, 9, request="Why?")
    assert recognised(b"a", b"b", b"new", window=window) is None


def test_a_prompt_beside_the_messages_is_no_mark():
    prompt = Shown(b"kind", 0, ours=True, beside=True)
    window = Rendered([prompt, turn(1), turn(8)])
    assert recognised(b"kind", 1, 8, window=window) == Recognised(3, 8)
    assert recognised(b"new", b"kind", 1, 8, window=window) is None
    held = LastWindows()
    held.add(Rendered([prompt, *WINDOW]))
    assert held.ours() == {BLOCK}


def test_the_window_that_accounts_for_most_of_a_list_counts():
    held = LastWindows()
    held.add(WINDOW)
    held.add(Rendered([turn(1), turn(9)]))
    assert held.recognise(marks(1, 2, 8, 9), 2) == Recognised(4, 9)
    assert held.recognise(marks(1, 9), 1) == Recognised(2, 9)
    assert held.recognise(marks(1, 9), 2) is None


def test_a_window_is_held_for_as_long_as_it_is_used():
    held = LastWindows()
    held.add(lambda: WINDOW)
    for step in range(10, 10 + 3 * WINDOWS):
        for again in range(2):
            held.add(Rendered([turn(step), turn(step + again)]))
        assert held.recognise(marks(1, 2, BLOCK, 8), 2) == Recognised(4, 8)
    for step in range(WINDOWS):
        assert held.recognise(marks(1, 2, BLOCK), 2) == (None if step else Recognised(3, 7))
        for number in range(WINDOWS):
            held.add(Rendered([turn(100 + number)]))


def test_the_same_window_takes_one_place():
    held = LastWindows()
    held.add(WINDOW)
    for _ in range(2 * WINDOWS):
        held.add(Rendered([turn(1), turn(5)]))
    assert held.recognise(marks(1, 2, BLOCK), 2) == Recognised(3, 7)


def test_windows_that_turn_out_to_be_the_same_take_one_place():
    held = LastWindows()
    held.add(WINDOW)
    for number in range(WINDOWS - 2):
        held.add(lambda number=number: Rendered([turn(1), turn(5 + number % 2)]))
    assert held.recognise(marks(1, 9), 1) is None  # which reads them
    for number in range(WINDOWS - 3):
        held.add(Rendered([turn(100 + number)]))
    assert held.recognise(marks(1, 2, BLOCK), 2) == Recognised(3, 7)
