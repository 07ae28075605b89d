"""Prints the results of `warmset doctor` and `warmset verify`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from warmset._core import VerifyReport
    from warmset.maintenance import Health
    from warmset.serve.hooks import Failure

_CIPHERS = {
    "none": "not encrypted",
    "keys": "encrypted, with keys that lie in the store",
    "master": "encrypted, with keys under a master key",
}


def show_health(health: Health, out: Console) -> None:
    """Print what a store has, what was set aside and what is wrong."""
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in health.records.items())
    out.print(f"{health.path}: {_CIPHERS[health.encryption]}")
    out.print(f"  {health.conversations:,} conversations of {health.tenants:,} tenants")
    out.print(f"  {sum(health.records.values()):,} records: {kinds or 'none'}")
    out.print(f"  {health.segments:,} segments, {health.bytes:,} bytes")
    out.print(f"  durable up to #{health.durable_id}, next is #{health.next_id}")
    for name, size in health.aside.items():
        out.print(f"  set aside by recovery: {name}, {size:,} bytes")
    if health.spooled:
        out.print(f"  spooled: {len(health.spooled)} batches, which the next writer takes up")
    if health.erasures:
        out.print(f"  erasures: {health.erasures}; records whose bytes remain: {health.pending:,}")
    for problem in health.problems:
        out.print(f"wrong: {problem}", style="red")
    out.print("nothing is wrong" if health.is_healthy else f"{len(health.problems)} problems")


def show_failures(failed: Sequence[Failure], out: Console) -> None:
    """Print what failed in the hooks of a store, if anything did."""
    if failed:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(failed[0].at))
        last = f"{failed[0].host} {failed[0].event}: {failed[0].what}"
        out.print(f"hooks: {len(failed)} failures are kept; the last, {when} UTC, {last}")


def show_verified(
    report: VerifyReport, locked: int, damages: list[dict[str, Any]], out: Console
) -> None:
    """Print what was read and what is damaged."""
    for damage in damages:
        seqs = damage["seqs"]
        lost = f"#{seqs[0]} to #{seqs[1]} lost" if seqs else "no record lost"
        place = f"{damage['path']} bytes {damage['bytes'][0]} to {damage['bytes'][1]}"
        out.print(f"{damage['kind']}: {place}: {damage['detail']}; {lost}", style="red")
    if locked:
        out.print(
            f"{locked:,} records could not be decrypted, nor checked: their key is not here; with "
            "a master key in a file: --key-file FILE",
            style="red",
        )
    intact = report["records"] - locked
    out.print(f"{intact:,} records in {report['bytes']:,} bytes are intact; {len(damages)} damages")
