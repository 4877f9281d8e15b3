import { expect, test } from "vitest";
import { ScriptedServer, sendJson } from "../../sdk/tests/support/scripted-server.ts";
import { Shell } from "./support/shell.ts";

const event = {
  id: "evt_0",
  kind: "pause_failed",
  reason: "The disk is full.",
  ...{ at: "2026-11-20T16:41:09.423Z", last_at: "2026-11-20T16:41:09.423Z", count: 1 },
};

test.each(["sandbox", "machine"])(
  "the events of a %s are a table, or JSON as the API has it",
  async (noun) => {
    const id = noun === "sandbox" ? "sbx_0" : "mch_0";
    const page = {
      items: [
        { ...event, kind: "denied", reason: "tcp to 203.0.113.9", count: 7 },
        event,
        { ...event, reason: null },
      ],
      next_cursor: null,
    };
    await using server = await ScriptedServer.start((response) => sendJson(response, 200, page));
    await using shell = await Shell.forServer(server);
    const shown = await shell.run(noun, "events", id);
    const rows = shown.stdout
      .toString()
      .trim()
      .split("\n")
      .map((line) => line.split(/ {2,}/).slice(1));
    expect(rows).toEqual([
      ["EVENT", "WHY"],
      ["denied", "tcp to 203.0.113.9 (7 times)"],
      ["pause failed", "The disk is full."],
      ["pause failed", "-"],
    ]);
    expect(server.last.url).toContain(`/${id}/events?limit=500`);
    const json = await shell.run(noun, "events", id, "--json");
    expect(JSON.parse(json.stdout.toString())).toEqual(page);
  },
);
