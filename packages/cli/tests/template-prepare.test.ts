import { expect, test } from "vitest";
import { ScriptedServer, sendJson } from "../../sdk/tests/support/scripted-server.ts";
import { Shell } from "./support/shell.ts";

const old = { failed_at: "2026-11-20T16:41:10.123Z", reason: "the disk was full", lines: [] };
const of = (status: string, failure: object | null) => ({ name: "ci", status, failure, progress: null });

/** Answers the request to make it with the first, and each look with the next, the last one for ever. */
function making(...answers: readonly object[]): Promise<ScriptedServer> {
  const left = [...answers];
  return ScriptedServer.start((response) =>
    sendJson(response, 200, (left.length > 1 ? left.shift() : left[0]) ?? {}),
  );
}

test("an image that is waited for is told when it is made, and a failure of before is none of now", async () => {
  await using server = await making(of("building", old), of("failed", old), of("ready", null));
  await using shell = await Shell.forServer(server);
  const { code, stdout } = await shell.run("template", "prepare", "--wait", "ci");
  expect([code, stdout.toString()]).toEqual([0, "ci ready\n"]);
  expect(server.received.map(({ method }) => method)).toEqual(["POST", "GET", "GET"]);
});

test("an image that cannot be made ends the wait with the reason", async () => {
  const failed = of("failed", { ...old, failed_at: "2026-11-20T16:43:00.000Z", reason: "no route to it" });
  await using server = await making(of("building", old), failed);
  await using shell = await Shell.forServer(server);
  const { code, stderr } = await shell.run("template", "prepare", "--wait", "ci");
  expect(code).toBe(1);
  expect(stderr).toContain('The image of "ci" could not be made. (template_not_ready)');
  expect(stderr).toContain("no route to it");
  expect(stderr).toContain("skerry template logs ci");
});

test("without the wait it says what is under way, and how to see it", async () => {
  await using server = await making(of("building", null));
  await using shell = await Shell.forServer(server);
  const { stdout, stderr } = await shell.run("template", "prepare", "ci");
  expect([stdout.toString(), stderr]).toEqual(["ci building\n", expect.stringContaining("--wait")]);
});
