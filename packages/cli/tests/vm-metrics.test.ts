import { expect, test } from "vitest";
import { ScriptedServer, sendJson } from "../../sdk/tests/support/scripted-server.ts";
import { Shell } from "./support/shell.ts";

const point = {
  ...{ at: "2026-11-20T16:20:00.000Z", cpu_seconds: 30, memory_bytes: 73_400_320, disk_bytes: 0 },
  ...{
    disk_read_bytes: 512,
    disk_written_bytes: 1_536,
    network_received_bytes: 2 ** 31,
    network_sent_bytes: 1_023,
  },
};

test("the metrics of a sandbox are a table, with damaged samples told beside it, or JSON", async () => {
  const metrics = { step: "5m", items: [point], damaged: 2 };
  await using server = await ScriptedServer.start((response) => sendJson(response, 200, metrics));
  await using shell = await Shell.forServer(server);
  const shown = await shell.run("sandbox", "metrics", "sbx_0", "--since", "2026-11-20", "--step", "5m");
  const [head, row] = shown.stdout
    .toString()
    .trim()
    .split("\n")
    .map((line) => line.split(/ {2,}/));
  expect(head?.slice(0, 3)).toEqual(["FROM", "CPU", "MEMORY"]);
  expect(row).toEqual([
    "2026-11-20 16:20",
    "10.0 %",
    "70.0 MiB",
    "0 B",
    "512 B",
    "1.5 KiB",
    "2.0 GiB",
    "1023 B",
  ]);
  expect(shown.stderr).toContain("2 samples are damaged");
  expect(server.last.url).toContain("/sbx_0/metrics?since=2026-11-20&step=5m");
  const json = await shell.run("machine", "metrics", "mch_0", "--json");
  expect(JSON.parse(json.stdout.toString())).toEqual(metrics);
});

test("where nothing was measured yet, it says so", async () => {
  await using server = await ScriptedServer.start((response) =>
    sendJson(response, 200, { step: "5m", items: [], damaged: 0 }),
  );
  await using shell = await Shell.forServer(server);
  expect((await shell.run("machine", "metrics", "mch_0")).stderr).toContain("Nothing was measured");
});
