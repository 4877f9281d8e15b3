"""Mistakes that a type checker finds before anything runs. It says so where it does not: each is expected to be one, and mypy --strict refuses
an expectation that nothing meets. This module is checked and never run."""

from __future__ import annotations

from skerry import AsyncSkerry, Skerry


def plain(skerry: Skerry) -> None:
    skerry.sandboxes.create(templat="base")  # type: ignore[call-arg]
    skerry.sandboxes.list(status="gone")  # type: ignore[arg-type]
    skerry.sandboxes.create(template="base", size="share-cpu-1x")  # type: ignore[arg-type]
    skerry.machines.create(template="base", size=skerry.sizes.list()[0]["name"])
    sandbox = skerry.sandboxes.create(template="base")
    run = sandbox.execute("true", timeout=30)  # type: ignore[arg-type]
    print(run["exitcode"])  # type: ignore[typeddict-item]
    with sandbox.execute_stream("true") as events:
        for event in events:
            print(event["exit_code"])  # type: ignore[typeddict-item]
            print(event["exit_code"] if event["type"] == "exit" else len(event["data"]))


async def asynchronous(skerry: AsyncSkerry) -> None:
    skerry.sandboxes.create(template="base").id  # type: ignore[attr-defined]
    async with skerry.sandboxes.create(template="base"):  # type: ignore[attr-defined]
        pass
