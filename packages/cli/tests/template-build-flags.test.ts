// Builds that read no folder: commands, an image, and what is frozen.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readyBuildServer } from "./support/build-server.ts";
import { Shell } from "./support/shell.ts";

test.for([
  [
    ["--from", "web:41", "--run", "apt-get update", "--run", "make 'all'", "--tag", "42"],
    { from: "web:41", steps: [{ run: "apt-get update" }, { run: "make 'all'" }], tag: "42" },
  ],
  [
    ["--run", "make", "--env", "A=1", "--no-cache", "--size", "shared-cpu-2x", "--timeout", "20m"],
    {
      ...{ steps: [{ env: { A: "1" } }, { run: "make" }] },
      ...{ no_cache: true, size: "shared-cpu-2x", timeout: "20m" },
    },
  ],
  [
    ["--image", "docker.io/library/redis:7", "--start", "redis-server", "--ready-port", "6379"],
    { image: "docker.io/library/redis:7", start: { command: "redis-server", ready: { port: 6379 } } },
  ],
  [
    ["--image", "alpine:3", "--run", "apk add jq", "--start", "serve", "--ready-http", "/up"],
    {
      ...{ image: "alpine:3", steps: [{ run: "apk add jq" }] },
      start: { command: "serve", ready: { http: "/up" } },
    },
  ],
  [
    ["--git", "https://git.example.com/shop.git", "--start", "npm start"],
    { git: "https://git.example.com/shop.git", start: { command: "npm start" } },
  ],
] as const)("%j ask for it without a folder", async ([flags, request]) => {
  await using server = await readyBuildServer();
  await using shell = await Shell.forServer(server);
  // It would be detected, and is not looked at.
  await writeFile(join(shell.folder, "index.html"), "");
  const { code, stdout } = await shell.run("template", "build", "--name", "web", ...flags);
  expect([code, stdout.toString()]).toEqual([0, "tpl_1\n"]);
  expect(JSON.parse(server.received[0]?.body.toString() ?? "")).toEqual({ name: "web", ...request });
  expect(server.received.some(({ method }) => method === "PUT")).toBe(false);
});

test("what starts can be said of a folder too, over what was detected", async () => {
  await using shell = await Shell.open();
  await writeFile(join(shell.folder, "index.html"), "");
  const flags = ["--start", "busybox httpd -f", "--ready-port", "80", "--ready-http", "/"];
  const { stdout } = await shell.run("template", "build", "--plan", "--json", ...flags);
  const { config } = JSON.parse(stdout.toString()) as { readonly config: { readonly start: unknown } };
  expect(config.start).toEqual({ command: "busybox httpd -f", ready: { port: 80, http: "/" } });
});

test("steps are planned without a server as a folder is", async () => {
  await using shell = await Shell.open();
  const { code, stdout } = await shell.run("template", "build", "--plan", "--from", "python", "--run", "pip");
  expect([code, stdout.toString()]).toEqual([0, expect.stringMatching(/\n0 +begin on python\n1 +pip\n/)]);
});

test("what does not go together is a fault of the command line, and asks no server", async () => {
  await using shell = await Shell.open();
  for (const [flags, said] of [
    [["folder", "--run", "make"], "without a folder"],
    [["--image", "alpine:3", "--dockerfile", "Dockerfile"], "without a Dockerfile"],
    [["--git", "https://git.example.com/shop.git", "--run", "make"], "--git is the context"],
    [["--run", "make", "--ready-port", "80"], "--ready-port and --ready-http say when"],
    [["--run", "make", "--start", "serve", "--ready-port", "65536"], "a whole number from 1 to 65535"],
  ] as const) {
    const { code, stderr } = await shell.run("template", "build", "--name", "web", ...flags);
    expect([flags, code, stderr]).toEqual([flags, 2, expect.stringContaining(said)]);
  }
});
