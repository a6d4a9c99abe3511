"""What all tests share.

With `--evidence` the tests run at full size, and those marked `evidence` run too.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support import evidence


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--evidence", action="store_true", help="test at full size, which takes hours")


def pytest_configure(config: pytest.Config) -> None:
    evidence.full_size = config.getoption("--evidence")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--evidence"):
        return
    for item in items:
        if item.get_closest_marker("evidence"):
            item.add_marker(pytest.mark.skip(reason="takes minutes; pytest --evidence runs it"))


@pytest.fixture
def restore_threads() -> Iterator[None]:
    """The test may set the number of the core's threads."""
    from penumbra import core

    before = core.threads()
    yield
    core.set_threads(before)
