"""Images are counted by size, by each provider's published formula and its published examples."""

from __future__ import annotations

import base64
import struct

import pytest
from hypothesis import given, strategies as st

from warmset import count_tokens
from warmset.tokens import PER_IMAGE, image_size, image_tokens, message_tokens
from warmset.tokens.images import _FORMULAS, _fitted


def png(width, height):
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height) + b"\x08\2\0\0\0"


def gif(width, height):
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\0\0\0"


def jpeg(width, height, *, before=40):
    segment = b"\xff\xe1" + struct.pack(">H", before + 2) + b"x" * before
    table = b"\xff\xc4" + struct.pack(">H", 4) + b"\0\0"
    frame = b"\xff\xc2" + struct.pack(">HBHHB", 11, 8, height, width, 1) + b"\1\x11\0"
    return b"\xff\xd8" + segment + b"\xff" + table + frame + b"\xff\xda\0\2"


def webp(kind, body):
    return b"RIFF\0\0\0\0WEBP" + kind + b"\0\0\0\0" + body + b"\0" * 12


def webp_lossy(width, height):
    return webp(b"VP8 ", b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", width, height))


def webp_lossless(width, height):
    return webp(b"VP8L", b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14))


def webp_extended(width, height):
    small = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return webp(b"VP8X", b"\0\0\0\0" + small)


FORMATS = [png, gif, jpeg, webp_lossy, webp_lossless, webp_extended]


def b64(data):
    return base64.b64encode(data).decode()


@pytest.mark.parametrize("make", FORMATS)
@given(st.integers(1, 16_000), st.integers(1, 16_000))
def test_a_size_is_read_from_the_header(make, width, height):
    data = make(width, height)
    assert image_size(b64(data)) == (width, height)
    assert image_size(base64.urlsafe_b64encode(data).decode().rstrip("=")) == (width, height)
    assert image_size(base64.encodebytes(data + b"\0" * 300).decode()) == (width, height)


def test_a_jpeg_may_hold_a_profile_before_its_size():
    assert image_size(b64(jpeg(640, 480, before=60_000))) == (640, 480)


@pytest.mark.parametrize("make", FORMATS)
def test_half_a_header_tells_nothing(make):
    data = make(640, 480)
    for end in range(len(data)):
        assert image_size(b64(data[:end])) in {None, (640, 480)}


@given(st.binary(max_size=80) | st.sampled_from([make(7, 5) for make in FORMATS]), st.binary())
def test_no_data_is_a_trap(head, rest):
    found = image_size(b64(head + rest))
    assert found is None or min(found) > 0


@pytest.mark.parametrize("text", ["", "no base64!", "\ud800", "AAAA", "é" * 80, "/9j/", "iVBORw0K"])
def test_no_text_is_a_trap(text):
    assert image_size(text) is None


@pytest.mark.parametrize(
    ("model", "size", "detail", "tokens"),
    [
        # developers.openai.com/api/docs/guides/images-vision
        ("gpt-4o", (1024, 1024), "high", 765),
        ("gpt-4o", (2048, 4096), "high", 1105),
        ("gpt-4o", (4096, 8192), "low", 85),
        ("gpt-4o", (512, 512), "auto", 255),
        ("gpt-4o-mini", (1024, 1024), "high", 2833 + 4 * 5667),
        ("gpt-4o-mini", None, "low", 2833),
        ("gpt-5", (1024, 1024), "high", 70 + 4 * 140),
        ("o3", (1024, 1024), "high", 75 + 4 * 150),
        ("gpt-4.1-mini", (1024, 1024), "high", 1659),
        ("gpt-4.1-nano", (1800, 2400), "high", 3572),
        ("openai/gpt-5-mini-2025-08-07", (1800, 2400), None, 2353),
        ("o4-mini", (1800, 2400), None, 2498),
        ("gpt-5.4-mini", None, "low", 415),
        # measured by third parties, as the multiplier of these models is not published
        ("gpt-5.5", (1024, 1024), None, 1229),
        ("gpt-5.5", (4032, 3024), None, 11_868),
        ("gpt-5.6", (4032, 3024), None, 14_364),
        ("gpt-6", (2560, 1440), "high", 2931),
        # platform.claude.com/docs/en/build-with-claude/vision
        ("claude-sonnet-4-5", (200, 200), None, 64),
        ("claude-sonnet-4-5", (1000, 1000), None, 1296),
        ("claude-sonnet-4-5", (1092, 1092), None, 1521),
        ("claude-sonnet-4-5", (1920, 1080), None, 1560),
        ("claude-haiku-4-5", (2000, 1500), None, 1564),
        ("claude-3-5-sonnet", (3840, 2160), None, 1560),
        ("claude-opus-4-8", (1920, 1080), None, 2691),
        ("claude-opus-4-7", (2000, 1500), None, 3888),
        ("claude-opus-4-8", (3840, 2160), None, 4784),
        # ai.google.dev/gemini-api/docs/image-understanding and media-resolution
        ("gemini-2.5-pro", (384, 384), None, 258),
        ("gemini-2.0-flash", (960, 540), None, 6 * 258),
        ("gemini-2.5-flash", (3000, 2000), None, 12 * 258),
        ("gemini-3-pro-preview", (960, 540), None, 1120),
        ("gemini-3-pro-preview", None, "MEDIA_RESOLUTION_LOW", 280),
    ],
)
def test_the_published_examples(model, size, detail, tokens):
    assert image_tokens(size, model=model, detail=detail) == (tokens, True)


@pytest.mark.parametrize("model", ["gpt-4o", "gpt-4.1-mini", "claude-sonnet-5", "gemini-2.5-pro"])
def test_an_unknown_size_is_said_to_be_one(model):
    assert image_tokens(None, model=model) == (PER_IMAGE, False)


SIDES = st.integers(1, 1 << 31)


@given(SIDES, SIDES, st.sampled_from(["low", "high", "auto", "original", "?"]))
def test_no_size_is_a_trap(width, height, detail):
    most = {"gpt-4o": 1105 + 340, "gpt-5-mini": 2489, "claude-opus-4-8": 4784, "claude-3": 1568}
    for model, bound in most.items():
        tokens, known = image_tokens((width, height), model=model, detail=detail)
        assert known
        assert 0 < tokens <= bound


@given(st.integers(1, 4_000), st.integers(1, 4_000))
def test_width_and_height_are_alike(width, height):
    for model in ("gpt-4o", "claude-opus-4-8", "gemini-2.5-pro"):
        assert image_tokens((width, height), model=model) == image_tokens(
            (height, width), model=model
        )


def held(data):
    url = f"data:image/png;base64,{data}"
    return {
        "chat": {"type": "image_url", "image_url": {"url": url, "detail": "high"}},
        "responses": {"type": "input_image", "image_url": url, "detail": "high"},
        "anthropic": {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": data},
        },
    }


@pytest.mark.parametrize(
    ("dialect", "tokens"), [("chat", 765), ("responses", 765), ("anthropic", 1369)]
)
def test_an_embedded_image_costs_by_its_size(dialect, tokens):
    data = b64(png(1024, 1024) + bytes(9_000))
    message = {"role": "user", "content": [held(data)[dialect]]}
    assert message_tokens([message], "o200k_base") == [tokens + 4]
    assert count_tokens([message]).error == 0.05
    assert count_tokens([message], model="gpt-4o-mini") == 2833 + 4 * 5667 + 4 + 3
    inside = {"type": "tool_result", "tool_use_id": "a", "content": message["content"]}
    result = {"role": "user", "content": [inside]}
    assert message_tokens([result], "o200k_base") == [tokens + 12]


def test_an_embedded_image_of_gemini_costs_by_its_size():
    data = {"mimeType": "image/png", "data": b64(png(960, 540))}
    message = {"role": "user", "parts": [{"inlineData": data}]}
    assert message_tokens([message], "estimate") == [6 * 258 + 4]
    answer = {"functionResponse": {"name": "f", "response": {}, "parts": [{"inlineData": data}]}}
    message = {"role": "user", "parts": [answer]}
    assert message_tokens([message], "o200k_base") == [6 * 258 + 4 + 8 + 1]


def test_an_embedded_image_of_interactions_costs_by_its_size_or_resolution():
    image = {"type": "image", "mime_type": "image/png", "data": b64(png(960, 540))}
    step = {"type": "user_input", "content": [image]}
    assert message_tokens([step], "estimate") == [6 * 258 + 4]
    assert message_tokens([step], "estimate", model="gemini-3.5-flash") == [1_120 + 4]
    low = {"type": "user_input", "content": [{"type": "image", "uri": "u", "resolution": "low"}]}
    assert message_tokens([low], "estimate", model="gemini-3.5-flash") == [280 + 4]


def test_the_error_tells_of_images_of_unknown_size():
    text = {"role": "user", "content": "the kite " * 200}
    image = {"role": "user", "content": [{"type": "input_image", "image_url": "https://a.b/c"}]}
    assert count_tokens([text]).error == 0.05
    assert 0.05 < count_tokens([text, image]).error < count_tokens([image]).error < 0.81


def test_an_image_that_is_scaled_to_the_edge_may_fit_the_budget():
    assert _fitted((4096, 64), 1536, 2048) == 64
    assert _fitted((2048, 64), 1536, 2048) == 128


PUBLISHED = {
    "claude": (1_369, 4_740, 4_740),
    "claude-2": (1_369, 1_564, 1_564),
    "claude-3": (1_369, 1_564, 1_564),
    "claude-haiku-4": (1_369, 1_564, 1_564),
    "claude-opus-4": (1_369, 1_564, 1_564),
    "claude-opus-4-7": (1_369, 4_740, 4_740),
    "claude-opus-4-8": (1_369, 4_740, 4_740),
    "claude-sonnet-4": (1_369, 1_564, 1_564),
    "computer-use-preview": (581, 581, 65),
    "gemini": (1_120, 1_120, 280),
    "gemini-1": (1_032, 6_192, 6_192),
    "gemini-2": (1_032, 6_192, 6_192),
    "gpt": (1_229, 14_100, 231),
    "gpt-4": (765, 765, 85),
    "gpt-4.1-mini": (1_659, 2_353, 312),
    "gpt-4.1-nano": (2_520, 3_572, 473),
    "gpt-4o-mini": (25_501, 25_501, 2_833),
    "gpt-5": (630, 630, 70),
    "gpt-5-mini": (1_659, 2_353, 312),
    "gpt-5-nano": (2_520, 3_572, 473),
    "gpt-5.4": (1_229, 2_942, 231),
    "gpt-5.4-mini": (1_659, 2_353, 312),
    "gpt-5.4-nano": (2_520, 3_572, 473),
    "gpt-5.5": (1_229, 11_868, 231),
    "gpt-5.6": (1_229, 14_100, 231),
    "o1": (675, 675, 75),
    "o3": (675, 675, 75),
    "o4-mini": (1_762, 2_498, 331),
}
"""Tokens of 1024 x 1024 pixels, of 4000 x 3000, and of these with detail "low"."""


def test_the_table_of_formulas_has_what_is_published():
    assert PUBLISHED.keys() == _FORMULAS.keys()
    for model, tokens in PUBLISHED.items():
        asked = (((1_024, 1_024), "auto"), ((4_000, 3_000), "auto"), ((4_000, 3_000), "low"))
        found = [image_tokens(size, model=model, detail=detail) for size, detail in asked]
        assert found == [(one, True) for one in tokens], model
