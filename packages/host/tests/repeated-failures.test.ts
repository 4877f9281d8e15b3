import { pino } from "pino";
import { expect, test } from "vitest";
import { countingRepeats } from "@skerry/contract/repeated-failures";

type Line = Readonly<Record<string, unknown>> & { readonly err?: { readonly stack: string } };

/** A log whose clock the test sets. */
function openLog() {
  const lines: Line[] = [];
  const clock = { ms: 0 };
  const hooks = { logMethod: countingRepeats(() => clock.ms) };
  const log = pino(
    { base: null, hooks },
    { write: (line: string) => void lines.push(JSON.parse(line) as Line) },
  );
  const taken = () =>
    lines.splice(0).map(({ err, msg, ...others }) => ({ msg, hasStack: err !== undefined, others }));
  return { log, clock, taken };
}

test("a failure that comes every five seconds has its stack once, and is counted every ten minutes", () => {
  const { log, clock, taken } = openLog();
  const fail = () => log.warn({ err: new Error("no mirror answers"), template: "node" }, "not made");
  fail();
  expect(taken()).toMatchObject([{ msg: "not made", hasStack: true, others: { template: "node" } }]);
  for (; clock.ms < 595_000; fail()) clock.ms += 5_000;
  expect(taken()).toEqual([]);
  for (; clock.ms < 1_200_000; fail()) clock.ms += 5_000;
  const counted = { msg: "not made", hasStack: false };
  expect(taken()).toMatchObject([
    { ...counted, others: { template: "node", reason: "no mirror answers", times: 120 } },
    { ...counted, others: { times: 120 } },
  ]);
  clock.ms += 60 * 60_000 + 1;
  fail();
  expect(taken()).toMatchObject([{ hasStack: true }]);
});

test("what differs in its fields, its logger or its error is another failure; names of temporary folders are none", () => {
  const { log, taken } = openLog();
  const failing = (text: string, of: object = {}, logger = log) =>
    logger.error({ err: new Error(text), ...of }, "a call failed");
  failing("EBUSY: rmdir '/state/node-building-lQdfQv/root/proc'");
  failing("EBUSY: rmdir '/state/node-building-aBcdEf/root/proc'");
  failing("it ended, process 4711");
  failing("it ended, process 4712");
  expect(taken()).toHaveLength(2);
  failing("ENOENT: rmdir '/state/node-building-aBcdEf/root/proc'");
  failing("it ended, process 4711", { vm: "sbx_1" });
  failing("it ended, process 4711", { vm: "sbx_2" });
  failing("it ended, process 4711", {}, log.child({ req: "req_1" }));
  expect(taken().map(({ hasStack }) => hasStack)).toEqual([true, true, true, true]);
});

test("lines without an error are all there, and failures without end take no memory without end", () => {
  const { log, taken } = openLog();
  for (let round = 0; round < 3; round += 1) log.info({ host_id: "hst_1" }, "a host is offline");
  log.info("plain");
  expect(taken()).toHaveLength(4);
  const fail = (vm: number) => log.warn({ err: new Error("no"), vm }, "not cleaned up");
  for (let vm = 0; vm <= 1_000; vm += 1) fail(vm);
  taken();
  fail(1_000);
  expect(taken()).toEqual([]);
  // It was forgotten for the last one.
  fail(0);
  expect(taken()).toHaveLength(1);
});
