// The Python client as its users have it, from the server that it is for, against real microVMs; and the
// examples of its documentation. Each of its calls is in `packages/control/tests/client-calls.test.ts`.

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

test("a sandbox is made, runs commands, takes files and gives them back, and is destroyed", async () => {
  const output = await printed(`
import io
from pathlib import Path
from skerry import ConflictError, Skerry

with Skerry() as skerry:
    with skerry.sandboxes.create(template="base", timeout="10m", env={"GREETING": "hello"}) as sandbox:
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
    assert sandbox.refresh().info["status"] == "destroyed"
    try:
        sandbox.execute("true")
    except ConflictError as error:
        print(error.code)
`);
  expect(output).toBe("sandbox_not_running\n");
});

test("with asyncio commands run at the same time, and one whose task is canceled is killed", async () => {
  const output = await printed(`
import asyncio
from skerry import AsyncSkerry

async def main() -> None:
    async with AsyncSkerry() as skerry, await skerry.sandboxes.create(template="base") as sandbox:
        # Each waits for the other.
        await asyncio.gather(
            sandbox.execute("touch /root/one; until [ -e /root/two ]; do sleep 0.1; done", timeout="2m"),
            sandbox.execute("touch /root/two; until [ -e /root/one ]; do sleep 0.1; done", timeout="2m"),
        )
        # The second command says that the first one runs.
        task = asyncio.create_task(sandbox.execute("touch /root/begun; sleep 60"))
        await sandbox.execute("until [ -e /root/begun ]; do sleep 0.1; done", timeout="2m")
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            print("canceled")
        await sandbox.execute("while pgrep -x sleep; do :; done", timeout="2m")

asyncio.run(main())
`);
  expect(output).toBe("canceled\n");
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
