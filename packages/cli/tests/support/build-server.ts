// A server that takes a build, and its context where one comes: it is ready at once.

import { Build } from "@skerry/contract/builds/build";
import { exampleOf } from "@skerry/contract/named";
import { ScriptedServer, sendJson } from "../../../sdk/tests/support/scripted-server.ts";

const build = exampleOf(Build);

export function readyBuildServer(): Promise<ScriptedServer> {
  return ScriptedServer.start((response, { method, url }) => {
    if (method === "POST") return sendJson(response, 201, { ...build, waits_for_context: true });
    if (!url.includes("/logs"))
      return sendJson(response, 200, { ...build, status: "ready", template_id: "tpl_1" });
    response.writeHead(200, { "content-type": "text/event-stream" });
    return response.end("event: end\ndata: {}\n\n");
  });
}
