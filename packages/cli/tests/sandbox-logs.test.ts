import { expect, test } from "vitest";
import {
  exitFields,
  output,
  sandboxInfo,
  ScriptedServer,
  sendJson,
} from "../../sdk/tests/support/scripted-server.ts";
import { Shell } from "./support/shell.ts";

const ids = ["exe_01kb3x5w7y9z1a3c5e7g9j1m3p", "exe_01kb3x5w7y9z1a3c5e7g9j1m3q"] as const;
const known = { command: "make", started_at: "2026-11-20T16:21:09.123Z" };
const ended = { ...known, id: ids[0], exit: { ...exitFields, exit_code: 3 }, position: 7 };
const running = { ...known, id: ids[1], exit: null, position: 4 };
const kept = { ...known, id: ids[0], sandbox_id: "sbx_0", exit: exitFields, output_bytes: 5 };

/** Each chunk ends at the position that its id says. */
const at = (position: number, text: string) => `id: ${position}\n${text}`;

function serverWith(
  status: "running" | "destroyed",
  keptOnes: readonly object[] = [],
): Promise<ScriptedServer> {
  return ScriptedServer.start((response, { url }) => {
    if (url.endsWith("/stream?hold=false")) {
      response.writeHead(200, { "content-type": "text/event-stream" });
      if (url.includes(ids[0]))
        return response.end(at(3, output("stdout", "one")) + at(7, output("stderr", "warn")));
      // One that runs goes on; what comes after its listing is not waited for.
      return response.write(at(4, output("stdout", "two\n")));
    }
    if (url.startsWith("/v1/sandboxes/sbx_0/executions"))
      return sendJson(response, 200, { items: [running, ended], next_cursor: null });
    if (url.startsWith("/v1/executions/"))
      return sendJson(response, 200, {
        ...kept,
        stdout: Buffer.from("saved").toString("base64"),
        stderr: "",
      });
    if (url.startsWith("/v1/executions"))
      return sendJson(response, 200, { items: keptOnes, next_cursor: null });
    return sendJson(response, 200, { ...sandboxInfo, status });
  });
}

test("the log of a sandbox is what its commands have printed, the oldest first, each byte where it came", async () => {
  await using server = await serverWith("running");
  await using shell = await Shell.forServer(server);
  for (const words of [["sandbox", "logs"], ["logs"]]) {
    const { code, stdout, stderr } = await shell.run(...words, "sbx_0");
    expect([code, stdout.toString()]).toEqual([0, "onetwo\n"]);
    expect(stderr).toMatch(/^== exe_\w+p, .*, exit 3: make\nwarn== exe_\w+q, .*, exit -: make\n$/);
  }
});

test("the log of one that is gone is what was kept, and where nothing was it says what is", async () => {
  await using server = await serverWith("destroyed", [kept, { ...kept, sandbox_id: "sbx_1" }]);
  await using shell = await Shell.forServer(server);
  expect((await shell.run("sandbox", "logs", "sbx_0")).stdout.toString()).toBe("saved");
  await using empty = await serverWith("destroyed");
  await using other = await Shell.forServer(empty);
  const none = await other.run("sandbox", "logs", "sbx_0");
  expect([none.code, none.stderr]).toEqual([1, expect.stringContaining("`skerry runs` lists it")]);
});
