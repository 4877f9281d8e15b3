import { expect, test } from "vitest";
import { sandboxInfo, ScriptedServer, sendJson } from "../../sdk/tests/support/scripted-server.ts";
import { Shell } from "./support/shell.ts";

test("pause and resume tell what became of each sandbox, and go on after one that fails", async () => {
  await using server = await ScriptedServer.start((response, { url }) => {
    if (url.includes("sbx_1"))
      return sendJson(response, 409, { code: "sandbox_not_persistent", message: "It is ephemeral." });
    return sendJson(response, 200, {
      ...sandboxInfo,
      status: url.endsWith("/pause") ? "paused" : "running",
    });
  });
  await using shell = await Shell.forServer(server);
  const paused = await shell.run("sandbox", "pause", "sbx_1", "sbx_0");
  expect([paused.code, paused.stdout.toString()]).toEqual([1, "sbx_0 paused\n"]);
  expect(paused.stderr).toContain("sandbox_not_persistent");
  const resumed = await shell.run("sandbox", "resume", "sbx_0", "--json");
  expect(JSON.parse(resumed.stdout.toString())).toMatchObject({ id: "sbx_0", status: "running" });
});

test("create asks for a pause after a time without use", async () => {
  await using server = await ScriptedServer.start((response) => sendJson(response, 201, sandboxInfo));
  await using shell = await Shell.forServer(server);
  await shell.run("sandbox", "create", "base", "--mode", "persistent", "--pause-after-idle", "10m");
  expect(JSON.parse(server.last?.body.toString() ?? "")).toEqual({
    ...{ template: "base", mode: "persistent" },
    pause_after_idle: "10m",
  });
});

test("create asks for the mode that it was given, and for no other", async () => {
  await using server = await ScriptedServer.start((response) =>
    sendJson(response, 201, { ...sandboxInfo, mode: "persistent" }),
  );
  await using shell = await Shell.forServer(server);
  const created = await shell.run("sandbox", "create", "base", "--mode", "persistent");
  expect(JSON.parse(server.last?.body.toString() ?? "")).toEqual({ template: "base", mode: "persistent" });
  expect(created.stderr).toContain(`is paused ${sandboxInfo.expires_at}`);
  expect((await shell.run("sandbox", "create", "base", "--mode", "eternal")).code).toBe(2);
});
