// Which statements go out before `begin` was answered, and what is told of them.

import type { PostgresPool } from "kysely";
import { expect, test } from "vitest";
import { PIPELINED, poolWithPipelinedBegin } from "../src/db/pipelined-begin.ts";

interface Sent {
  readonly text: string;
  readonly answer: (error?: Error) => void;
}

const LOOK = `${PIPELINED} select 1`;
const WRITE = "insert into things values (1)";

/** A connection whose statements are answered by hand. */
async function connected() {
  const sent: Sent[] = [];
  const pool: PostgresPool = {
    options: {},
    end: () => Promise.resolve(),
    connect: () =>
      Promise.resolve({
        query: (text: string) =>
          new Promise((resolve, reject) => {
            const answer = (error?: Error) =>
              error === undefined ? resolve({ command: "SELECT", rowCount: 1, rows: [text] }) : reject(error);
            sent.push({ text, answer });
          }),
        release: () => undefined,
      } as unknown as Awaited<ReturnType<PostgresPool["connect"]>>),
  };
  const client = await poolWithPipelinedBegin(pool).connect();
  const ask = (text: string) => {
    const asked = { isSettled: false, result: client.query<string>(text, []) };
    asked.result.then(
      () => (asked.isSettled = true),
      () => (asked.isSettled = true),
    );
    return asked;
  };
  const texts = () => sent.map(({ text }) => text);
  const answer = async (at: number, error?: Error) => {
    sent[at]?.answer(error);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { ask, texts, answer };
}

test("what only looks is sent with `begin`, and told when both are answered", async () => {
  const { ask, texts, answer } = await connected();
  await ask("begin").result;
  const first = ask(LOOK);
  ask(LOOK);
  expect(texts()).toEqual(["begin", LOOK, LOOK]);
  await answer(1);
  expect(first.isSettled).toBe(false);
  await answer(0);
  expect((await first.result).rows).toEqual([LOOK]);
});

test("what may write is sent when `begin` has succeeded, and in order", async () => {
  const { ask, texts, answer } = await connected();
  await ask("begin").result;
  ask(WRITE);
  ask(LOOK);
  ask("commit");
  expect(texts()).toEqual(["begin"]);
  await answer(0);
  expect(texts()).toEqual(["begin", WRITE, LOOK, "commit"]);
});

test("where `begin` fails nothing is written, and what was looked at is not told", async () => {
  const { ask, texts, answer } = await connected();
  await ask("begin").result;
  const looked = ask(LOOK);
  const written = ask(WRITE);
  await answer(1);
  await answer(0, new Error("canceled"));
  await expect(looked.result).rejects.toThrow("canceled");
  await expect(written.result).rejects.toThrow("canceled");
  expect(texts()).toEqual(["begin", LOOK]);
});

test("outside of a transaction nothing is waited for", async () => {
  const { ask, texts } = await connected();
  ask(WRITE);
  ask("select 2");
  expect(texts()).toEqual([WRITE, "select 2"]);
});
