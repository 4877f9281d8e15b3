import { expect, test } from "vitest";
import { ScriptedServer, sendJson } from "../../sdk/tests/support/scripted-server.ts";
import { Shell } from "./support/shell.ts";

test("usage shows what the organization has had, a line for each step", async () => {
  const point = {
    sandboxes: 412,
    machines: 38,
    vcpus: 618,
    memory_mib: 296_960,
    disk_gib: 3_600,
    created: 97,
    denied: 1_204,
  };
  const answer = { step: "1h", items: [{ at: "2026-11-20T16:00:00.000Z", ...point }] };
  await using server = await ScriptedServer.start((response) => sendJson(response, 200, answer));
  await using shell = await Shell.forServer(server);
  const { stdout } = await shell.run("usage", "--since", "2026-11-20", "--until", "2026-11-21");
  expect(stdout.toString()).toBe(
    "FROM              SANDBOXES  MACHINES  VCPUS  MEMORY     DISK      CREATED  DENIED\n" +
      "2026-11-20 16:00  412        38        618    290.0 GiB  3600 GiB  97       1204\n",
  );
  expect(server.last.url).toBe("/v1/usage?since=2026-11-20&until=2026-11-21&step=1h");
  const json = await shell.run("usage", "--step", "5m", "--json");
  expect([JSON.parse(json.stdout.toString()), server.last.url]).toEqual([answer, "/v1/usage?step=5m"]);
});

test("usage says where nothing was measured", async () => {
  await using server = await ScriptedServer.start((response) =>
    sendJson(response, 200, { step: "1h", items: [] }),
  );
  await using shell = await Shell.forServer(server);
  expect((await shell.run("usage")).stderr).toBe("Nothing was measured then.\n");
});
