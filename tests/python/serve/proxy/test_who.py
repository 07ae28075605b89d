"""Who is talking: tenants, their secret and aliases, and names of conversations."""

from __future__ import annotations

import hashlib
import hmac
import json
import multiprocessing
import os
import stat
import sys
import threading
import traceback
from contextlib import suppress
from dataclasses import dataclass

import pytest
from hypothesis import given, strategies as st

from warmset.errors import InvalidInputError, StoreError, StoreIOError
from warmset.serve.proxy import own_files
from warmset.serve.proxy.aliases import Alias, Aliases
from warmset.serve.proxy.naming import HeaderError, conversation_of
from warmset.serve.proxy.tenants import ANONYMOUS, Tenants, secret_of

KEY = "sk-canary-5e0bd1c7"
OTHER = "sk-canary-second9f2"
S = bytes(range(32))
posix = pytest.mark.skipif(sys.platform == "win32", reason="modes and links of POSIX")


@pytest.fixture
def tenants(tmp_path):
    return Tenants(S, Aliases(tmp_path))


def bearer(key):
    return {"authorization": f"Bearer {key}"}


def tenant(number):
    return f"key-{number:032x}"


# --- tenants ------------------------------------------------------------------------------------


def test_a_tenant_is_the_key_under_the_secret(tenants, tmp_path):
    found = tenants.tenant(bearer(KEY))
    whole = b"".join(len(one).to_bytes(8, "big") + one for one in (b"bearer", KEY.encode()))
    assert found == f"key-{hmac.new(S, whole, hashlib.sha256).hexdigest()[:32]}"
    assert (
        found == tenants.tenant(bearer(KEY)) == tenants.tenant({"authorization": f"bearer  {KEY} "})
    )
    assert found != tenants.tenant(bearer(OTHER))
    assert found != Tenants(bytes(32), Aliases(tmp_path)).tenant(bearer(KEY))


def test_each_way_to_send_a_key_is_its_own_and_googles_two_are_one(tenants):
    names = ["x-api-key", "x-goog-api-key", "api-key"]
    found = {tenants.tenant(one) for one in [bearer(KEY), *({name: KEY} for name in names)]}
    found.add(tenants.tenant({"authorization": f"Basic {KEY}"}))
    found.add(tenants.tenant({"authorization": KEY}))
    assert len(found) == 6
    assert ANONYMOUS not in found
    assert tenants.tenant({}, f"alt=sse&key={KEY}") == tenants.tenant({"x-goog-api-key": KEY})
    assert tenants.tenant({}, "key=a%2Fb") == tenants.tenant({"x-goog-api-key": "a/b"})


@pytest.mark.parametrize(
    ("headers", "query"),
    [
        ({}, ""),
        ({"authorization": ""}, ""),
        ({"authorization": "Bearer"}, ""),
        ({"authorization": "Bearer  "}, ""),
        ({"x-api-key": " "}, "key="),
        ({"x-other": KEY}, f"keys={KEY}&k=1&KEY=2"),
    ],
)
def test_who_sends_no_key_is_anonymous(tenants, headers, query):
    assert tenants.tenant(headers, query) == ANONYMOUS


def test_a_key_that_many_share_makes_them_no_one_tenant(tenants):
    shared = bearer("of-a-gateway")
    found = {tenants.tenant({**shared, "x-api-key": key}) for key in (KEY, OTHER)}
    found |= {tenants.tenant(shared), tenants.tenant({"x-api-key": KEY})}
    assert len(found) == 4


def test_the_order_in_which_keys_are_sent_does_not_count(tenants):
    found = {tenants.tenant({"x-goog-api-key": KEY}, f"key={OTHER}&key={KEY}")}
    found.add(tenants.tenant({"x-goog-api-key": OTHER}, f"key={KEY}"))
    found.add(tenants.tenant({}, f"key={OTHER}&key={KEY}"))
    assert len(found) == 1
    assert tenants.tenant({}, f"key={KEY}") not in found


@given(st.lists(st.tuples(st.sampled_from(["x-api-key", "api-key"]), st.text("abx-", min_size=1))))
def test_other_keys_are_other_tenants(tmp_path_factory, pairs):
    one = Tenants(S, Aliases(tmp_path_factory.getbasetemp()))
    asked = [dict([pair]) for pair in pairs]
    asked += [{**first, **second} for first in asked for second in asked]
    distinct = {tuple(sorted(headers.items())) for headers in asked}
    assert len({one.tenant(headers) for headers in asked}) == len(distinct)


def test_a_secret_is_long_enough(tmp_path):
    with pytest.raises(InvalidInputError, match="at least 32"):
        Tenants(bytes(31), Aliases(tmp_path))


# --- the secret ---------------------------------------------------------------------------------


@posix
def test_the_secret_is_made_once_and_for_its_owner_alone(tmp_path):
    before = os.umask(0)
    try:
        secret = secret_of(tmp_path)
    finally:
        os.umask(before)
    file = tmp_path / "serve.secret"
    assert len(secret) == 32
    assert (file.read_bytes(), stat.S_IMODE(file.stat().st_mode)) == (secret, 0o600)
    assert secret_of(tmp_path) == secret
    assert {one.name for one in tmp_path.iterdir()} == {"serve.secret", "serve.lock"}
    file.chmod(0o644)
    assert secret_of(tmp_path) == secret
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_two_stores_have_two_secrets(tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
    assert secret_of(tmp_path / "a") != secret_of(tmp_path / "b")


def _alias(folder):
    Aliases(folder).add([Alias(tenant(1), tenant(2))])


@posix
@pytest.mark.parametrize("name", ["serve.secret", "serve.aliases.json", "serve.lock"])
@pytest.mark.parametrize("there", [True, False])
def test_a_link_is_refused_and_not_followed(tmp_path, name, there):
    store, outside = tmp_path / "store", tmp_path / "outside"
    store.mkdir()
    if there:
        outside.write_bytes(S)
    (store / name).symlink_to(outside)
    use = secret_of if "aliases" not in name else _alias
    with pytest.raises(StoreIOError):
        use(store)
    assert outside.exists() == there
    assert not there or outside.read_bytes() == S


@posix
def test_a_pipe_and_a_directory_are_refused_and_not_waited_for(tmp_path):
    for number, make in enumerate((os.mkfifo, os.mkdir)):
        store = tmp_path / str(number)
        store.mkdir()
        make(store / "serve.secret")
        with pytest.raises(StoreIOError):
            secret_of(store)


@pytest.mark.parametrize("size", [0, 31, 33])
def test_a_secret_of_another_length_is_damage(tmp_path, size):
    (tmp_path / "serve.secret").write_bytes(bytes(size))
    with pytest.raises(StoreError, match="backup"):
        secret_of(tmp_path)
    assert (tmp_path / "serve.secret").stat().st_size == size


def test_a_store_that_is_not_there_is_not_made(tmp_path):
    with pytest.raises(StoreIOError):
        secret_of(tmp_path / "none")
    assert not (tmp_path / "none").exists()


def _make(folder, barrier, results):
    barrier.wait()
    results.put(secret_of(folder))


def test_processes_that_start_at_once_have_one_secret(tmp_path):
    context = multiprocessing.get_context("spawn")
    for trial in range(3):
        folder = tmp_path / str(trial)
        folder.mkdir()
        barrier, results = context.Barrier(4), context.Queue()
        started = [context.Process(target=_make, args=(folder, barrier, results)) for _ in range(4)]
        for one in started:
            one.start()
        found = {results.get(timeout=60) for _ in started}
        for one in started:
            one.join()
        assert found == {(folder / "serve.secret").read_bytes()}
        assert {one.name for one in folder.iterdir()} == {"serve.secret", "serve.lock"}


def test_threads_that_start_at_once_have_one_secret(tmp_path, monkeypatch):
    barrier, found = threading.Barrier(4), []
    real = own_files.locked

    def late(folder):
        barrier.wait()  # all have seen that there is none
        return real(folder)

    monkeypatch.setattr(own_files, "locked", late)
    threads = [threading.Thread(target=lambda: found.append(secret_of(tmp_path))) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(found) == 4
    assert len(set(found)) == 1


def test_a_full_disk_leaves_nothing_behind(tmp_path, monkeypatch):
    def full(_number):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreIOError, match="No space"):
        secret_of(tmp_path)
    assert {one.name for one in tmp_path.iterdir()} == {"serve.lock"}


@posix
def test_the_child_of_a_fork_knows_the_same_tenants(tenants):
    tenants.alias(KEY, OTHER)
    here = tenants.tenant(bearer(KEY))
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            tenants.alias("third", KEY)
            said = f"{tenants.tenant(bearer(KEY))} {tenants.tenant(bearer('third'))}"
            os.write(writing, said.encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reading, 200).decode().split() == [here, here]
    assert tenants.tenant(bearer("third")) == here
    os.close(reading)
    os.close(writing)


# --- aliases ------------------------------------------------------------------------------------


def test_a_new_key_has_the_memory_of_the_old_one_however_it_is_sent(tenants):
    ways = [bearer, lambda key: {"x-api-key": key}, lambda key: {"x-goog-api-key": key}]
    ways.append(lambda key: {"api-key": key})
    before = [tenants.tenant(way(OTHER)) for way in ways]
    own = [tenants.tenant(way(KEY)) for way in ways]
    made = tenants.alias(f" {KEY}\n", OTHER)
    assert {(one.new, one.old) for one in made} == set(zip(own, before, strict=True))
    assert [tenants.tenant(way(KEY)) for way in ways] == before
    assert [tenants.tenant(way(OTHER)) for way in ways] == before
    assert set(tenants.aliases()) == set(made)
    assert set(tenants.unalias(KEY)) == set(made)
    assert [tenants.tenant(way(KEY)) for way in ways] == own
    assert tenants.unalias(KEY) == tenants.aliases() == ()


def test_chains_are_followed_and_cycles_refused(tenants):
    oldest = tenants.tenant(bearer("a"))
    tenants.alias("b", "a")
    tenants.alias("c", "b")
    tenants.alias("c", "b")  # once more is no other
    assert tenants.tenant(bearer("c")) == oldest
    before = tenants.aliases()
    for new, old, why in [
        ("a", "c", "stands for"),
        ("a", "b", "stands for"),
        ("c", "a", "already"),
    ]:
        with pytest.raises(InvalidInputError, match=why):
            tenants.alias(new, old)
    for new, old in [("x", "x"), (" x", "x"), ("", "x"), ("x", " ")]:
        with pytest.raises(InvalidInputError):
            tenants.alias(new, old)
    for key in ("", " "):
        with pytest.raises(InvalidInputError):
            tenants.unalias(key)
    assert tenants.aliases() == before


def test_all_of_them_or_none(tmp_path):
    aliases = Aliases(tmp_path)
    with pytest.raises(InvalidInputError):
        aliases.add([Alias(tenant(1), tenant(2)), Alias(tenant(2), tenant(1))])
    assert aliases.list() == ()
    assert not (tmp_path / "serve.aliases.json").exists()


@pytest.mark.parametrize(
    "name", [ANONYMOUS, "", "key-", tenant(1)[:-1], tenant(1) + "0", "key-" + "G" * 32]
)
def test_only_tenants_of_keys_have_aliases(tmp_path, name):
    for one in (Alias(name, tenant(1)), Alias(tenant(1), name)):
        with pytest.raises(InvalidInputError, match="32 hex"):
            Aliases(tmp_path).add([one])


def test_a_change_by_another_is_seen_with_the_next_request(tmp_path):
    mine, other = Aliases(tmp_path), Aliases(tmp_path)
    for number in range(2, 30):
        other.add([Alias(tenant(number), tenant(number - 1))])
        assert mine.resolve(tenant(number)) == tenant(1)
    other.remove([tenant(2)])
    assert mine.resolve(tenant(29)) == tenant(2)
    (tmp_path / "serve.aliases.json").unlink()
    assert mine.resolve(tenant(29)) == tenant(29)


def test_a_file_that_did_not_change_is_not_read_again(tmp_path, monkeypatch):
    aliases = Aliases(tmp_path)
    aliases.add([Alias(tenant(2), tenant(1))])
    assert aliases.resolve(tenant(2)) == tenant(1)
    monkeypatch.setattr(own_files, "read", None)
    assert aliases.resolve(tenant(2)) == tenant(1)


@posix
def test_the_file_of_aliases_is_for_its_owner_alone(tenants, tmp_path):
    tenants.alias(KEY, OTHER)
    file = tmp_path / "serve.aliases.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert {one.name for one in tmp_path.iterdir()} == {"serve.aliases.json", "serve.lock"}


def _form(aliases, form=1):
    return json.dumps({"form": form, "aliases": aliases})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "[]",
        "{}",
        "[" * 100_000,
        _form([]),
        _form({tenant(1): 1}),
        _form({tenant(1): ANONYMOUS}),
        _form({tenant(1): tenant(1)}),
        _form({tenant(1): tenant(2), tenant(2): tenant(3), tenant(3): tenant(2)}),
        _form({}, form=2),
        '{"form": 1, "aliases": {"\\ud800": "x"}}',
        "\ufeff{}",
    ],
)
def test_a_damaged_file_is_no_guess(tmp_path, text):
    (tmp_path / "serve.aliases.json").write_text(text, encoding="utf-8")
    for use in (
        lambda one: one.resolve(tenant(9)),
        lambda one: one.add([Alias(tenant(8), tenant(9))]),
        lambda one: one.remove([tenant(8)]),
        lambda one: one.list(),
    ):
        with pytest.raises(StoreError, match="aliases"):
            use(Aliases(tmp_path))
    assert (tmp_path / "serve.aliases.json").read_text(encoding="utf-8") == text


def _add(folder, first):
    for number in range(first, first + 20):
        Aliases(folder).add([Alias(tenant(number), tenant(0))])


def test_processes_that_add_at_once_lose_nothing(tmp_path):
    context = multiprocessing.get_context("spawn")
    started = [context.Process(target=_add, args=(tmp_path, 1 + at * 20)) for at in range(3)]
    for one in started:
        one.start()
    for one in started:
        one.join()
    assert [one.new for one in Aliases(tmp_path).list()] == [tenant(n) for n in range(1, 61)]


# --- the key is nowhere -------------------------------------------------------------------------


def test_a_key_is_in_no_file_repr_error_log_or_traceback(tmp_path, caplog):
    caplog.set_level(0)
    tenants = Tenants(secret_of(tmp_path), Aliases(tmp_path))
    said = [repr(tenants), str(vars(type(tenants))), repr(tenants.alias(KEY, OTHER))]
    said += [tenants.tenant(bearer(KEY)), tenants.tenant({}, f"key={KEY}"), repr(tenants.aliases())]
    for fails in (
        lambda: tenants.alias(KEY, KEY),
        lambda: tenants.alias(OTHER, KEY),
        lambda: tenants.alias(KEY, "third"),
    ):
        with pytest.raises(InvalidInputError) as raised:
            fails()
        said += [repr(raised.value), str(raised.value), *traceback.format_exception(raised.value)]
    (tmp_path / "serve.aliases.json").write_bytes(b"x")
    for fails in (lambda: tenants.tenant(bearer(KEY)), lambda: tenants.unalias(KEY)):
        with pytest.raises(StoreError) as raised:
            fails()
        said += [repr(raised.value), *traceback.format_exception(raised.value)]
    said += [caplog.text, *(file.read_bytes().hex() for file in tmp_path.iterdir())]
    for key in (KEY, OTHER):
        assert key not in "".join(said)
        assert key.encode().hex() not in "".join(said)
    assert secret_of(tmp_path).hex() not in "".join(said[:-3])
    assert not hasattr(tenants, "__dict__")


# --- names of conversations ---------------------------------------------------------------------


@dataclass(frozen=True)
class Options:
    fields: tuple[str, ...] = ()


H = "x-warmset-conversation"
BODY = {"user": "u", "metadata": {"session_id": "s", "a": {"b": "deep"}}, "n": 1, "long": "x" * 513}


def test_the_header_comes_before_fields():
    assert conversation_of({H: " talk "}, BODY, Options(("user",))) == "talk"
    assert conversation_of({}, BODY, Options(("user",))) == "u"
    assert conversation_of({}, BODY, Options()) is None


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        (("metadata.session_id", "user"), "s"),
        (("user", "metadata.session_id"), "u"),
        (("metadata.none", "user"), "u"),
        (("metadata.a.b",), "deep"),
        (("metadata", "n", "n.x", "user.x", "", ".", "metadata.", "long"), None),
        (("long", "user"), "u"),
    ],
)
def test_the_first_field_that_is_a_name_counts(fields, name):
    assert conversation_of({}, BODY, Options(fields)) == name


@pytest.mark.parametrize(
    "value",
    [
        "",
        " ",
        "\t",
        "x" * 513,
        "a\nb",
        "a\x00",
        "a\x7f",
        "a\x85b",
        "a\udcffb",
        1,
        True,
        [],
        {},
        None,
    ],
)
def test_what_is_no_name_does_not_count(value):
    assert conversation_of({}, {"user": value}, Options(("user",))) is None
    if isinstance(value, str):
        with pytest.raises(HeaderError, match="512") as raised:
            conversation_of({H: value}, {}, Options())
        assert not value.strip() or value not in str(raised.value)


def test_a_name_has_at_most_512_characters():
    assert conversation_of({}, {"user": "é" * 512}, Options(("user",))) == "é" * 512
    assert conversation_of({H: "x" * 512}, {}, Options()) == "x" * 512


@pytest.mark.parametrize("sent", ["späti", "日本"])
def test_a_header_is_utf_8_where_it_is(sent):
    assert conversation_of({H: sent.encode().decode("latin-1")}, {}, Options()) == sent
    assert conversation_of({H: "sp\xe4ti"}, {}, Options()) == "späti"


@given(st.text(max_size=600))
def test_a_header_is_a_name_or_an_error(text):
    with suppress(HeaderError):
        name = conversation_of({H: text}, {}, Options())
        assert 0 < len(name) <= 512
        assert name == name.strip(" \t")
