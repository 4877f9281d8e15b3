import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ScriptedServer, sendJson } from "../../sdk/tests/support/scripted-server.ts";
import { Shell } from "./support/shell.ts";

const CODE = "A".repeat(43);
const ANSWER = { code: CODE, expires_at: "2026-11-20T16:21:00.000Z" };

const start = () => ScriptedServer.start((response) => sendJson(response, 200, ANSWER));

/** A shell whose PATH has one program, which browsers are opened with, or none. */
async function withOpener(baseUrl: string, script: string | undefined): Promise<Shell> {
  const shell = await Shell.open({
    SKERRY_API_URL: baseUrl,
    SKERRY_API_TOKEN: "sk_test",
    PATH: "./bin",
  });
  await mkdir(join(shell.folder, "bin"));
  if (script === undefined) return shell;
  for (const name of ["xdg-open", "open"]) {
    await writeFile(join(shell.folder, "bin", name), `#!/bin/sh\n${script}\n`);
    await chmod(join(shell.folder, "bin", name), 0o755);
  }
  return shell;
}

test("the browser is given the page with a code behind the hash, and the terminal does not show the code", async () => {
  await using server = await start();
  await using shell = await withOpener(server.baseUrl, 'echo "$1" > opened');
  const { code, stdout, stderr } = await shell.run("open");
  expect([code, stdout.toString(), stderr]).toEqual([0, "", `The browser opens ${server.baseUrl}/ui/\n`]);
  const opened = await readFile(join(shell.folder, "opened"), "utf8");
  expect(opened).toBe(`${server.baseUrl}/ui/login#code=${CODE}\n`);
});

test.each([
  ["fails", "exit 3", /^No browser was opened: (xdg-)?open failed\./],
  ["is not there", undefined, /^No browser was opened: there is no (xdg-)?open\./],
])(
  "where the program that opens browsers %s, the address is printed, and why",
  async (_what, script, why) => {
    await using server = await start();
    await using shell = await withOpener(server.baseUrl, script);
    const { code, stdout, stderr } = await shell.run("open");
    expect([code, stdout.toString()]).toEqual([0, `${server.baseUrl}/ui/login#code=${CODE}\n`]);
    expect(stderr).toMatch(why);
  },
);

test("with --print and with --json the address is printed and nothing is opened", async () => {
  await using server = await start();
  await using shell = await withOpener(server.baseUrl, 'echo "$1" > opened');
  const url = `${server.baseUrl}/ui/login#code=${CODE}`;
  expect((await shell.run("open", "--print")).stdout.toString()).toBe(`${url}\n`);
  expect(JSON.parse((await shell.run("open", "--json")).stdout.toString())).toEqual({
    url,
    expires_at: ANSWER.expires_at,
  });
  await expect(readFile(join(shell.folder, "opened"))).rejects.toThrow("ENOENT");
});
