import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ScriptedServer, sendJson } from "../../sdk/tests/support/scripted-server.ts";
import { Shell } from "./support/shell.ts";

const build = {
  id: "bld_1",
  name: "app",
  tag: "1",
  waits_for_context: true,
  steps: [],
  template_id: "tpl_1",
};

test("an archive of an image is sent as it is, and a compressed one is refused with how to unpack it", async () => {
  await using server = await ScriptedServer.start((response, { method, url }) => {
    if (method === "POST") return sendJson(response, 201, build);
    if (!url.includes("/logs")) return sendJson(response, 200, { ...build, status: "ready" });
    response.writeHead(200, { "content-type": "text/event-stream" });
    return response.end("event: end\ndata: {}\n\n");
  });
  await using shell = await Shell.forServer(server);
  await writeFile(join(shell.folder, "app.tar"), "an archive");
  await writeFile(join(shell.folder, "app.tar.gz"), Buffer.from([0x1f, 0x8b, 8, 0]));
  const command = ["template", "build", "--name", "app", "--archive"];
  const { code, stdout } = await shell.run(...command, "app.tar", "--tag", "1", "--env", "A=1");
  expect([code, stdout.toString()]).toEqual([0, "tpl_1\n"]);
  const [asked, sent] = server.received;
  expect(JSON.parse(asked?.body.toString() ?? "")).toEqual({
    ...{ name: "app", tag: "1", archive: true, context: true, env: { A: "1" } },
  });
  expect([sent?.url, sent?.body.toString()]).toEqual(["/v1/builds/bld_1/context", "an archive"]);
  const packed = await shell.run(...command, "app.tar.gz");
  expect([packed.code, packed.stderr]).toEqual([
    1,
    "error: app.tar.gz is compressed by gzip. (archive_compressed)\nSend the tar archive itself: `gzip -d` makes it.\n",
  ]);
  const both = await shell.run(...command, "app.tar", "--from", "base");
  expect([both.code, both.stderr]).toEqual([2, expect.stringContaining("(bad_flags)")]);
});
