"""Says which argument is meant where one of another library is given: Python's own TypeError does not."""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, Dict, TypeVar

OTHER_NAMES: Dict[str, str] = {
    "cwd": "workdir",
    "working_dir": "workdir",
    "work_dir": "workdir",
    "envs": "env",
    "env_vars": "env",
    "environment": "env",
    "timeout_ms": "timeout",
    "timeout_seconds": "timeout",
    "timeout_secs": "timeout",
    "labels": "metadata",
    "image": "template",
    "template_id": "template",
    "snapshot_id": "snapshot",
    "cpu": "size",
    "memory": "size",
    "input": "stdin",
    "cmd": "command",
}

_Class = TypeVar("_Class", bound=type)


def tells_names(cls: _Class) -> _Class:
    """Decorates a class, so that its own public methods tell the name that is meant."""
    for name, method in list(vars(cls).items()):
        if inspect.isfunction(method) and not name.startswith("_"):
            setattr(cls, name, _telling(method))
    return cls


def _telling(method: Callable[..., Any]) -> Callable[..., Any]:
    own = inspect.signature(method).parameters

    def check(fields: Dict[str, Any]) -> None:
        for other in fields:
            meant = OTHER_NAMES.get(other)
            if other not in own and meant in own:
                form = f'{meant}="30s"' if meant == "timeout" else f"{meant}=…"
                raise TypeError(f"{method.__name__}() has no argument {other}. Write {form}.")

    @functools.wraps(method)
    async def call_async(*args: Any, **fields: Any) -> Any:
        check(fields)
        return await method(*args, **fields)

    @functools.wraps(method)
    def call(*args: Any, **fields: Any) -> Any:
        check(fields)
        return method(*args, **fields)

    return call_async if inspect.iscoroutinefunction(method) else call
