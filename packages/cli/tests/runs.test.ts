import { expect, test } from "vitest";
import { exitFields, ScriptedServer, sendJson } from "../../sdk/tests/support/scripted-server.ts";
import { Shell } from "./support/shell.ts";

const ID = "exe_01kb3x5w7y9z1a3c5e7g9j1m3p";
const one = {
  ...{ id: ID, sandbox_id: "sbx_0", command: "make test", status: "exited", reason: null },
  ...{ destroys_sandbox: false, output_bytes: 11, exit: { ...exitFields, exit_code: 3 } },
  ...{ started_at: "2026-11-20T16:21:09.123Z", ended_at: "2026-11-20T16:41:12.456Z" },
};

function serverOfRuns(): Promise<ScriptedServer> {
  return ScriptedServer.start((response, { url }) => {
    if (url.startsWith("/v1/executions?") || url === "/v1/executions")
      return sendJson(response, 200, { items: [one], next_cursor: null });
    if (!url.startsWith(`/v1/executions/${ID}`))
      return sendJson(response, 404, { code: "execution_not_found", message: "There is none." });
    const text = (bytes: Uint8Array) =>
      Buffer.from(bytes).toString(url.includes("encoding=base64") ? "base64" : "utf8");
    const output = { stdout: text(Uint8Array.of(0xff, 10)), stderr: text(Buffer.from("warned\n")) };
    return sendJson(response, 200, { ...one, ...output });
  });
}

test("runs lists what was run, and shows one", async () => {
  await using server = await serverOfRuns();
  await using shell = await Shell.forServer(server);
  for (const words of [["runs"], ["runs", "list"]]) {
    const { code, stdout } = await shell.run(...words);
    expect([code, stdout.toString()]).toEqual([
      0,
      expect.stringMatching(new RegExp(`${ID}.*exited.*3.*make test`)),
    ]);
  }
  const shown = await shell.run("runs", "show", ID);
  expect(shown.stdout.toString()).toMatch(/command +make test\n[^]*exit +3\n[^]*sandbox +sbx_0\n/);
  const json = JSON.parse((await shell.run("runs", "show", ID, "--json")).stdout.toString());
  expect(json).toMatchObject({ id: ID, stderr: "warned\n" });
});

test("runs logs writes each byte where it came, also of one that is called by the beginning of its id", async () => {
  await using server = await serverOfRuns();
  await using shell = await Shell.forServer(server);
  for (const id of [ID, ID.slice(0, 12)])
    expect(await shell.run("runs", "logs", id)).toMatchObject({
      ...{ code: 0, stdout: Buffer.from([0xff, 10]), stderr: "warned\n" },
    });
  const none = await shell.run("runs", "logs", "exe_9");
  expect(none).toMatchObject({ code: 1, stderr: expect.stringContaining("skerry runs list") });
});
