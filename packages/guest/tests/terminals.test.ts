import { setTimeout as sleep } from "node:timers/promises";

import { expect, test } from "vitest";

import { agentForEachTest } from "./support/agent-for-each-test.ts";
import { Executions, outputOf } from "./support/executions.ts";
import type { RunningAgent } from "./support/sanitized.ts";

let agent: RunningAgent;
let run: Executions;
agentForEachTest((started) => {
  agent = started;
  run = new Executions(agent.link);
});

test("a terminal has its size, can be resized, and gives the command what keys mean", async () => {
  await run.start("trap 'stty size; exit 7' WINCH; stty size; while :; do sleep 0.05; done", {
    tty: true,
    cols: 101,
    rows: 37,
  });
  const reader = run.follow();
  while (!reader.stdout.includes("37 101\r\n")) await agent.link.ping(Buffer.from("x"));
  await agent.link.open({ op: "resize", execution: "exe_one", cols: 55, rows: 11 }).ended;
  const ended = await reader.ended;
  expect(outputOf(ended).stdout.toString()).toBe("37 101\r\n11 55\r\n");
  expect(ended.result).toMatchObject({ exit_code: 7, tty: true });
});

test("Ctrl-C in a terminal interrupts its command, and Ctrl-D ends a shell", async () => {
  await run.start("sh -i 2>&1", { tty: true, env: { PS1: "> " } });
  const reader = run.follow();
  const input = run.input();
  const shows = async (text: string): Promise<void> => {
    while (!reader.stdout.includes(text)) await agent.link.ping(Buffer.from("x"));
  };
  await shows("> ");
  await input.write(Buffer.from("echo $TERM; tty; sleep 300; echo never\r"));
  await shows("/dev/pts/");
  await sleep(100);
  await input.write(Buffer.from("\x03"));
  await input.write(Buffer.from("echo alive $?\r"));
  await shows("alive 130");
  await input.write(Buffer.from("\x04"));
  const ended = await reader.ended;
  expect(outputOf(ended).stdout.toString()).toContain("xterm-256color");
  expect(ended.result).toMatchObject({ ended: true });
});

test("what still runs in a terminal whose command has ended is hung up", async () => {
  await run.start("sh -c 'trap \"\" TERM; sleep 300 & echo $! $$; wait' & sleep 0.3", { tty: true });
  const ended = await run.follow().ended;
  const [pid] = outputOf(ended).stdout.toString().split(" ");
  expect(ended.result).toMatchObject({ exit_code: 0 });
  const hungUp = `for i in $(seq 100); do kill -0 ${pid} 2>/dev/null || exit 0; sleep 0.05; done; exit 1`;
  expect((await agent.link.execute(hungUp)).result).toMatchObject({ exit_code: 0 });
});
