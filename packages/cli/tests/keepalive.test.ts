import { expect, test } from "vitest";
import { sandboxInfo, ScriptedServer, sendJson } from "../../sdk/tests/support/scripted-server.ts";
import { Shell } from "./support/shell.ts";

test("keepalive says where the new expiry is the most there is", async () => {
  let expiry = "2026-11-20T16:26:09.223Z";
  await using server = await ScriptedServer.start((response, { method }) => {
    if (method === "POST") expiry = "2026-11-21T16:26:09.223Z";
    sendJson(response, 200, { ...sandboxInfo, expires_at: expiry });
  });
  await using shell = await Shell.forServer(server);
  const clamped = await shell.run("sandbox", "keepalive", "sbx_0", "--timeout", "25h");
  expect(clamped.stdout.toString()).toBe("sbx_0 expires 2026-11-21T16:26:09.223Z\n");
  expect(clamped.stderr).toBe("No sandbox is kept for longer than 24h from now; it was asked for 25h.\n");
});

test("keepalive needs no more rights than to keep alive", async () => {
  await using server = await ScriptedServer.start((response, { method }) =>
    method === "GET"
      ? sendJson(response, 403, { code: "forbidden", message: "The token may not read." })
      : sendJson(response, 200, sandboxInfo),
  );
  await using shell = await Shell.forServer(server);
  expect(await shell.run("sandbox", "keepalive", "sbx_0")).toMatchObject({ code: 0, stderr: "" });
});

test("keepalive says where the sandbox would have lived longer anyway", async () => {
  await using server = await ScriptedServer.start((response) => sendJson(response, 200, sandboxInfo));
  await using shell = await Shell.forServer(server);
  expect(await shell.run("sandbox", "keepalive", "sbx_0", "--timeout", "1s")).toMatchObject({
    code: 0,
    stdout: Buffer.from(`sbx_0 expires ${sandboxInfo.expires_at}\n`),
    stderr: "It would have lived longer than that anyway; nothing has changed.\n",
  });
});
