// A server with one sandbox whose commands are run here, by this machine's own shell: for what the command
// line asks of a guest's `sh` and `tar`. Tests name paths of their own folder in it.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { buffer } from "node:stream/consumers";
import {
  eventText,
  exitFields,
  output,
  sandboxInfo,
  ScriptedServer,
  sendJson,
} from "../../../sdk/tests/support/scripted-server.ts";

export async function startLocalGuest(): Promise<{ server: ScriptedServer; seen: string[] }> {
  const seen: string[] = [];
  const server = await ScriptedServer.start(async (response, { method, url, headers, body }) => {
    const { pathname } = new URL(url, "http://guest");
    seen.push(`${method} ${pathname}`);
    if (method === "DELETE") return response.writeHead(204).end();
    if (pathname === "/v1/sandboxes") return sendJson(response, 201, sandboxInfo);
    if (pathname.endsWith("/execute")) {
      const ran = await runHere(JSON.parse(body.toString()));
      const exit = { ...exitFields, exit_code: ran.code };
      if (headers.accept !== "text/event-stream")
        return sendJson(response, 200, {
          ...exit,
          stdout: ran.stdout.toString(),
          stderr: ran.stderr.toString(),
        });
      response.write(output("stdout", ran.stdout));
      response.write(output("stderr", ran.stderr));
      return response.end(eventText("exit", exit));
    }
    const [, file] = /\/files\/(.*)$/.exec(pathname) ?? [];
    if (file === undefined) return sendJson(response, 200, sandboxInfo);
    const path = `/${decodeURIComponent(file)}`;
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, body);
    return sendJson(response, 200, { path, bytes: body.length });
  });
  return { server, seen };
}

async function runHere({ command, env }: { readonly command: string; readonly env?: NodeJS.ProcessEnv }) {
  const child = spawn("sh", ["-c", command], {
    env: { PATH: process.env["PATH"], ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [stdout, stderr, [code]] = await Promise.all([
    buffer(child.stdout),
    buffer(child.stderr),
    once(child, "close") as Promise<[number]>,
  ]);
  return { stdout, stderr, code };
}
