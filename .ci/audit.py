"""Asks for known faults of the versions in .ci/constraints.txt (pip-audit) and web/package-lock.json (npm audit).

Ends with 0 if both were asked about and have none, with 1 if there are some, and with 2 if there is no telling because
what knows of them could not be asked: that is never taken for an answer. A line for each is printed; OUT/audit.json has
all that was said.
"""

import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parent.parent
CONSTRAINTS = ROOT / ".ci" / "constraints.txt"
SERVICES = ("pypi", "osv")  # that pip-audit can ask, the second where the first does not answer for all
SECONDS = 600


@dataclass
class Audit:
    """What was found out about packages: what is wrong with some, and why there is no telling of others."""

    packages: int
    findings: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    said: object = None

    @property
    def status(self) -> int:
        return 1 if self.findings else 2 if self.unknown else 0

    def __str__(self) -> str:
        if self.findings:
            more = f"; not audited: {self.unknown[0]}" if self.unknown else ""
            return f"{len(self.findings)} known faults: {'; '.join(self.findings)}{more}"
        if self.unknown:
            return f"NOT AUDITED, {len(self.unknown)} of {self.packages} packages: {self.unknown[0]}"
        return f"no known faults of {self.packages} packages"


def of_pip(packages: int, stdout: str, stderr: str) -> Audit:
    """From what pip-audit says; it calls a package that it could not ask about skipped, and ends well."""
    try:
        said = json.loads(stdout)
        dependencies = said["dependencies"]
    except (ValueError, KeyError, TypeError):
        return Audit(packages, unknown=[last_line(stderr)] * packages)
    audit = Audit(packages, said=said)
    for each in dependencies:
        if "skip_reason" in each:
            audit.unknown.append(each["skip_reason"])
        for fault in each.get("vulns", ()):
            audit.findings.append(f"{each['name']} {each['version']} {fault['id']}")
    audit.unknown += ["it was left out"] * (packages - len(dependencies))
    return audit


def of_npm(packages: int, stdout: str, stderr: str) -> Audit:
    try:
        said = json.loads(stdout)
        faults = said["vulnerabilities"]
    except (ValueError, KeyError, TypeError):
        return Audit(packages, unknown=[last_line(stderr)] * packages)
    return Audit(packages, [f"{name} ({fault['severity']})" for name, fault in faults.items()], said=said)


def last_line(text: str) -> str:
    """What went wrong, without the address that was asked."""
    lines = [line for line in text.splitlines() if line.strip() and "complete log" not in line]
    reasons = [line for line in lines if re.search(r"[45]\d\d|rror:", line)]
    return re.sub(r"https?://\S+", "…", (reasons or lines or ["it said nothing"])[-1]).strip()[:160]


def ask(*command: str, folder: Path = ROOT) -> tuple[str, str]:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return "", f"no answer within {SECONDS} seconds"
    except OSError as error:
        return "", f"{command[0]}: {error.strerror}"
    return done.stdout, done.stderr


def python() -> Audit:
    packages = sum("==" in line for line in CONSTRAINTS.read_text().splitlines())
    asked = (sys.executable, "-m", "pip_audit", "-r", str(CONSTRAINTS), "--no-deps", "--disable-pip", "-f", "json")
    reasons = []
    for service in SERVICES:
        audit = of_pip(packages, *ask(*asked, "--progress-spinner", "off", "-s", service))
        if audit.findings or not audit.unknown:
            return audit
        reasons.append(f"{service}: {audit.unknown[0]}")
    return Audit(packages, unknown=[" / ".join(reasons)] * len(audit.unknown), said=audit.said)


def page() -> Audit:
    lock = json.loads((ROOT / "web" / "package-lock.json").read_text())
    packages = sum(1 for name in lock["packages"] if name)
    npm = shutil.which("npm") or "npm"
    return of_npm(packages, *ask(npm, "audit", "--json", "--package-lock-only", folder=ROOT / "web"))


def main() -> int:
    audits = {"Python": python(), "page": page()}
    for name, audit in audits.items():
        print(f"audit, {name}: {audit}", flush=True)
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    out.joinpath("audit.json").write_text(
        json.dumps({name: {"result": str(audit), "said": audit.said} for name, audit in audits.items()}, indent=1)
    )
    statuses = {audit.status for audit in audits.values()}
    return 1 if 1 in statuses else max(statuses)


if __name__ == "__main__":
    sys.exit(main())
