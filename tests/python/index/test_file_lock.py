"""What is deleted of the files beside a store, also of what crashed processes left."""

from __future__ import annotations

from warmset.index.file_lock import TEXTS, remove_texts


def test_texts_of_hooks_are_deleted_with_what_a_crashed_process_left_of_them(tmp_path):
    there = tmp_path / TEXTS
    left = there.with_name(f"{there.name}.7-8.gone")
    for folder in (there, left):
        folder.mkdir(parents=True)
        (folder / "text").write_text("said")
    beside = there.with_name("other.gone")
    beside.mkdir()
    remove_texts(tmp_path)
    assert not there.exists()
    assert [one.name for one in there.parent.iterdir()] == ["other.gone"]
    remove_texts(tmp_path)
