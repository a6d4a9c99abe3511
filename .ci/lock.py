"""Writes .ci/constraints.txt: of everything that the given requirements need, the version that pip finds today.

`.ci/setup lock` runs it. What is written says neither where a package comes from nor for what kind of machine it was
built (torch 2.13.0+cpu and torch 2.13.0 are the same version). pip itself is left as it is.
"""

import json
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
HEADER = f"""\
# The versions in which .ci/setup installs what it installs; a package that is not needed is not installed because it is
# here. Made by `make lock` on Linux with Python {platform.python_version()}: the newest that pyproject.toml allows.
"""


def resolve(requirements: list[str]) -> dict[str, str]:
    """Names and versions, as if nothing were installed."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = ("install", "--quiet", "--dry-run", "--ignore-installed", "--no-build-isolation", "--report", report)
        pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", *command, *requirements)
        subprocess.run(pip, cwd=HERE.parent, check=True)
        found = [each["metadata"] for each in json.loads(report.read_text())["install"]]
    return {re.sub(r"[-_.]+", "-", each["name"]).lower(): each["version"].partition("+")[0] for each in found}


def main() -> None:
    versions = resolve(sys.argv[1:])
    lines = [f"{name}=={version}\n" for name, version in sorted(versions.items()) if name not in ("penumbra", "pip")]
    (HERE / "constraints.txt").write_text(HEADER + "".join(lines))
    print(f"{len(lines)} versions are in .ci/constraints.txt")


if __name__ == "__main__":
    main()
