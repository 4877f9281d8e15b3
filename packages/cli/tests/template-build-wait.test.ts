// What `skerry template build` says while it waits.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ScriptedServer, sendJson } from "../../sdk/tests/support/scripted-server.ts";
import { ended, Shell } from "./support/shell.ts";

const queued = {
  ...{ id: "bld_1", name: "web", tag: "42", status: "queued", waits_for_context: true },
  ...{ steps: [], error: null, template_id: null, host_id: "hst_1" },
};

test("while a build has no microVM, the command says what it waits for", async () => {
  const { promise: told, resolve: tell } = Promise.withResolvers<void>();
  await using server = await ScriptedServer.start(async (response, { method, url }) => {
    if (method === "POST") return sendJson(response, 201, queued);
    if (method === "PUT") await told;
    if (!url.includes("/logs")) return sendJson(response, 200, { ...queued, status: "ready" });
    response.writeHead(200, { "content-type": "text/event-stream" });
    return response.end("event: end\ndata: {}\n\n");
  });
  await using shell = await Shell.open({
    ...{ SKERRY_API_URL: server.baseUrl, SKERRY_API_TOKEN: "sk_test", SKERRY_QUIET: "" },
  });
  await writeFile(join(shell.folder, "index.html"), "");
  const child = shell.start("template", "build", "--name", "web");
  child.stdin.end();
  child.stderr.on("data", (text: Buffer) => text.includes("Waiting for the build's microVM (") && tell());
  const { code, stderr } = await ended(child);
  expect(code).toBe(0);
  expect(stderr).toMatch(/bld_1 builds web:42\.\nWaiting for the build's microVM \(\d+ s\)\n/);
});
