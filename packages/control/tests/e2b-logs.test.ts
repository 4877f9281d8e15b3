import { Sandbox } from "e2b-2.51";
import { expect, test } from "vitest";
import { e2bOptions } from "./support/e2b.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();

test("logs of a sandbox are lines of JSON, as E2B's command line reads them, from a time in milliseconds on", async () => {
  const { sandboxId } = await Sandbox.create(e2bOptions(world));
  const { apiUrl, apiKey } = e2bOptions(world);
  const read = async (query = "") => {
    const answer = await fetch(`${apiUrl}/sandboxes/${sandboxId}/logs${query}`, {
      headers: { "x-api-key": apiKey },
    });
    expect(answer.status).toBe(200);
    return (await answer.json()) as { logs: { timestamp: string; line: string }[] };
  };
  const { logs } = await read();
  expect(JSON.parse(logs[0]?.line ?? "")).toMatchObject({ logger: "skerry", level: "info", kind: "created" });
  // As the command line follows them: from behind the last one.
  const behind = Date.parse(logs.at(-1)?.timestamp ?? "") + 1;
  const later = (await read(`?start=${behind}`)).logs.map(({ timestamp }) => Date.parse(timestamp));
  expect(later.filter((ms) => ms < behind)).toEqual([]);
});
