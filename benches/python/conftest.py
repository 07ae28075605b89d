"""One thread, and where the numbers come from beside them."""

from __future__ import annotations

from benches.python.setting import setting


def pytest_benchmark_update_machine_info(config, machine_info):  # noqa: ARG001 - the hook's names
    """Write commit, compiler, CPU and command into the saved results."""
    machine_info["warmset"] = setting()


def pytest_report_header() -> str:
    """Say what is measured."""
    found = setting()
    return (
        f"warmset {found['warmset']} at {found['installed']}, {found['simd']}, commit "
        f"{str(found['commit'])[:12]}, {found['compiler']}, {found['cpu']}, load {found['load']}"
    )
