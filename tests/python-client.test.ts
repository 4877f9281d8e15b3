// The Python client as its users have it, from the server that it is for, against real microVMs; and the examples of its documentation.

import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import packageJson from "../package.json" with { type: "json" };
import { sharedPlatform } from "./support/shared.ts";

const execute = promisify(execFile);
const root = join(import.meta.dirname, "..");
const wheel = join(root, `dist/clients/skerry-${packageJson.version}-py3-none-any.whl`);
/** The one that sees Debian's httpx; another one may come first in PATH. */
const PYTHON = "/usr/bin/python3";

const platform = await sharedPlatform();
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "skerry-python-"));
  const answer = await fetch(`${platform.apiUrl}/skerry.whl`);
  const [name = ""] = answer.url.split("/").slice(-1);
  await writeFile(join(folder, name), Buffer.from(await answer.arrayBuffer()));
  await execute(PYTHON, ["-m", "zipfile", "-e", join(folder, name), join(folder, "installed")]);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** What a program prints that uses nothing but the installed package. */
async function printed(program: string): Promise<string> {
  const path = join(folder, "program.py");
  await writeFile(path, program);
  const { stdout } = await execute(PYTHON, ["-W", "error::ResourceWarning", path], {
    env: {
      ...{ PATH: process.env["PATH"], PYTHONPATH: join(folder, "installed"), HOME: folder },
      ...{ SKERRY_API_URL: platform.apiUrl, SKERRY_API_TOKEN: platform.token },
    },
    timeout: 240_000,
  });
  return stdout;
}

test("the server hands out the wheel that was built with it, under the name that pip reads", async () => {
  expect(await readFile(join(folder, basename(wheel)))).toEqual(await readFile(wheel));
});

test("a sandbox is made, used and destroyed", async () => {
  const output = await printed(`
import io, json, time
from pathlib import Path
from skerry import ConflictError, NotFoundError, Skerry

with Skerry() as skerry:
    with skerry.sandboxes.create(template="base", timeout="10m", env={"GREETING": "hello"}, metadata={"test": "python"}) as sandbox:
        data = bytes(range(256)) * 4096
        sandbox.upload("/work/a b/ü.bin", io.BytesIO(data), mode="0700")
        sandbox.upload("/work/program.py", Path(__file__))
        assert sandbox.download("/work/a b/ü.bin") == data
        with sandbox.download_stream("/work/program.py") as chunks:
            assert b"".join(chunks) == Path(__file__).read_bytes()
        listed = {entry["name"]: entry["type"] for entry in sandbox.list_directory("/work")["entries"]}
        assert listed == {"a b": "directory", "program.py": "file"}, listed

        run = sandbox.execute("echo $GREETING; echo trouble >&2; pwd; exit 3", workdir="/work")
        assert (run["exit_code"], run["stdout"], run["stderr"]) == (3, "hello\\n/work\\n", "trouble\\n"), run
        assert sandbox.execute("wc -c", stdin=data)["stdout"] == f"{len(data)}\\n"
        assert sandbox.execute("sleep 60", timeout="1s")["timed_out"]

        with sandbox.execute_stream("printf 'a\\\\377'; sleep 60") as events:
            assert next(events) == {"type": "stdout", "data": b"a\\xff"}
        # Leaving the block has killed it.
        for _ in range(100):
            if sandbox.execute("pgrep -x sleep")["exit_code"] == 1:
                break
        else:
            raise AssertionError("the command runs on")

        report = sandbox.set_egress(mode="deny_all", allow_cidrs=["192.0.2.0/24"])
        assert report["mode"] == "deny_all" and sandbox.egress()["allow_cidrs"] == ["192.0.2.0/24"]
        sandbox.set_egress(mode="deny_all", if_version=report["version"])
        try:
            sandbox.set_egress(mode="allow_all", if_version=report["version"])
            raise AssertionError("it had been changed")
        except ConflictError as error:
            assert error.code == "version_mismatch" and sandbox.egress()["mode"] == "deny_all"
        while not skerry.usage(step="1h")["items"]:
            time.sleep(0.2)
        assert skerry.sandboxes.page(limit=1, q=sandbox.id, counts=True).counts["running"] == 1
        with skerry.audit.export(format="csv", resource_id=sandbox.id) as chunks:
            assert sum("sandbox.egress.set" in line for line in b"".join(chunks).decode().split()) == 2
        before = sandbox.info["expires_at"]
        assert sandbox.keepalive(timeout="1h").info["expires_at"] > before
        found = [it.id for it in skerry.sandboxes.list(metadata={"test": "python"}, alive=True)]
        assert found == [sandbox.id], found
    assert sandbox.refresh().info["status"] == "destroyed"
    try:
        sandbox.execute("true")
    except ConflictError as error:
        print(error.code)
    try:
        skerry.sandboxes.get("sbx_00000000000000000000000000")
    except NotFoundError as error:
        print(error.code, error.request_id is not None)
    print(skerry.me()["role"], skerry.status()["hosts"] is not None, skerry.health()["status"])
    print([size["name"] for size in skerry.sizes.list()][0], skerry.templates.list()[0]["name"])
    minted = skerry.tokens.create(name="python", expires_in="1h", scopes=["sandboxes:read"])
    assert minted["id"] in [token["id"] for token in skerry.tokens.list()]
    skerry.tokens.revoke(minted["id"])
    print(next(skerry.audit.list(action="token.revoke"))["outcome"], [it["status"] for it in skerry.hosts.list()])
`);
  expect(output.trimEnd().split("\n")).toEqual([
    "sandbox_not_running",
    "sandbox_not_found True",
    "owner True healthy",
    "shared-cpu-1x base",
    "success ['online']",
  ]);
});

test("the same works with asyncio, and commands run at the same time", async () => {
  const output = await printed(`
import asyncio
from skerry import AsyncSkerry

async def main() -> None:
    async with AsyncSkerry() as skerry, await skerry.sandboxes.create(template="base") as sandbox:
        await sandbox.upload("/work/in", "text")
        run, content, listing = await asyncio.gather(
            sandbox.execute("cat", stdin="in"), sandbox.download("/work/in"), sandbox.list_directory("/work")
        )
        assert (run["stdout"], content, len(listing["entries"])) == ("in", b"text", 1)
        seen = []
        async with sandbox.execute_stream("echo out; echo err >&2; exit 7") as events:
            async for event in events:
                seen.append(event["exit_code"] if event["type"] == "exit" else event["type"])
        print(sorted(seen[:-1]), seen[-1])
        # The second command says that the first one runs.
        task = asyncio.create_task(sandbox.execute("touch /work/begun; sleep 60"))
        await sandbox.execute("until [ -e /work/begun ]; do sleep 0.1; done", timeout="2m")
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            print("canceled")
        await sandbox.execute("while pgrep -x sleep; do :; done", timeout="2m")
        print([one.id == sandbox.id async for one in skerry.sandboxes.list(status="running")].count(True))

asyncio.run(main())
`);
  expect(output.trimEnd().split("\n")).toEqual(["['stderr', 'stdout'] 7", "canceled", "1"]);
});

const examples = await Promise.all(
  ["packages/python/README.md", "docs/python.md"].map(async (file) => {
    const text = await readFile(join(root, file), "utf8");
    const programs = [...text.matchAll(/^```python\n(.*?)^```$/gms)].map(([, program = ""]) => program);
    return programs.map((program, index) => [file, index + 1, program] as const);
  }),
).then((found) => found.flat());

test("there are examples", () => {
  expect(examples.length).toBeGreaterThanOrEqual(6);
});

test.each(examples)("%s: program %d runs, and prints what it says", async (...[, , program]) => {
  const output = await printed(program);
  const said = [...program.matchAll(/print\(.*\) {2}# (.*)$/gm)].map(([, text = ""]) => text);
  for (const text of said) expect(output).toContain(text);
});
