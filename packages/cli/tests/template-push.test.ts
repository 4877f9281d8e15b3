// `skerry template push`: what it asks, what it prints, and how it ends.

import { expect, test } from "vitest";
import { ScriptedServer, sendJson } from "../../sdk/tests/support/scripted-server.ts";
import { Shell } from "./support/shell.ts";

const image = "registry.example.com/team/web:42";
const digest = `sha256:${"5".repeat(64)}`;
const begun = {
  ...{ id: "bld_0", name: "web", tag: "42", status: "queued", error: null, template_id: null, steps: [] },
  ...{ waits_for_context: false, pushed: { template_id: "tpl_0", image, digest: null } },
};

/** A server whose push ends like this. */
function serverOf(ended: object): Promise<ScriptedServer> {
  return ScriptedServer.start((response, { method, url }) => {
    if (method === "POST") return sendJson(response, 201, begun);
    if (!url.includes("/logs")) return sendJson(response, 200, { ...begun, ...ended });
    response.writeHead(200, { "content-type": "text/event-stream" });
    const line = { line: 1, step: 1, time: "", text: "Copying blob" };
    response.end(`event: line\ndata: ${JSON.stringify(line)}\n\nevent: end\ndata: {}\n\n`);
  });
}

test("a push prints what it does on standard error, and the digest on standard output", async () => {
  await using server = await serverOf({ status: "ready", pushed: { ...begun.pushed, digest } });
  await using shell = await Shell.forServer(server);
  const flags = ["--size", "shared-cpu-1x", "--timeout", "5m", "--egress-allow-domain", "*.example.com"];
  const { code, stdout, stderr } = await shell.run("template", "push", "web:42", image, ...flags);
  expect([code, stdout.toString()]).toEqual([0, `${digest}\n`]);
  expect(stderr).toContain(`bld_0 pushes web:42 to ${image}.`);
  expect(stderr).toContain("2  Copying blob");
  const [asked] = server.received;
  expect(asked?.url).toBe("/v1/templates/web%3A42/push");
  expect(JSON.parse(String(asked?.body))).toMatchObject({
    ...{ image, size: "shared-cpu-1x", timeout: "5m" },
    egress: { allow_domains: ["*.example.com"] },
  });
});

test("a push that fails ends with its code, and says where the whole log is", async () => {
  const error = {
    ...{ code: "registry_denied", message: "No.", step: null },
    ...{ exit_code: 125, last_lines: ["unauthorized"] },
  };
  await using server = await serverOf({ status: "failed", error });
  await using shell = await Shell.forServer(server);
  const { code, stdout, stderr } = await shell.run("template", "push", "web:42", image);
  expect([code, stdout.toString()]).toEqual([1, ""]);
  expect(stderr).toContain("registry_denied");
  expect(stderr).toContain("skerry build logs bld_0");
});
