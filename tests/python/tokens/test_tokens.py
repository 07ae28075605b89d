"""Counts equal the reference's on texts of every kind, and no input is a trap."""

# ruff: noqa: RUF001 - letters that look like others are what is tested

from __future__ import annotations

import inspect
import json
import random
import sys
import unicodedata

import pytest
import rs_bpe

from warmset._core import count_text, count_texts
from warmset.errors import InvalidInputError

ENCODINGS = {
    "o200k_base": rs_bpe.openai.o200k_base(),
    "cl100k_base": rs_bpe.openai.cl100k_base(),
}

SENTENCES = [
    "The pool ran out of connections because every worker kept one open during the call.",
    "I'll say he'd DON'T they've WE'LL it's O'Brien's rock 'n' roll ’tis ’LL ſ'S 's't",
    "Die Besprechung wurde auf nächsten Dienstag verschoben; Straße, Größe, GROẞE, ĲSSEL.",
    "Встреча перенесена на следующий вторник, материалы пришлите до пятницы.",
    "会議は来週の火曜日に延期されました。資料は金曜日までに送ってください。ﾃｽﾄ　全角",
    "数据库连接池的大小从二十改为十二，因为最大连接数只有八十。𠜎𠜱𠝹",
    "회의는 다음 주 화요일로 연기되었습니다. 자료는 금요일까지 보내 주세요. 각",
    "تم تأجيل الاجتماع إلى يوم الثلاثاء المقبل، يرجى إرسال المواد قبل الجمعة. ١٢٣٤",
    "הפגישה נדחתה ליום שלישי הבא. שָׁלוֹם",
    "बैठक अगले मंगलवार तक स्थगित कर दी गई है। क्षत्रिय १२३",
    "การประชุมถูกเลื่อนไปเป็นวันอังคารหน้า กรุณาส่งเอกสาร",
    "Η συνάντηση μεταφέρθηκε για την επόμενη Τρίτη. ΌΔΟΣ ὀδός",
    "கூட்டம் அடுத்த செவ்வாய்க்கிழமைக்கு ஒத்திவைக்கப்பட்டது. ປະຊຸມ ပြောင်း ប្រជុំ",
    'fn main() { let x = vec![1, 2, 3]; println!("{:?}", x.iter().sum::<i32>()); } // ok',
    "SELECT * FROM t WHERE a >= 10 AND b LIKE '%x_%'; -- \\n\tUPDATE t SET c=NULL",
    '{"key": [1.5e-10, null, true], "path": "C:\\\\Users\\\\x", "url": "https://a.b/c?d=e&f#g"}',
    "def f(self, *args, **kwargs) -> dict[str, Any]:\n        return {**self.__dict__, **kwargs}\n",
    "ǅungla ǈ ʰ ª º Ⅷ ① ½ ² ﷽ ﬁ Å Å e\u0301\u0323 n\u0303 ा",
    "👨‍👩‍👧‍👦 👩🏽‍💻 🏳️‍🌈 🇩🇪🇯🇵 1️⃣ ☎️ 😀😃 ❤️‍🔥 \U0001f9d1\U0001f3ff\u200d\U0001f680",
]  # fmt: skip
PIECES = [
    *" \t\n\r\v\f\0\x01\x1f\x7f\x85\xa0\xad\u1680\u2003\u2028\u2029\u202e\u3000\ufeff\u200b\u200d",
    *"0123456789.,;:!?'’\"()[]{}<>|/\\_-+=*&^%$#@~`",
    *"aAzZßſıİÅéЖα中あ아क\u0301\u0323\ufe0f\U0001f600\U0001f1e9\U0010ffff\ue000\uffff",
    "'s", "'ll", "'RE", "  ", "   ", "\r\n", "\n\n", " \n", "\t\t", "://", "==", "->", "...",
    "the", " and", "ING", "Hello", "helloWorld", "XMLHttpRequest", "snake_case", " 12", "3.14",
]  # fmt: skip
SPECIAL = ["<|endoftext|>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>",
           "<|endofprompt|>", "<|im_start|>", "<|im_end|>", "<|start|>", "<|return|>"]  # fmt: skip


def texts():
    """More than 2,500 texts of many kinds, the same at each run."""
    rng = random.Random(1)
    anywhere = [chr(c) for c in range(sys.maxunicode + 1) if not 0xD800 <= c <= 0xDFFF]
    letters = [c for c in anywhere[:70_000] if unicodedata.category(c) in {"Lu", "Ll", "Lt", "Lo"}]
    code = inspect.getsource(json.decoder) + inspect.getsource(random)
    yield from ["", *SENTENCES, *PIECES, *SPECIAL, code]
    for _ in range(900):
        yield "".join(rng.choices(PIECES, k=rng.randrange(1, 60)))
    for _ in range(500):
        words = " ".join(rng.choices(SENTENCES, k=2)).split(" ")
        rng.shuffle(words)
        yield rng.choice([" ", "  ", "\n", "\t", ""]).join(words[: rng.randrange(1, 40)])
    for _ in range(300):
        start = rng.randrange(len(code))
        yield code[start : start + rng.randrange(1, 400)]
    for _ in range(250):
        yield "".join(rng.choices(anywhere, k=rng.randrange(1, 30)))
    for _ in range(150):
        yield "".join(rng.choices(letters, k=rng.randrange(1, 30)))
    for _ in range(150):
        yield "".join(rng.choice(PIECES) * rng.randrange(1, 90) for _ in range(4))
    for _ in range(100):
        yield "".join(rng.choices("0123456789", k=rng.randrange(1, 200)))
    for _ in range(100):
        yield "".join(rng.choices("abcdeXYZ", k=rng.randrange(100, 3000)))
    for _ in range(150):
        yield "".join(rng.choice([*SPECIAL, *PIECES]) for _ in range(8))


def spaced():
    """Long texts of a few signs, white space outside of ASCII among them."""
    rng = random.Random(3)
    signs = [*" \u00a0\u3000\u2028\u0085\n\r\t", "\r\n", "a", "don't", "!", "/", "9", "é", "中"]
    for _ in range(80):
        yield "".join(rng.choices(rng.choices(signs, k=4), k=rng.randrange(500, 3000)))


ALL = [*texts(), *spaced()]


def test_there_are_enough_texts():
    assert len(ALL) >= 2_500
    assert len(set(ALL)) > 2_400


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_counts_are_the_references(encoding):
    reference = ENCODINGS[encoding]
    expected = [len(reference.encode(text)) for text in ALL]
    assert [count_text(text, encoding) for text in ALL] == [(n, True) for n in expected]
    assert count_texts(ALL, encoding) == expected


def test_the_vocabularies_are_two():
    counts = [count_texts(ALL, encoding) for encoding in ENCODINGS]
    assert sum(a != b for a, b in zip(*counts, strict=True)) > 500
    assert count_text(SENTENCES[0]) == count_text(SENTENCES[0], "o200k_base")


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("special", SPECIAL)
def test_a_control_token_in_a_text_is_text(special, encoding):
    """Nothing that a user types may act, so each is several tokens, alone or between words."""
    alone, exact = count_text(special, encoding)
    assert exact
    assert alone > 2
    assert alone == len(ENCODINGS[encoding].encode(special))
    assert count_text(f"a {special} b", encoding)[0] > alone


@pytest.mark.parametrize("encoding", [*ENCODINGS, "estimate"])
@pytest.mark.parametrize("lone", ["\ud800", "\udfff x", "a\ud83d b", "\ude00\ud83d"], ids=ascii)
def test_a_lone_surrogate_counts_as_a_replacement_and_is_not_exact(lone, encoding):
    replaced = "".join("\ufffd" if 0xD800 <= ord(c) <= 0xDFFF else c for c in lone)
    count, exact = count_text(lone, encoding)
    assert not exact
    assert count >= count_text(replaced, encoding)[0] > 0
    assert count_texts([lone, "x"], encoding) == [count, count_text("x", encoding)[0]]


TRAPS = {
    "one letter": "a", "spaces": " ", "newlines": "\n", "digits": "7", "ideographs": "中",
    "marks": "\u0301", "emoji": "😀", "two letters": "ab", "spaces and newlines": " \n",
    "contractions": "'s", "slashes": "/", "NUL": "\0", "no-break spaces": "\u00a0\u00a0x",
    "wide spaces": "! \u3000a", "broken lines": "!\n\u3000\u00a0",
}  # fmt: skip


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("unit", TRAPS.values(), ids=TRAPS)
def test_a_megabyte_of_one_thing_is_no_trap(unit, encoding):
    """A quadratic walk would take hours."""
    text = unit * (1_000_000 // len(unit.encode()))
    count, exact = count_text(text, encoding)
    assert (count, exact) == (ENCODINGS[encoding].count(text), True)


def test_a_megabyte_of_random_letters_is_no_trap():
    text = "".join(random.Random(2).choices("abcdefghijklmnopqrstuvwxyz", k=1_000_000))
    for encoding, reference in ENCODINGS.items():
        assert count_text(text, encoding)[0] == reference.count(text)


def test_an_estimate_says_that_it_is_one():
    for text in ALL:
        count, exact = count_text(text, "estimate")
        assert not exact
        assert count >= 0
    assert count_text("", "estimate") == (0, False)
    assert 166_667 <= count_text("a" * 1_000_000, "estimate")[0] <= 500_000
    assert count_texts(ALL, "estimate") == [count_text(text, "estimate")[0] for text in ALL]


@pytest.mark.parametrize("name", ["p50k_base", "", "O200K_BASE", "gpt-4o"])
def test_an_unknown_vocabulary_is_refused_with_the_list(name):
    for use in (lambda: count_text("x", name), lambda: count_texts([], name)):
        with pytest.raises(InvalidInputError, match="o200k_base, cl100k_base, estimate"):
            use()


@pytest.mark.parametrize("text", [b"x", None, 3, ["x"]], ids=repr)
def test_only_texts_are_counted(text):
    with pytest.raises(TypeError):
        count_text(text)
    with pytest.raises(TypeError):
        count_texts([text])


def test_no_texts_have_no_counts():
    assert count_texts([]) == []
