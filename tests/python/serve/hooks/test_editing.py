"""Settings of hosts: what is added to them, and that every other byte stays, in any file."""

from __future__ import annotations

import json
import os
import stat
import tomllib

import pytest
from hypothesis import given, settings, strategies as st

from warmset.errors import InvalidInputError
from warmset.serve.hooks import editing, json_edit, toml_edit
from warmset.serve.hooks.draft import Draft, without
from warmset.serve.hooks.entry import DEADLINES
from warmset.serve.hooks.hosts import entries, host_of, is_ours
from warmset.serve.hooks.places import Places

JSON_FILES = {
    "missing": None,
    "empty": "",
    "blank": " \n",
    "empty object": "{}",
    "empty object in lines": "{\n}\n",
    "one line": '{"model": "opus", "hooks": {"Stop": []}}',
    "tabs": '{\n\t"model": "opus",\n\t"hooks": {\n\t\t"Stop": [\n\t\t]\n\t}\n}\n',
    "windows": '{\r\n    "model": "opus"\r\n}\r\n',
    "odd spaces": '  {"a" :1 , "hooks"  :{ }\n\n ,"b":[1,\n2] }  \n\n',
    "others' hooks": json.dumps(
        {
            "env": {"TOKEN": "sk-1"},
            "hooks": {
                "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}],
                "PreToolUse": [{"matcher": "Bash", "hooks": []}],
            },
            "permissions": {"allow": ["Bash(ls)"]},
        },
        indent=4,
        ensure_ascii=False,
    ),
    "unicode": '{"größe": "ü\\u00fc\\ud83d\\ude00😀", "hooks": {"Stop": [1]}}',
}

TOML_FILES = {
    "missing": None,
    "empty": "",
    "comments": '# mine\nmodel = "gpt-5.4" # fast\n\n[mcp_servers.docs]\ncommand = "x"\n# end',
    "windows": 'model = "a"\r\n[tui]\r\nnotifications = true\r\n',
    "header": "[mcp_servers]\n",
}


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "store" / "hooks").mkdir(parents=True)
    return tmp_path


@pytest.fixture
def places(home):
    return Places(str(home / "store"))


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    if text is not None:
        path.write_bytes(text.encode())


def content(path):
    return path.read_bytes() if path.exists() else None


def install(host, home, places):
    changes = [
        editing.with_hooks(host, home / "store", places),
        editing.with_server(host, home / "store", places),
    ]
    editing.apply(changes, places)


def uninstall(host, places):
    editing.apply(
        [editing.without_ours(path, places) for path in (host.hooks, host.servers)], places
    )


@pytest.mark.parametrize("servers", JSON_FILES)
@pytest.mark.parametrize("hooks", JSON_FILES)
def test_claude_code_gets_back_every_byte(home, places, hooks, servers):
    host = host_of("claude-code")
    assert (host.hooks, host.servers) == (home / ".claude/settings.json", home / ".claude.json")
    put(host.hooks, JSON_FILES[hooks])
    put(host.servers, JSON_FILES[servers])
    before = content(host.hooks), content(host.servers)
    install(host, home, places)
    made = json.loads(host.hooks.read_bytes())
    old = json.loads(JSON_FILES[hooks]) if (JSON_FILES[hooks] or "").strip() else {}
    for event in DEADLINES:
        others = old.get("hooks", {}).get(event, [])
        assert made["hooks"][event] == others + entries(host, home / "store")[event]
    assert {**made, "hooks": 0} == {**old, "hooks": 0}
    [server] = json.loads(host.servers.read_bytes())["mcpServers"].values()
    assert server["args"][-3:] == ["mcp", "--memory", str(home / "store")]
    if JSON_FILES[hooks] and "\r\n" in JSON_FILES[hooks]:
        assert host.hooks.read_bytes().count(b"\n") == host.hooks.read_bytes().count(b"\r\n")
    uninstall(host, places)
    assert (content(host.hooks), content(host.servers)) == before


@pytest.mark.parametrize("text", TOML_FILES)
def test_codex_gets_back_every_byte(home, places, text):
    host = host_of("codex")
    put(host.servers, TOML_FILES[text])
    before = content(host.hooks), content(host.servers)
    install(host, home, places)
    made = tomllib.loads(host.servers.read_bytes().decode())
    assert made["mcp_servers"]["warmset"]["args"][-1] == str(home / "store")
    assert host.servers.read_bytes().startswith((TOML_FILES[text] or "").encode())
    uninstall(host, places)
    assert (content(host.hooks), content(host.servers)) == before


@pytest.mark.parametrize("how", ["known", "nothing known"])
def test_what_the_user_changed_meanwhile_stays(home, places, how):
    host = host_of("claude-code")
    put(host.hooks, JSON_FILES["others' hooks"])
    install(host, home, places)
    text = host.hooks.read_text()
    edited = text.replace('"sk-1"', '"sk-2"').replace("say done", "say  finished")
    edited = edited.replace('"permissions"', '"model": "opus",\n\n    "permissions"')
    host.hooks.write_text(edited)
    wanted = JSON_FILES["others' hooks"].replace('"sk-1"', '"sk-2"')
    wanted = wanted.replace("say done", "say  finished")
    wanted = wanted.replace('"permissions"', '"model": "opus",\n\n    "permissions"')
    uninstall(host, places if how == "known" else None)
    assert host.hooks.read_text() == wanted


def test_entries_that_the_user_wrote_differently_are_found_by_what_they_say(home, places):
    host = host_of("claude-code")
    put(host.hooks, JSON_FILES["tabs"])
    install(host, home, places)
    made = json.loads(host.hooks.read_text())
    made["hooks"]["Stop"][0]["hooks"][0]["timeout"] = 60
    made["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "mine"}]})
    host.hooks.write_text(json.dumps(made, indent=1))
    uninstall(host, places)
    left = json.loads(host.hooks.read_text())
    assert left == {"model": "opus", "hooks": {"Stop": [made["hooks"]["Stop"][1]]}}


def test_a_table_that_the_user_wrote_differently_is_found(home, places):
    host = host_of("codex")
    put(host.servers, TOML_FILES["comments"])
    install(host, home, places)
    text = host.servers.read_text().replace("[mcp_servers.warmset]", "[ mcp_servers.warmset ] # us")
    host.servers.write_text(text + "\n[tui]\nx = 1\n")
    uninstall(host, places)
    assert host.servers.read_text() == TOML_FILES["comments"] + "\n\n[tui]\nx = 1\n"


def test_a_second_store_takes_the_place_of_the_first(home, places):
    host = host_of("claude-code")
    put(host.hooks, JSON_FILES["others' hooks"])
    before = content(host.hooks)
    install(host, home, places)
    (home / "other" / "hooks").mkdir(parents=True)
    install(host, home / "x", places)
    made = json.loads(host.hooks.read_text())["hooks"]
    assert all(sum(map(is_ours, groups)) == (name in DEADLINES) for name, groups in made.items())
    assert str(home / "x" / "store") in made["Stop"][1]["hooks"][0]["command"]
    again = editing.with_hooks(host, home / "x" / "store", places)
    assert again.is_none
    uninstall(host, places)
    assert content(host.hooks) == before


def test_a_file_that_was_made_stays_if_the_user_wrote_into_it(home, places):
    host = host_of("claude-code")
    install(host, home, places)
    made = json.loads(host.hooks.read_text())
    host.hooks.write_text(json.dumps({**made, "model": "opus"}))
    uninstall(host, places)
    assert json.loads(host.hooks.read_text()) == {"model": "opus"}
    assert not host.servers.exists()


@pytest.mark.parametrize(
    "text", ["{", "// mine\n{}", "[]", '{"hooks": []}', '{"hooks": {"Stop": {}}}', "\ufeff{}"]
)
def test_a_file_that_is_not_valid_is_refused_untouched(home, places, text):
    host = host_of("claude-code")
    put(host.hooks, text)
    with pytest.raises(InvalidInputError, match="nothing was changed"):
        install(host, home, places)
    assert host.hooks.read_text(encoding="utf-8") == text
    assert not host.servers.exists()


@pytest.mark.parametrize(
    "text",
    [
        "model = ",
        "mcp_servers = {}\n",
        '[mcp_servers.warmset]\ncommand = "mine"\n',
        'mcp_servers.a.command = "x"\n[[mcp_servers.warmset]]\n',
        '[a]\nx = """\n',
    ],
)
def test_toml_that_cannot_take_the_table_is_refused_untouched(home, places, text):
    host = host_of("codex")
    put(host.servers, text)
    with pytest.raises(InvalidInputError, match="nothing was changed"):
        install(host, home, places)
    assert host.servers.read_text() == text
    assert not host.hooks.exists()


def test_no_file_of_several_changes_if_one_cannot(home, places, monkeypatch):
    host = host_of("claude-code")
    put(host.hooks, "{}")
    put(host.servers, "{}")
    changes = [
        editing.with_hooks(host, home / "store", places),
        editing.with_server(host, home / "store", places),
    ]
    host.servers.write_text('{"numStartups": 9}')
    with pytest.raises(InvalidInputError, match="changed meanwhile"):
        editing.apply(changes, places)
    assert (host.hooks.read_text(), host.servers.read_text()) == ("{}", '{"numStartups": 9}')
    host.servers.write_text("{}")
    monkeypatch.setattr(editing, "_keep", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        editing.apply(changes, places)
    assert (host.hooks.read_text(), host.servers.read_text()) == ("{}", "{}")
    assert not list(home.rglob(".*.json.*"))


def test_a_link_and_the_mode_stay(home, places):
    host = host_of("claude-code")
    real = home / "dotfiles" / "settings.json"
    put(real, "{}")
    real.chmod(0o640)
    host.hooks.parent.mkdir()
    host.hooks.symlink_to(real)
    install(host, home, places)
    assert host.hooks.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert len(json.loads(real.read_text())["hooks"]) == len(DEADLINES)
    assert stat.S_IMODE(host.servers.stat().st_mode) == 0o600
    uninstall(host, places)
    assert host.hooks.is_symlink()
    assert real.read_text() == "{}"


def test_what_is_no_file_is_refused(home, places):
    host = host_of("claude-code")
    host.hooks.parent.mkdir()
    host.hooks.symlink_to(home / "nowhere")
    with pytest.raises(InvalidInputError, match="a link to nothing"):
        install(host, home, places)
    host.hooks.unlink()
    os.mkfifo(host.hooks)
    with pytest.raises(InvalidInputError, match="no file of settings"):
        install(host, home, places)


def test_time_outs_are_longer_than_deadlines_and_within_the_hosts_bounds(home):
    for name in ("claude-code", "codex"):
        for event, [group] in entries(host_of(name), home).items():
            [handler] = group["hooks"]
            assert handler["timeout"] > DEADLINES[event]
    ends = [entries(host_of(name), home)["SessionEnd"] for name in ("claude-code", "codex")]
    assert [one["hooks"][0]["timeout"] for [one] in ends] == [2, 3]


def test_places_of_settings(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    environ = {"HOME": "/h", "CLAUDE_CONFIG_DIR": "/c", "CODEX_HOME": "/x"}
    assert str(host_of("claude-code", environ=environ).hooks) == "/c/settings.json"
    assert str(host_of("claude-code", environ=environ).servers) == "/c/.claude.json"
    assert str(host_of("codex", environ=environ).servers) == "/x/config.toml"
    assert str(host_of("codex", environ={"HOME": "/h"}).hooks) == "/h/.codex/hooks.json"
    assert host_of("claude-code", "project").servers == tmp_path / ".mcp.json"
    assert host_of("codex", "project").hooks == tmp_path / ".codex" / "hooks.json"
    with pytest.raises(InvalidInputError, match="expected one of claude-code, codex"):
        host_of("cursor")


# --- any JSON, any TOML --------------------------------------------------------------------------

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda some: (
        st.lists(some, max_size=3) | st.dictionaries(st.text(max_size=5), some, max_size=3)
    ),
    max_leaves=8,
)
INDENTS = st.sampled_from([None, 0, 1, 4, "\t"])


@settings(max_examples=60)
@given(
    st.dictionaries(st.text(max_size=5) | st.just("hooks"), VALUES, max_size=4),
    st.lists(VALUES, max_size=2),
    INDENTS,
    st.booleans(),
)
def test_any_object_takes_entries_and_gives_them_back(made, there, indent, ascii_only):
    made["hooks"] = {"Stop": there, "Other": 1}
    text = json.dumps(made, indent=indent, ensure_ascii=ascii_only)
    draft = Draft(text)
    json_edit.add(draft, ("hooks", "Stop"), [{"new": 1}, {"new": 2}])
    json_edit.add(draft, ("hooks", "SessionStart"), [{"new": 1}])
    json_edit.add(draft, ("more", "inside"), {"x": [1]})
    wanted = {**made, "hooks": {**made["hooks"], "Stop": [*there, {"new": 1}, {"new": 2}]}}
    wanted["hooks"]["SessionStart"] = [{"new": 1}]
    if "more" not in made:
        assert json.loads(draft.text) == {**wanted, "more": {"inside": {"x": [1]}}}
    assert without(draft.text, draft.places()) == text
    taken = json_edit.take(draft.text, ("hooks", "Stop"), lambda one: one == {"new": 1})
    assert json.loads(taken)["hooks"]["Stop"] == [*there, {"new": 2}]


@given(st.text(max_size=30), st.lists(st.text(max_size=9), max_size=3))
def test_any_text_is_written_as_toml(command, args):
    draft = Draft("")
    if any("\ud800" <= char <= "\udfff" for char in command + "".join(args)):
        return
    toml_edit.add(draft, ("mcp_servers", "warmset"), {"command": command, "args": args})
    assert tomllib.loads(draft.text)["mcp_servers"]["warmset"] == {"command": command, "args": args}
