// What lists of sandboxes and machines say beside their rows, and what a change is made to.

import { expect, test } from "vitest";
import { sandboxInfo, ScriptedServer, sendJson } from "../../sdk/tests/support/scripted-server.ts";
import { Shell } from "./support/shell.ts";

test("list --counts says how many there are of each status below the table, and in its JSON", async () => {
  const counts = { creating: 0, running: 380, paused: 20, failed: 3 };
  await using server = await ScriptedServer.start((response, { url }) =>
    sendJson(response, 200, {
      items: [],
      next_cursor: null,
      ...(url.includes("counts=true") && { counts: url.includes("q=none") ? { running: 0 } : counts }),
    }),
  );
  await using shell = await Shell.forServer(server);
  const lastLine = async (...args: readonly string[]) => {
    const { stdout } = await shell.run(...args);
    return stdout.toString().trimEnd().split("\n").at(-1);
  };
  expect(await lastLine("sandbox", "list", "--counts")).toBe("403 in all: 380 running, 20 paused, 3 failed");
  expect(await lastLine("machine", "list", "--counts", "--search", "none")).toBe("0 in all");
  const all = await shell.run("sandbox", "list", "--counts", "--all", "--json", "--host", "hst_1");
  expect(JSON.parse(all.stdout.toString())).toEqual({ items: [], next_cursor: null, counts });
  expect(server.received.map(({ url }) => url)).toContain("/v1/sandboxes?limit=1&counts=true&host=hst_1");
  const plain = await shell.run("sandbox", "list", "--json");
  expect(JSON.parse(plain.stdout.toString())).toEqual({ items: [], next_cursor: null });
});

test("what is paused has no time at which it expires", async () => {
  const items = [sandboxInfo, { ...sandboxInfo, id: "sbx_1", status: "paused" }];
  await using server = await ScriptedServer.start((response, { url }) =>
    sendJson(response, 200, { items: url.startsWith("/v1/sandboxes") ? items : [], next_cursor: null }),
  );
  await using shell = await Shell.forServer(server);
  for (const words of [["sandbox", "list"], ["ps"]]) {
    const rows = (await shell.run(...words)).stdout.toString().trimEnd().split("\n").slice(1);
    const last = rows.map((row) => row.trim().split(/ {2,}/).at(-1));
    expect([words, last]).toEqual([words, [expect.not.stringMatching(/^-$/), "-"]]);
  }
});
