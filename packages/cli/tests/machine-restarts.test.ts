import { expect, test } from "vitest";
import { ScriptedServer, sendJson } from "../../sdk/tests/support/scripted-server.ts";
import { Shell } from "./support/shell.ts";

test("machine restarts lists what ended a machine, and when it ran again", async () => {
  const end = { ended_at: "2020-01-01T00:00:00.000Z", cause: "main_exited", out_of_memory: false };
  const items = [
    {
      ...end,
      id: "evt_2",
      exit_code: null,
      signal: null,
      reason: "could not start\u001b[2J",
      restarted_at: null,
    },
    { ...end, id: "evt_1", exit_code: 137, signal: "SIGKILL", reason: "killed", restarted_at: end.ended_at },
  ];
  await using server = await ScriptedServer.start((response) =>
    sendJson(response, 200, { items, next_cursor: null }),
  );
  await using shell = await Shell.forServer(server);
  const { stdout } = await shell.run("machine", "restarts", "web");
  const [, first, second] = stdout.toString().split("\n");
  expect(first).toMatch(/^\d+ d ago +- +- +could not start\\x1b\[2J$/);
  expect(second).toMatch(/^\d+ d ago +\d+ d ago +SIGKILL +killed$/);
  expect(server.last.url).toBe("/v1/machines/web/restarts?limit=100");
  const json = await shell.run("machine", "restarts", "web", "--json");
  expect(JSON.parse(json.stdout.toString())).toMatchObject({ items: [{ id: "evt_2" }, { id: "evt_1" }] });
});
