"""Every dependency has one version, which pyproject.toml allows; and an audit that could not be made is not passed."""

import importlib.util
import json
import re
import sys
import tomllib
from types import ModuleType
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from tests.support import ROOT

PINS = [line for line in (ROOT / ".ci" / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
SETUP = re.findall(r"^build_tools='(.*)'$", (ROOT / ".ci" / "setup").read_text(), re.MULTILINE)


def requirements() -> list[Requirement]:
    """Of the package, of each of its extras, and of building it."""
    extras = PROJECT["project"]["optional-dependencies"].values()
    named = [*PROJECT["project"]["dependencies"], *PROJECT["build-system"]["requires"], *SETUP[0].split()]
    found = [Requirement(each) for each in [*named, *(each for extra in extras for each in extra)]]
    return [each for each in found if each.name != "penumbra"]


def name(text: str) -> str:
    return re.sub(r"[-_.]+", "-", text).lower()


def test_a_version_is_all_that_is_said_of_a_package() -> None:
    assert [pin for pin in PINS if not re.fullmatch(r"[a-z0-9-]+==[0-9][0-9a-z.]*", pin)] == []
    names = [pin.partition("==")[0] for pin in PINS]
    assert names == sorted(set(names))


def test_every_dependency_has_a_version_that_is_allowed() -> None:
    pinned = {each: Version(version) for each, _, version in (pin.partition("==") for pin in PINS)}
    wrong = [
        f"{each}: {pinned.get(name(each.name), 'no version')} (make lock)"
        for each in requirements()
        if name(each.name) not in pinned or not each.specifier.contains(pinned[name(each.name)])
    ]
    assert wrong == []


def test_setup_installs_no_other_versions() -> None:
    lines = re.findall(r"^.*pip install.*$", (ROOT / ".ci" / "setup").read_text(), re.MULTILINE)
    assert lines and all("-c .ci/constraints.txt" in line for line in lines)


@pytest.fixture
def audit(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("audit", ROOT / ".ci" / "audit.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "audit", module)
    spec.loader.exec_module(module)
    return module


SOUND = {"name": "a", "version": "1", "vulns": []}
FAULTY = {"name": "b", "version": "2", "vulns": [{"id": "CVE-1"}]}
SKIPPED = {"name": "c", "skip_reason": "Dependency not found"}


@pytest.mark.parametrize(
    ("dependencies", "packages", "status", "said"),
    [
        ([SOUND], 1, 0, "no known faults of 1 packages"),
        ([SOUND, FAULTY], 2, 1, "1 known faults: b 2 CVE-1"),
        ([FAULTY, SKIPPED], 2, 1, "1 known faults: b 2 CVE-1; not audited: Dependency not found"),
        ([SOUND, SKIPPED], 2, 2, "NOT AUDITED, 1 of 2 packages: Dependency not found"),
        ([SOUND], 3, 2, "NOT AUDITED, 2 of 3 packages: it was left out"),
        (None, 3, 2, "NOT AUDITED, 3 of 3 packages: ConnectionError: no …"),
    ],
)
def test_what_pip_audit_could_not_ask_about_is_not_passed(
    audit: ModuleType, dependencies: list[Any] | None, packages: int, status: int, said: str
) -> None:
    stdout = "" if dependencies is None else json.dumps({"dependencies": dependencies, "fixes": []})
    answer = audit.of_pip(packages, stdout, "Traceback\nConnectionError: no https://x.y/z\n")
    assert (answer.status, str(answer)) == (status, said)


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ({"vulnerabilities": {}, "metadata": {}}, 0),
        ({"vulnerabilities": {"vite": {"severity": "high"}}}, 1),
        ({"message": "405 Method Not Allowed", "statusCode": 405}, 2),
    ],
)
def test_what_npm_could_not_ask_about_is_not_passed(audit: ModuleType, said: dict[str, Any], status: int) -> None:
    answer = audit.of_npm(5, json.dumps(said), "npm warn audit 405 Method Not Allowed\nnpm error A complete log of")
    assert answer.status == status
    assert status < 2 or "405" in str(answer)


def test_without_a_program_there_is_no_audit(audit: ModuleType) -> None:
    stdout, stderr = audit.ask("no-such-program")
    assert (
        str(audit.of_npm(5, stdout, stderr))
        == "NOT AUDITED, 5 of 5 packages: no-such-program: No such file or directory"
    )
