"""A worker that does what a task's number says; light, since every new process imports it."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Task:
    folder: str
    number: int


class Workshop:
    """0 to 9 is squared, 10 dies the first time, 11 dies always, 12 raises."""

    def do(self, task: Task) -> int:
        mark = Path(task.folder) / str(task.number)
        if task.number in (10, 11) and (task.number == 11 or not mark.exists()):
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if task.number == 12:
            raise RuntimeError("a fault of the harness")
        return task.number**2

    def close(self) -> None:
        pass
