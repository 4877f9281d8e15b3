// `skerry sandbox shell` on a real terminal, in a real microVM.

import { spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { createSandbox, destroySandbox, outputOf } from "./support/api.ts";
import {
  nothingWaits,
  serverPid,
  skerry,
  startPlatform,
  untilReplaced,
  type Platform,
} from "./support/platform.ts";
import { run } from "./support/run.ts";
import { isFullRun, noteSampled } from "./support/sampling.ts";
import { Terminal } from "./support/terminal.ts";

let platform: Platform;
let id: string;

// Its control plane is killed, so it is its own.
beforeAll(async () => {
  platform = await startPlatform({ assets: inject("assets"), env: nothingWaits });
  ({ id } = await createSandbox(platform, { template: "base", timeout: "30m" }));
});
afterAll(async () => {
  await destroySandbox(platform, id);
  await platform.stop();
});

const shell = (...args: readonly string[]): Terminal =>
  new Terminal(platform.env, "sandbox", "shell", id, ...args);

/** A prompt that nothing that is typed looks like. */
async function atPrompt(): Promise<Terminal> {
  const terminal = shell();
  terminal.type("PS1='re''ady> '\r");
  await terminal.shows("ready> ");
  return terminal;
}

test("it feels like a terminal: its size follows, Ctrl-C is the program's, and the exit code comes back", async () => {
  const terminal = await atPrompt();
  terminal.type("stty size; echo $TERM; tty\r");
  await terminal.shows("24 80\r\nxterm\r\n/dev/pts/");
  terminal.resize(132, 43);
  await terminal.shows("ready> ");
  terminal.type("until stty size | grep 132; do sleep 0.1; done\r");
  await terminal.shows("43 132\r\n");
  // It says itself that it runs: a Ctrl-C that comes while the shell still starts it leaves the terminal to a program that is not there any more,
  // and the shell ends at its next prompt.
  terminal.type("sh -c 'echo up; exec sleep 1000'; echo never\r");
  await terminal.shows("up\r\n");
  terminal.type("\x03");
  await terminal.shows("ready> ");
  terminal.type("echo code $?\r");
  await terminal.shows("code 130\r\n");
  terminal.type("exit 7\r");
  expect(await terminal.ended).toEqual({ code: 7, restored: true });
});

test("Ctrl-D ends the shell, and a command in its place ends with its own code", async () => {
  const terminal = await atPrompt();
  terminal.type("\x04");
  expect(await terminal.ended).toEqual({ code: 0, restored: true });
  const command = shell("--", "sh", "-c", "test -t 0 && test -t 1 && exit 42");
  expect(await command.ended).toEqual({ code: 42, restored: true });
});

test("a full-screen program gets single keys, and leaves the screen", async () => {
  const program = `
import curses
def main(screen):
    screen.addstr(5, 5, "which key")
    screen.addstr(6, 5, "it was " + screen.getkey())
    screen.getkey()
curses.wrapper(main)`;
  const terminal = shell("--", "python3", "-c", program);
  await terminal.shows("\x1b[?1049h");
  await terminal.shows("which key");
  terminal.type("k");
  await terminal.shows("it was k");
  terminal.type("q");
  await terminal.shows("\x1b[?1049l");
  expect(await terminal.ended).toEqual({ code: 0, restored: true });
});

/** 10 MB in a full run. */
const PASTED_LINES = isFullRun ? 100_000 : 20_000;
noteSampled({ title: "MB that are pasted in", taken: PASTED_LINES / 10_000, all: 10 });

test("megabytes that are pasted in arrive whole", async () => {
  const terminal = await atPrompt();
  const pasted = Array.from({ length: PASTED_LINES }, (_, i) => `${String(i).padStart(99, ".")}\n`).join("");
  terminal.type("stty -echo; echo wai''ting; cat > /tmp/pasted; stty echo; echo do''ne\r");
  await terminal.shows("waiting\r\n");
  terminal.type(`${pasted}\x04`);
  // Against hanging: each byte goes through a terminal of the guest, whose CPU is emulated.
  await terminal.shows("done\r\n", 5 * 60_000);
  expect(await outputOf(platform, id, "sha256sum < /tmp/pasted")).toContain(
    createHash("sha256").update(pasted).digest("hex"),
  );
  terminal.type("exit\r");
  expect(await terminal.ended).toEqual({ code: 0, restored: true });
});

test("a connection that is lost in the middle is made again, and the program has run on", async () => {
  const terminal = await atPrompt();
  terminal.type("for i in $(seq 500); do echo line $i; sleep 0.02; done; echo fin''ished\r");
  await terminal.shows("line 100\r\n");
  const killed = await serverPid(platform, "control");
  process.kill(killed, "SIGKILL");
  await terminal.shows("The connection was lost");
  await untilReplaced(platform, "control", killed);
  await terminal.shows("The connection is there again.");
  const rest = await terminal.shows(/line 500\r\nfinished/);
  expect(rest).toContain("finished");
  terminal.type("exit 3\r");
  expect(await terminal.ended).toEqual({ code: 3, restored: true });
});

test("~. leaves, and so does a signal, and the terminal is given back", async () => {
  const left = await atPrompt();
  left.type("\r~.");
  expect(await left.ended).toEqual({ code: 0, restored: true });
  const hungUp = await atPrompt();
  hungUp.signal(15);
  expect(await hungUp.ended).toEqual({ code: 143, restored: true });
});

test("without a terminal it passes what it reads, and a detached command is found, watched and ended", async () => {
  const execution = (
    await skerry(platform.env, "sandbox", "exec", id, "--detach", "--", "sleep", "1000")
  ).trim();
  expect(execution).toMatch(/^exe_/);
  expect(await skerry(platform.env, "sandbox", "executions", id)).toMatch(
    new RegExp(`${execution} +running`),
  );
  await skerry(platform.env, "sandbox", "kill", id, execution, "--signal", "KILL");
  await expect.poll(() => skerry(platform.env, "sandbox", "executions", id)).toMatch(/exited +SIGKILL/);
});

test("the client that servers hand out has a shell on a Node without a WebSocket of its own", async () => {
  const program = join(import.meta.dirname, "../dist/clients/skerry.cjs");
  const nodes = ["/usr/bin/node", process.execPath];
  const versions = await Promise.all(nodes.map((node) => run(node, "--version").catch(() => "v0")));
  const old = nodes[versions.findIndex((version) => Number(/\d+/.exec(version)?.[0]) >= 20)] ?? "";
  const settings = { SKERRY_API_URL: platform.apiUrl, SKERRY_API_TOKEN: platform.token };
  const env = { ...process.env, ...platform.env, ...settings };
  const words = [program, "sandbox", "shell", id, "--", "sh", "-c", "cat; exit 7"];
  const child = spawn(old, words, { env, stdio: ["pipe", "pipe", "inherit"] });
  const bytes = randomBytes(1_000_000);
  child.stdin.end(bytes);
  const [output, [code]] = await Promise.all([buffer(child.stdout), once(child, "close")]);
  expect([code, output.equals(bytes)]).toEqual([7, true]);
});
