import { expect, test } from "vitest";
import { exitFields, output, ScriptedServer, sendJson } from "../../sdk/tests/support/scripted-server.ts";
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

const running = { ...one, status: "running", exit: null, ended_at: null, stdout: "", stderr: "" };
const exited = { ...one, stdout: btoa("all\n"), stderr: "" };
const lost = { ...exited, status: "ended", exit: null, reason: "its sandbox ended: its host is gone" };

test.each([
  ["to its end", [running], "both\nall\n", 3, "The run exited with 3."],
  ["that has ended already", [exited], "all\n", 3, "The run exited with 3."],
  ["whose sandbox goes before anything came", [running, exited], "all\n", 3, "The run exited with 3."],
  ["whose sandbox goes without it", [running, lost], "all\n", 125, "its sandbox ended: its host is gone"],
] as const)(
  "runs logs --follow follows one %s, and exits with its code",
  async (...[, answers, text, code, said]) => {
    let asked = 0;
    await using server = await ScriptedServer.start((response, { url }) => {
      if (url.startsWith(`/v1/executions/${ID}`))
        return sendJson(response, 200, answers[Math.min(asked++, answers.length - 1)] ?? {});
      if (answers.length > 1) return sendJson(response, 410, { code: "sandbox_destroyed", message: "Gone." });
      expect(url).toContain(`/v1/sandboxes/sbx_0/executions/${ID}/stream`);
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(`id: 5\n${output("stdout", "both\n")}`);
      response.write('id: 9\nevent: dropped\ndata: {"from":5,"to":9}\n\n');
      response.write(`id: 13\n${output("stdout", "all\n")}`);
      response.end(`id: 13\nevent: exit\ndata: ${JSON.stringify({ ...exitFields, exit_code: 3 })}\n\n`);
    });
    await using shell = await Shell.forServer(server);
    for (const flag of ["--follow", "-f"]) {
      asked = 0;
      const answer = await shell.run("runs", "logs", flag, ID);
      expect([answer.code, answer.stdout.toString()]).toEqual([code, text]);
      expect(answer.stderr).toContain(said);
    }
  },
);
