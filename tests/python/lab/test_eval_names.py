"""The harness with speakers that have other names than the questions use."""

from __future__ import annotations

from dataclasses import replace

import pytest
from eval_material import locomo, quiet

from warmset.errors import InvalidInputError
from warmset.lab.corpus.renamed import NAMES, renamed
from warmset.lab.corpus.transcript import Line, Question, Transcript
from warmset.lab.eval import run
from warmset.lab.eval.options import Options
from warmset.lab.eval.run import measure

SAID = {"role": "user", "content": "Hi Tor, Robert here. Nora is a friend."}


def transcript(*speakers):
    asked = "Where does Robert live? And Nora's cat, and Norah?"
    return Transcript(
        name="isle",
        kind="LoCoMo",
        lines=[Line(message=SAID, speaker=one) for one in speakers],
        questions=[Question(asked, (0,))],
    )


@pytest.mark.parametrize(
    ("names", "speakers", "asked"),
    [
        ("exact", ["Robert", "Nora", "Tor"], "Where does Robert live? And Nora's cat, and Norah?"),
        (
            "full",
            ["Robert Whitlock", "Nora Okonjo", "Tor Van der Berg"],
            "Where does Robert live? And Nora's cat, and Norah?",
        ),
        (
            "handles",
            ["robert_whitlock92", "@NoraOkonjo", "torvanderberg"],
            "Where does Robert live? And Nora's cat, and Norah?",
        ),
        (
            "emails",
            [
                "robert.whitlock@example.org",
                "nora.okonjo@example.org",
                "tor.vanderberg@example.org",
            ],
            "Where does Robert live? And Nora's cat, and Norah?",
        ),
        (
            "nicknames",
            ["Robert", "Nora", "Tor"],
            "Where does Rob live? And Eleanor's cat, and Norah?",
        ),
        ("typos", ["Robert", "Nora", "Tor"], "Where does Roert live? And Nora's cat, and Norah?"),
    ],
)
def test_speakers_or_questions_are_renamed(names, speakers, asked):
    one = renamed(transcript("Robert", "Nora", "Tor", None, "Nora"), names)
    assert [line.speaker for line in one.lines] == [*speakers, None, speakers[1]]
    assert [question.text for question in one.questions] == [asked]
    assert {line.message["content"] for line in one.lines} == {SAID["content"]}


def test_names_of_at_least_five_letters_are_misspelt():
    asked = "Where do Nora, Maria and Robert live?"
    one = replace(transcript("Nora", "Maria", "Robert"), questions=[Question(asked, (0,))])
    [question] = renamed(one, "typos").questions
    assert question.text == "Where do Nora, Maia and Roert live?"


def test_without_speakers_there_is_nothing_to_rename():
    with pytest.raises(InvalidInputError, match="names"):
        renamed(transcript(None), "full")


@pytest.mark.parametrize("names", NAMES)
def test_recall_does_not_depend_on_how_speakers_are_called(tmp_path, names):
    file = locomo(tmp_path)
    cuts = {"dataset": "locomo", "path": file, "words_only": True, "cuts": (2, 6)}
    found = measure(Options(**cuts, names=names), quiet)
    exact = measure(Options(**cuts), quiet)
    assert found["settings"]["names"] == names
    assert found["questions"] == exact["questions"]
    recall = [one["retrievers"]["default"]["recall"]["fraction"] for one in (found, exact)]
    assert [recall[0][key] for key in ("k2", "k6")] == [recall[1][key] for key in ("k2", "k6")]


@pytest.mark.parametrize(
    ("options", "directory"),
    [
        ({}, "isle"),
        ({"names": "handles"}, "isle.handles"),
        ({"names": "nicknames"}, "isle"),
        ({"roles": True}, "isle.roles"),
    ],
)
def test_a_store_is_of_one_set_of_names(tmp_path, monkeypatch, options, directory):
    file, seen = locomo(tmp_path), []
    kept = run.stage

    def watching(transcript, *, store, **others):
        seen.append(store)
        return kept(transcript, store=store, **others)

    monkeypatch.setattr(run, "stage", watching)
    common = {"dataset": "locomo", "path": file, "words_only": True, "limit": 1}
    measure(Options(**common, store=tmp_path / "kept", **options), quiet)
    assert seen == [tmp_path / "kept" / directory]


@pytest.mark.parametrize("options", [{"names": "other"}, {"names": "full", "roles": True}])
def test_names_that_cannot_be_had_are_refused(tmp_path, options):
    with pytest.raises(InvalidInputError, match="names"):
        Options(dataset="locomo", path=locomo(tmp_path), **options)
