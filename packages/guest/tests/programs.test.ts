// Programs that are run in place of a shell.

import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";

import { expect, test } from "vitest";

import { agentForEachTest } from "./support/agent-for-each-test.ts";
import { Executions, outputOf } from "./support/executions.ts";

let run: Executions;
agentForEachTest(({ link }) => void (run = new Executions(link)));

test("a program is run without a shell, with its words as they are, as the user that is named", async () => {
  const env = { PATH: "/nowhere:/usr/bin" };
  const program = ["env", "printf", "%s|", "a b", "$HOME", "", "`id`", "'"];
  await run.start("shown", { program, env });
  expect(await run.list()).toMatchObject([{ command: "shown" }]);
  expect(outputOf(await run.follow().ended).stdout.toString()).toBe("a b|$HOME||`id`|'|");
  const who = ["/bin/sh", "-c", "id -u; id -g; id -G; pwd; echo $HOME $USER $LOGNAME $SHELL"];
  await run.start("", { program: who, user: "nobody", execution: "nobody" });
  expect(outputOf(await run.follow(0, { execution: "nobody" }).ended).stdout.toString()).toBe(
    "65534\n65534\n65534\n/\n/nonexistent nobody nobody /usr/sbin/nologin\n",
  );
  await run.start("", { program: who, user: "0", execution: "root" });
  expect(outputOf(await run.follow(0, { execution: "root" }).ended).stdout.toString()).toContain(
    "/root root root /bin/bash\n",
  );
});

test("files of /run are left alone on a machine that is not the agent's", async () => {
  const name = `skerry-test-${process.pid}`;
  await run.start("", { program: ["true"], run_files: { [`${name}/.A`]: "x", [name]: "" } });
  expect((await run.follow().ended).result).toMatchObject({ exit_code: 0 });
  expect(existsSync(`/run/${name}`)).toBe(false);
});

test("a program that cannot be run ends as in a shell, and says why", async () => {
  for (const [name, exit_code, why] of [
    ["no-such-program", 127, "No such file or directory"],
    ["/etc/passwd", 126, "Permission denied"],
  ] as const) {
    await run.start("", { program: [name], execution: `exe_${exit_code}` });
    const ended = await run.follow(0, { execution: `exe_${exit_code}` }).ended;
    expect(ended.result).toMatchObject({ exit_code });
    expect(outputOf(ended).stderr.toString()).toBe(`${name}: ${why}\n`);
  }
});

test("a program's user must be there, and have the right to enter the folder that is named", async () => {
  const program = ["pwd"];
  const workdir = await mkdtemp("/tmp/skerry-roots-"); // mode 700
  try {
    const { result } = await run.start("", { program, user: "nobody", workdir });
    expect(result).toMatchObject({ code: "permission_denied" });
  } finally {
    await rm(workdir, { recursive: true });
  }
  for (const user of ["nobody-else", "nobody:no-such-group"])
    expect((await run.start("", { program, user })).result).toMatchObject({ code: "user_not_found" });
  for (const refused of [
    { program, user: "n".repeat(66) },
    { program: [] },
    { program: Array.from({ length: 513 }, () => "x") },
    ...["", "a/", "/a", "a/b/c", "..", "../a", "a/..", "a b", "x".repeat(101)].map((name) => ({
      program,
      run_files: { [name]: "" },
    })),
    { program, run_files: { a: "x".repeat(1_025) } },
    { program, run_files: Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`f${i}`, ""])) },
  ])
    expect((await run.start("", refused)).result).toMatchObject({ code: "bad_request" });
  expect(await run.list()).toEqual([]);
});
