"""The document store of Haystack's adapter, judged by Haystack's own suites."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("haystack")
from haystack.dataclasses import Document
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy
from haystack.testing import document_store as sync_suite, document_store_async as async_suite

from warmset.adapters.haystack import WarmsetDocumentStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Ours:
    @pytest.fixture(params=["files", "memory", "erasing"])
    def document_store(self, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator:
        path = None if request.param == "memory" else tmp_path / "store"
        how = "erase" if request.param == "erasing" else "remove"
        with WarmsetDocumentStore(path, delete=how) as store:
            yield store


class TestSync(
    Ours,
    sync_suite.DocumentStoreBaseExtendedTests,
    sync_suite.CountDocumentsByFilterTest,
    sync_suite.CountUniqueMetadataByFilterTest,
    sync_suite.GetMetadataFieldsInfoTest,
    sync_suite.GetMetadataFieldMinMaxTest,
    sync_suite.GetMetadataFieldUniqueValuesTest,
):
    def test_write_documents(self, document_store: WarmsetDocumentStore) -> None:
        one = Document(id="1", content="first")
        assert document_store.write_documents([one]) == 1
        with pytest.raises(DuplicateDocumentError, match="ID '1' already exists"):
            document_store.write_documents([Document(id="2"), Document(id="1", content="other")])
        self.assert_documents_are_equal(document_store.filter_documents(), [one])
        assert document_store.write_documents([one], DuplicatePolicy.SKIP) == 0


class TestAsync(
    Ours,
    async_suite.CountDocumentsAsyncTest,
    async_suite.CountDocumentsByFilterAsyncTest,
    async_suite.CountUniqueMetadataByFilterAsyncTest,
    async_suite.DeleteAllAsyncTest,
    async_suite.DeleteByFilterAsyncTest,
    async_suite.DeleteDocumentsAsyncTest,
    async_suite.FilterDocumentsAsyncTest,
    async_suite.GetMetadataFieldMinMaxAsyncTest,
    async_suite.GetMetadataFieldUniqueValuesAsyncTest,
    async_suite.GetMetadataFieldsInfoAsyncTest,
    async_suite.UpdateByFilterAsyncTest,
    async_suite.WriteDocumentsAsyncTest,
):
    async def test_write_documents_async(self, document_store: WarmsetDocumentStore) -> None:
        one = Document(id="1", content="first")
        assert await document_store.write_documents_async([one]) == 1
        with pytest.raises(DuplicateDocumentError):
            await document_store.write_documents_async([one])


def test_nothing_of_the_suites_is_left_out() -> None:
    for suite, ours in ((sync_suite, TestSync), (async_suite, TestAsync)):
        theirs = [
            one
            for name, one in vars(suite).items()
            if isinstance(one, type) and one.__module__ == suite.__name__ and name.endswith("Test")
        ]
        assert all(issubclass(ours, one) for one in theirs)
