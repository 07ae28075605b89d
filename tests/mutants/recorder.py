"""Run by `record.py` in a process of its own: pytest, noting which test executes which lines.

`python -P recorder.py DATA_FILE TIMES_FILE PACKAGE_DIR PYTEST_ARGUMENT…`
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import coverage
import pytest

if TYPE_CHECKING:
    from collections.abc import Generator


class Recorder:
    """Names each test to the tracer while it runs, with its fixtures."""

    def __init__(self, tracer: coverage.Coverage) -> None:
        self.tracer = tracer
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self.tracer.switch_context(item.nodeid)
        try:
            return (yield)
        finally:
            self.tracer.switch_context("")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        before = self.seconds.get(report.nodeid, 0.0)
        self.seconds[report.nodeid] = before + report.duration
        if not report.passed:
            self.failed.add(report.nodeid)


def main() -> int:
    data, times, package, *arguments = sys.argv[1:]
    tracer = coverage.Coverage(
        data_file=data, config_file=False, include=[f"{package}/*"], messages=False
    )
    tracer.set_option("run:relative_files", value=True)
    recorder = Recorder(tracer)
    tracer.start()
    code = pytest.main(arguments, plugins=[recorder])
    tracer.stop()
    tracer.save()
    passed = {test: s for test, s in recorder.seconds.items() if test not in recorder.failed}
    Path(times).write_text(
        json.dumps({"tests": passed, "failed": sorted(recorder.failed)}), encoding="utf-8"
    )
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
