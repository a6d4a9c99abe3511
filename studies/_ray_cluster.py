"""A Ray cluster on this machine, for `studies.chaos`: its nodes and workers can be killed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from studies._disturbed import SECONDS, Chaos, Fault, descendants, free_port


@dataclass(frozen=True)
class Node:
    """The process that has started a node's others."""

    process: subprocess.Popen[bytes]

    def workers(self) -> list[int]:
        """Those that play, or are ready to."""
        return [pid for pid in descendants(self.process.pid) if is_ray_worker(pid)]

    def kill(self, chaos: Chaos) -> None:
        for pid in (*descendants(self.process.pid), self.process.pid):
            chaos.signal(pid, signal.SIGKILL)
        self.process.wait()


@contextlib.contextmanager
def ray_cluster(chaos: Chaos, *cores: int) -> Iterator[tuple[list[Node], str]]:
    """(its nodes, with so many cores each, and its address); the first node looks after the cluster."""
    os.environ.setdefault("RAY_AUTH_MODE", "disabled")  # else a node that finds a token asks all others for it
    address = f"127.0.0.1:{free_port()}"
    nodes: list[Node] = []
    try:
        for count in cores:
            log = chaos.path("ray.txt")
            nodes.append(Node(_start(address, count, not nodes, log)))
            _wait_for(nodes[-1], log)
        yield nodes, address
    finally:
        for node in reversed(nodes):
            node.kill(chaos)


def _start(address: str, cores: int, is_head: bool, log: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--disable-usage-stats"]
    command += ["--node-ip-address=127.0.0.1", f"--num-cpus={cores}"]
    if is_head:
        command += ["--head", f"--port={address.rpartition(':')[2]}", "--include-dashboard=false"]
    else:
        command.append(f"--address={address}")
    with log.open("wb") as to:
        return subprocess.Popen(command, stdout=to, stderr=to, stdin=subprocess.DEVNULL, start_new_session=True)


def _wait_for(node: Node, log: Path) -> None:
    end = time.monotonic() + SECONDS
    while "Ray runtime started" not in log.read_text(errors="replace"):
        if node.process.poll() is not None or time.monotonic() > end:
            raise Fault(f"a node of the Ray cluster does not start: {log.read_text(errors='replace')[-1000:]}")
        time.sleep(0.2)


def command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def is_ray_worker(pid: int) -> bool:
    return command_line(pid).startswith((b"ray::IDLE", b"ray::do_job"))  # and not its agents
