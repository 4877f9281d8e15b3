import { expect, test } from "vitest";
import { ScriptedServer, sendJson } from "../../sdk/tests/support/scripted-server.ts";
import { Shell } from "./support/shell.ts";

test("the log of a template is that of the build that made it, page after page", async () => {
  const lineOf = (line: number) => ({
    line,
    step: 0,
    time: "2026-11-20T16:41:10.123Z",
    text: `line ${line}`,
  });
  await using server = await ScriptedServer.start((response, { url }) => {
    if (url === "/v1/templates/base") return sendJson(response, 200, { name: "base", build_id: null });
    if (url === "/v1/templates/web%3A42") return sendJson(response, 200, { name: "web", build_id: "bld_1" });
    const after = Number(new URL(url, "http://server").searchParams.get("after") ?? 0);
    return sendJson(response, 200, { lines: [lineOf(after + 1)], more: after === 0 });
  });
  await using shell = await Shell.forServer(server);
  expect((await shell.run("template", "logs", "web:42")).stdout.toString()).toBe("line 1\nline 2\n");
  const { code, stderr } = await shell.run("template", "logs", "base");
  expect([code, stderr]).toEqual([1, expect.stringContaining("template_without_build")]);
  expect((await shell.run("template", "rm", "web:42")).stdout.toString()).toBe("web:42 deleted\n");
});
