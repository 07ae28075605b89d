from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, Literal, TypeAlias, TypedDict, final, type_check_only

import numpy as np
from numpy.typing import ArrayLike, NDArray

from warmset.receipts import ErasureResult, RewriteResult, Spooled

__all__ = [
    "ColdStore",
    "Coverage",
    "FileLock",
    "HotIndex",
    "LexicalIndex",
    "Record",
    "Retriever",
    "Roll",
    "Sayings",
    "SearchExplanation",
    "after_fork",
    "before_fork",
    "content_hash",
    "count_text",
    "count_texts",
    "keep_newest",
    "keep_worthy",
    "leave_lowest",
    "lock_file",
    "message_keys",
    "pack",
    "pack_batch",
    "rank_groups",
    "simd_tier",
    "simd_tiers",
    "terms",
    "worth",
]

@type_check_only
class Cut(TypedDict):
    segment: int
    offset: int
    bytes: int
    aside: PathLike[str]

@type_check_only
class Damage(TypedDict):
    segment: int
    path: PathLike[str]
    bytes: tuple[int, int]
    seqs: tuple[int, int] | None
    kind: Literal["corrupt", "truncated", "missing"]
    detail: str

@type_check_only
class OpenReport(TypedDict):
    cuts: list[Cut]
    damages: list[Damage]

@type_check_only
class VerifyReport(TypedDict):
    records: int
    bytes: int
    damages: list[Damage]

@type_check_only
class StoreStats(TypedDict):
    records: int
    bytes: int
    segments: int
    next_seq: int

@type_check_only
class Erasure(TypedDict):
    at: int
    upto: int
    depth: int | None
    records: int

@type_check_only
class ErasureReport(TypedDict):
    erasures: list[Erasure]
    pending: int

_Row: TypeAlias = (
    tuple[str, Sequence[bytes], bytes, bytes]
    | tuple[str, Sequence[bytes], bytes, bytes, Sequence[int]]
)

@final
class Record:
    @property
    def seq(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def key(self) -> tuple[bytes, ...]: ...
    @property
    def meta(self) -> bytes: ...
    @property
    def payload(self) -> bytes: ...
    @property
    def sources(self) -> tuple[int, ...]: ...
    @property
    def hash(self) -> bytes: ...

@final
class ColdStore:
    @staticmethod
    def open(
        path: str | PathLike[str] | None,
        *,
        mode: Literal["shared", "exclusive", "read"] = "shared",
        durability: Literal["fsync", "os", "interval"] = "fsync",
        sync_interval: float | None = None,
        on_busy: Literal["error", "spool"] = "error",
        read: Literal["map", "pread"] = "map",
        encryption: Literal["keys"] | bytes | None = None,
        segment_bytes: int | None = None,
        max_record: int | None = None,
        lock_wait: float = 2.0,
    ) -> ColdStore: ...
    @property
    def path(self) -> PathLike[str] | None: ...
    @property
    def notices(self) -> tuple[int, int, int, int, int, int]: ...
    def append(self, records: Sequence[_Row], *, sync: bool = True) -> list[int]: ...
    def append_or_spool(
        self, records: Sequence[_Row], *, sync: bool = True
    ) -> list[int] | Spooled: ...
    def get(self, seq: int) -> Record: ...
    def get_many(self, seqs: Sequence[int]) -> list[Record]: ...
    def hash_of(self, seq: int) -> bytes: ...
    def page(self, start: int = 1, *, max_bytes: int = 8_388_608) -> list[Record]: ...
    def sync(self) -> int: ...
    def durable_seq(self) -> int: ...
    def erase(
        self, *, prefix: Sequence[bytes] | None = None, records: Sequence[int] | None = None
    ) -> ErasureResult: ...
    def compact(self) -> RewriteResult: ...
    def erasure_report(self) -> ErasureReport: ...
    def spooled(self) -> list[str]: ...
    def stats(self) -> StoreStats: ...
    def report(self) -> OpenReport: ...
    def verify(self, progress: Callable[[int, int], object] | None = None) -> VerifyReport: ...
    def close(self) -> None: ...
    def __enter__(self) -> ColdStore: ...
    def __exit__(self, *_exc: object) -> None: ...

@final
class Sayings:
    def __new__(cls) -> Sayings: ...
    def state(self, text: int, facts: Sequence[int]) -> None: ...
    def relate(self, text: int, twins: Sequence[tuple[float, int]]) -> None: ...
    def forget(self, texts: Sequence[int]) -> None: ...
    def lacking(self, texts: ArrayLike) -> NDArray[np.int64]: ...

@final
class Coverage:
    def __new__(
        cls,
        texts: ArrayLike,
        sayings: Sayings,
        *,
        same: float,
        check: bool,
        crowded: Sequence[tuple[int, Sequence[tuple[float, int]]]],
        near: tuple[Sayings, ArrayLike, NDArray[np.float32], ArrayLike] | None = None,
    ) -> Coverage: ...
    def now(self) -> NDArray[np.float64]: ...
    def strike(self, stays: NDArray[np.bool_]) -> None: ...

@final
class FileLock:
    def release(self) -> None: ...
    def __enter__(self) -> FileLock: ...
    def __exit__(self, *_exc: object) -> None: ...

@final
class HotIndex:
    def __new__(
        cls, dim: int, *, metric: str = "cosine", fingerprint: str | None = None
    ) -> HotIndex: ...
    @staticmethod
    def open(
        path: str | PathLike[str],
        *,
        fingerprint: str | None = None,
        read: Literal["map", "pread"] = "map",
    ) -> HotIndex: ...
    def save(self, path: str | PathLike[str]) -> None: ...
    def verify(self) -> None: ...
    @property
    def dim(self) -> int: ...
    @property
    def metric(self) -> str: ...
    @property
    def fingerprint(self) -> str | None: ...
    def __len__(self) -> int: ...
    def __contains__(self, id: int, /) -> bool: ...
    def add(
        self,
        ids: ArrayLike,
        vectors: ArrayLike,
        *,
        tenant: ArrayLike | None = None,
        conversation: ArrayLike | None = None,
        kind: str | ArrayLike | None = None,
        role: ArrayLike | None = None,
        at: ArrayLike | None = None,
    ) -> None: ...
    def remove(self, ids: ArrayLike) -> None: ...
    def search(
        self, query: ArrayLike, k: int, *, where: Any | None = None, threads: int = 1
    ) -> tuple[NDArray[np.uint64], NDArray[np.float32]]: ...
    def search_batch(
        self, queries: ArrayLike, k: int, *, where: Any | None = None, threads: int = 1
    ) -> tuple[NDArray[np.uint64], NDArray[np.float32], NDArray[np.int64]]: ...
    def explain(
        self, query: ArrayLike, k: int, *, where: Any | None = None
    ) -> SearchExplanation: ...

@final
class SearchExplanation:
    @property
    def ids(self) -> NDArray[np.uint64]: ...
    @property
    def scores(self) -> NDArray[np.float32]: ...
    @property
    def heads(self) -> dict[str, int]: ...
    @property
    def bytes_per_row(self) -> int: ...
    @property
    def screened(self) -> int: ...
    @property
    def kept(self) -> int: ...
    @property
    def refined(self) -> int: ...
    @property
    def exact(self) -> int: ...
    @property
    def bound(self) -> float: ...

@final
class LexicalIndex:
    def __new__(cls, *, k1: float = 1.2, b: float = 0.6) -> LexicalIndex: ...
    @staticmethod
    def from_bytes(data: bytes, *, k1: float = 1.2, b: float = 0.6) -> LexicalIndex: ...
    def to_bytes(self) -> bytes: ...
    def verify(self) -> None: ...
    def __len__(self) -> int: ...
    def __contains__(self, id: int, /) -> bool: ...
    def add(self, ids: ArrayLike, texts: Sequence[str]) -> None: ...
    def remove(self, ids: ArrayLike) -> None: ...
    def search(self, query: str, k: int) -> tuple[NDArray[np.uint64], NDArray[np.float32]]: ...

@final
class Retriever:
    def __new__(cls) -> Retriever: ...
    def __len__(self) -> int: ...
    @property
    def changes(self) -> int: ...
    def clear(self) -> None: ...
    def save(
        self,
        path: str | PathLike[str],
        store: ColdStore,
        *,
        covers: int,
        fingerprint: str,
        note: bytes,
        changes: int,
    ) -> bool: ...
    def load(
        self,
        path: str | PathLike[str],
        store: ColdStore,
        *,
        read: Literal["map", "pread"] = "map",
    ) -> tuple[int, str, bytes] | None: ...
    @property
    def rows(self) -> int: ...
    @property
    def tier(self) -> str: ...
    def add(
        self,
        id: int,
        labels: tuple[int, int, int, int, int, int, int, bool],
        text: str,
    ) -> None: ...
    def describe(
        self,
        id: int,
        *,
        asking: float,
        ends_asking: bool,
        tells_time: bool,
        tells_number: bool,
        days: Sequence[tuple[int, int]],
    ) -> None: ...
    def put_vectors(self, id: int, vectors: ArrayLike) -> None: ...
    def clear_vectors(self) -> None: ...
    def has_vectors(self, id: int) -> bool: ...
    def set_live(self, ids: Sequence[int], live: bool) -> None: ...
    def remove(self, id: int) -> None: ...
    def search(
        self,
        query: ArrayLike | None,
        words: str,
        k: int,
        *,
        where: Any,
        weights: Any,
        cue: Any,
    ) -> tuple[NDArray[np.uint64], NDArray[np.float32], list[NDArray[np.float32]]]: ...

@final
class Roll:
    def __new__(cls) -> Roll: ...
    def __len__(self) -> int: ...
    def push(self, cost: int) -> int: ...
    def join(self, unit: int, cost: int) -> None: ...
    def since(self, start: int) -> int: ...
    def cut(self, protected: Sequence[int], budget: int) -> tuple[int, int]: ...
    def kept(self, protected: Sequence[int], start: int) -> NDArray[np.int64]: ...
    def change(
        self, before: NDArray[np.int64], after: NDArray[np.int64]
    ) -> tuple[int, int, int]: ...

def message_keys(messages: Sequence[Any], depth: int) -> list[bytes | None]: ...
def content_hash(payload: bytes) -> bytes: ...
def count_text(text: str, encoding: str = "o200k_base") -> tuple[int, bool]: ...
def count_texts(texts: Sequence[str], encoding: str = "o200k_base") -> list[int]: ...
def terms(text: str) -> list[str]: ...
def pack(
    costs: ArrayLike,
    values: ArrayLike,
    budget: int,
    *,
    groups: ArrayLike | None = None,
    must: ArrayLike | None = None,
) -> NDArray[np.int64]: ...
def pack_batch(
    offsets: ArrayLike, costs: ArrayLike, values: ArrayLike, budgets: ArrayLike
) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...
def rank_groups(
    ids: NDArray[np.int64],
    values: NDArray[np.float64],
    *,
    members: NDArray[np.int64],
    groups: NDArray[np.int64],
    raised: NDArray[np.bool_],
    more: float,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]: ...
def keep_newest(costs: ArrayLike, protected: Sequence[bool], budget: int) -> NDArray[np.int64]: ...
def worth(
    roles: ArrayLike,
    similarity: ArrayLike,
    coverage: ArrayLike,
    *,
    factors: ArrayLike,
    weights: tuple[float, float, float],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
def keep_worthy(
    values: ArrayLike, costs: ArrayLike, units: ArrayLike, must: ArrayLike, budget: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...
def after_fork() -> None: ...
def before_fork() -> None: ...
def lock_file(path: str | PathLike[str]) -> FileLock | None: ...
def leave_lowest(
    costs: ArrayLike, protected: Sequence[bool], scores: ArrayLike, budget: int
) -> NDArray[np.int64]: ...
def simd_tier() -> str: ...
def simd_tiers() -> list[str]: ...
