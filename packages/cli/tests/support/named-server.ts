// A server whose sandboxes and machines have names.

import {
  machineInfo,
  sandboxInfo,
  ScriptedServer,
  sendJson,
} from "../../../sdk/tests/support/scripted-server.ts";

export const ids = [
  "sbx_01kb3x0q9vt5c7r2m8n4p6w1yz",
  "sbx_01kb3x0q9vt5c8r2m8n4p6w1yz",
  "sbx_01kb4000000000000000000000",
];

/** Three sandboxes, the last of which is called `web`, and a machine `db`. It knows ids and names, as the API does. */
export function namedServer(): Promise<ScriptedServer> {
  return ScriptedServer.start((response, { method, url }) => {
    const sandboxes = ids.map((id, index) => ({ ...sandboxInfo, id, name: index === 2 ? "web" : null }));
    const machine = { ...machineInfo, id: "mch_01kb3x7q9vt5c7r2m8n4p6w1yz", name: "db" };
    const [, , noun = "", asked] = new URL(url, "http://host").pathname.split("/");
    const items = noun === "sandboxes" ? sandboxes : [machine];
    if (asked === undefined) return sendJson(response, 200, { items, next_cursor: null });
    const found = items.find(({ id, name }) => id === asked || name === asked);
    const kind = noun.slice(0, -"s".length).replace("sandboxe", "sandbox");
    if (found === undefined)
      return sendJson(response, 404, { code: `${kind}_not_found`, message: "There is none." });
    if (url.includes("/logs?")) return sendJson(response, 200, { lines: ["hello"] });
    if (url.includes("/executions?")) return sendJson(response, 200, { items: [], next_cursor: null });
    return method === "DELETE" ? response.writeHead(204).end() : sendJson(response, 200, found);
  });
}
