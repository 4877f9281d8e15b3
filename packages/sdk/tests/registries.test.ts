import { expect, test } from "vitest";
import { Skerry } from "../src/skerry.ts";
import { ScriptedServer, sendJson } from "./support/scripted-server.ts";

test("credentials of a registry with a port go where they belong", async () => {
  await using server = await ScriptedServer.start((response, { method }) =>
    method === "DELETE" ? void response.writeHead(204).end() : sendJson(response, 200, { items: [] }),
  );
  const { registries } = new Skerry({ baseUrl: server.baseUrl, token: "sk_test" });
  await registries.set("registry.example:5000", { username: "me", password: "secret" });
  const path = "/v1/registry-credentials/registry.example%3A5000";
  expect(server.last).toMatchObject({ method: "PUT", url: path });
  expect(JSON.parse(server.last.body.toString())).toEqual({ username: "me", password: "secret" });
  expect(await registries.list()).toEqual([]);
  await registries.delete("registry.example:5000");
  expect(server.last).toMatchObject({ method: "DELETE", url: path });
});
