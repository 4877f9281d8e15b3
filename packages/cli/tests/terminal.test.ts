// What a person sees: the real command on a real (pseudo) terminal.

import { spawn } from "node:child_process";
import { expect, inject, test } from "vitest";
import { sandboxInfo, ScriptedServer, sendJson } from "../../sdk/tests/support/scripted-server.ts";
import { Shell } from "./support/shell.ts";

interface Screen {
  readonly code: number | null;
  readonly text: string;
}

/** `onText` sees all that was written so far, whenever there is more, and may type. */
function onTerminal(
  server: { readonly baseUrl: string },
  { columns, args }: { readonly columns: number; readonly args: readonly string[] },
  onText: (text: string, type: (keys: string) => void) => void = () => undefined,
): Promise<Screen> {
  const words = [process.execPath, inject("cliProgram"), ...args].map((word) => `'${word}'`).join(" ");
  const child = spawn("script", ["-qec", `stty cols ${columns} && exec ${words}`, "/dev/null"], {
    env: {
      PATH: "/usr/bin:/bin",
      TERM: "xterm",
      HOME: "/nonexistent",
      SKERRY_API_URL: server.baseUrl,
      SKERRY_API_TOKEN: "sk_test",
    },
    stdio: ["pipe", "pipe", "inherit"],
  });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (more: string) => {
    text += more;
    onText(text, (keys) => child.stdin.write(keys));
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, text }));
  });
}

const ids = ["sbx_01kb3x0q9vt5c7r2m8n4p6w1yz", "sbx_01kb3x0q9vt6c7r2m8n4p6w1yz"];

test("a list fits a narrow terminal, with ids that can be typed, and a pipe gets all of it", async () => {
  const items = ids.map((id) => ({ ...sandboxInfo, id, name: `a long name, 日本語, of ${id}` }));
  await using server = await ScriptedServer.start((response) =>
    sendJson(response, 200, { items, next_cursor: null }),
  );
  for (const columns of [60, 100]) {
    const { code, text } = await onTerminal(server, { columns, args: ["sandbox", "list"] });
    const lines = text.trimEnd().split("\r\n");
    expect([code, lines.length]).toEqual([0, 3]);
    for (const line of lines) expect(line.replaceAll(/[日本語]/g, "xx").length).toBeLessThanOrEqual(columns);
    expect(lines[1]).toMatch(/^sbx_01kb3x0q9vt5 /);
    expect(lines[2]).toMatch(/^sbx_01kb3x0q9vt6 /);
  }
  await using shell = await Shell.forServer(server);
  expect((await shell.run("sandbox", "list")).stdout.toString()).toContain(
    `${ids[0]}  a long name, 日本語, of ${ids[0]}`,
  );
});

test("help is as wide as the terminal", async () => {
  for (const columns of [60, 110]) {
    const { text } = await onTerminal(
      { baseUrl: "http://127.0.0.1:1" },
      { columns, args: ["machine", "create", "--help"] },
    );
    const [options = ""] = text.split("Examples:");
    const widths = options.split("\r\n").map((line) => line.length);
    expect(Math.max(...widths)).toBeLessThanOrEqual(columns);
    expect(Math.max(...widths)).toBeGreaterThan(columns - 20);
  }
});

test("a wait says since when, and Ctrl-C ends it on a line of its own", async () => {
  const waiting = Promise.withResolvers<void>();
  await using server = await ScriptedServer.start((response, { method }) => {
    // The first one is never answered; what Ctrl-C asks then is.
    if (method === "POST") return waiting.promise.then(() => response.destroy());
    return sendJson(response, 200, { items: [], next_cursor: null });
  });
  let typed = false;
  const { code, text } = await onTerminal(
    server,
    { columns: 100, args: ["machine", "stop", ids[0]?.replace("sbx", "mch") ?? ""] },
    (shown, type) => {
      if (typed || !/Stopping mch_\S+ \(\d+ s\)/.test(shown)) return;
      typed = true;
      type("\u0003");
    },
  );
  waiting.resolve();
  expect([typed, code]).toEqual([true, 130]);
  expect(text).toMatch(/\n[^\S\n]*$/);
});

test("an upload shows how far it is", async () => {
  const seen = Promise.withResolvers<void>();
  await using server = await ScriptedServer.start(async (response) => {
    await seen.promise;
    sendJson(response, 200, { path: "/x", size: 3_000_000 });
  });
  const { code, text } = await onTerminal(
    server,
    { columns: 100, args: ["sandbox", "upload", ids[0] ?? "", process.execPath, "/x"] },
    (shown) => {
      if (/Uploading \S+ \[[#-]{20}\] +\d+ %, [\d.]+ of [\d.]+ MiB, [\d.]+ MiB\/s/.test(shown))
        seen.resolve();
    },
  );
  expect([code, text]).toEqual([0, expect.stringContaining("/x 3000000 bytes")]);
});
