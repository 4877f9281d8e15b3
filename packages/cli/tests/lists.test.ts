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

test("VMs of an app are listed where they are asked for, and where the question is how a host or the VMs fare", async () => {
  await using server = await ScriptedServer.start((response) =>
    sendJson(response, 200, { items: [], next_cursor: null }),
  );
  await using shell = await Shell.forServer(server);
  for (const [words, owner] of [
    ["machine list", "none"],
    ["sandbox list --all", "none"],
    ["ps", "none"],
    ["ps --all", "none"],
    ["machine list --owner app:shop", "app:shop"],
    ["sandbox list --owner any", "any"],
    ["machine list --host hst_1", null],
    ["machine list --crash-loop", null],
    ["machine list --status failed", null],
    ["machine list --search mch_01", null],
    ["machine list --unhealthy --owner none", "none"],
  ] as const) {
    server.received.length = 0;
    await shell.run(...words.split(" "));
    const asked = server.received.map(({ url }) => new URL(url, "http://server").searchParams.get("owner"));
    expect([words, new Set(asked)]).toEqual([words, new Set([owner])]);
  }
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

test.each([
  ["passing", "running (healthy)"],
  ["failing", "running (unhealthy)"],
  ["starting", "running (health: starting)"],
  ["unknown", "running (health: unknown)"],
] as const)(
  "a machine whose health is %s is listed as %s, and JSON has what the API says",
  async (status, shown) => {
    const machine = { ...sandboxInfo, id: "mch_1", restarts: 0, reason: null, waits_for: null };
    const health = { status, since: sandboxInfo.created_at, reason: null, last_checked_at: null };
    const items = [
      { ...machine, health },
      { ...machine, id: "mch_2", health: null },
      { ...machine, id: "mch_3", status: "stopped", health },
    ];
    await using server = await ScriptedServer.start((response, { url }) =>
      sendJson(response, 200, { items: url.startsWith("/v1/machines") ? items : [], next_cursor: null }),
    );
    await using shell = await Shell.forServer(server);
    for (const words of [["machine", "list"], ["ps"]]) {
      const rows = (await shell.run(...words)).stdout.toString().trimEnd().split("\n").slice(1);
      const column = rows.map((row) => /  (running|stopped)( \(.*?\))?  /.exec(row)?.[0].trim());
      expect([words, new Set(column)]).toEqual([words, new Set([shown, "running", "stopped"])]);
      const json = JSON.parse((await shell.run(...words, "--json")).stdout.toString()) as object;
      expect(json).toMatchObject(words[0] === "ps" ? { machines: items } : { items });
    }
  },
);

test("a port that is made public is told with its address, which has no signature", async () => {
  const port = { port: 3000, public: true, listening: false, addresses: [], process: null };
  await using server = await ScriptedServer.start((response, { url }) => {
    if (url.endsWith("/urls") || url.includes("/url"))
      return sendJson(response, 201, {
        url: "http://3000-mch-1.localhost:7070/?skerry-signature=abc",
        expires_at: "2026-11-20T16:21:09.123Z",
      });
    return sendJson(response, 200, { items: [port], truncated: false, ...port });
  });
  await using shell = await Shell.forServer(server);
  const { stderr } = await shell.run("machine", "ports", "mch_1", "--public", "3000");
  expect(stderr).toBe("Port 3000 needs no token: http://3000-mch-1.localhost:7070/\n");
  expect((await shell.run("machine", "ports", "mch_1")).stderr).toBe("");
});
