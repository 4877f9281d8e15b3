import { PassThrough } from "node:stream";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { transferText, Waits } from "../src/output/waits.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function log(isSilent = false): { readonly waits: Waits; readonly lines: string[] } {
  const lines: string[] = [];
  const screen = { stream: new PassThrough(), isAnimated: false, isSilent };
  return { waits: new Waits({ ...screen, line: (text) => void lines.push(text) }), lines };
}

/** What ends when it is told to. */
function work(): { readonly done: () => void; readonly promise: Promise<void> } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { promise, done: () => resolve() };
}

test("a log gets no word about what is quick, one after 2 s, and then one every 10 s", async () => {
  const { waits, lines } = log();
  const { promise, done } = work();
  const waited = waits.during("Creating a sandbox", () => promise, { hint: "the first use of x" });
  await vi.advanceTimersByTimeAsync(1_999);
  expect(lines).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(lines).toEqual(["Creating a sandbox (2 s): the first use of x"]);
  waits.tell("the host does not answer; trying again");
  await vi.advanceTimersByTimeAsync(10_000);
  expect(lines.slice(1)).toEqual(["Creating a sandbox (12 s): the host does not answer; trying again"]);
  await vi.advanceTimersByTimeAsync(9_999);
  expect(lines).toHaveLength(2);
  done();
  await waited;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(lines).toHaveLength(2);
});

test("a request that is sent again is one wait, and says why", async () => {
  const { waits, lines } = log();
  waits.beginRequest("Waiting for http://x");
  waits.tell("the rate limit is reached; going on in 4 s");
  await vi.advanceTimersByTimeAsync(1_500);
  waits.beginRequest("Waiting for http://x");
  await vi.advanceTimersByTimeAsync(500);
  expect(lines).toEqual(["Waiting for http://x (2 s): the rate limit is reached; going on in 4 s"]);
  waits.endRequest();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(lines).toHaveLength(1);
});

test("requests within a wait add no words of their own, and do not end it", async () => {
  const { waits, lines } = log();
  const { promise, done } = work();
  const waited = waits.during("Creating a sandbox", async () => {
    waits.beginRequest("Waiting for http://x");
    waits.endRequest();
    await promise;
  });
  await vi.advanceTimersByTimeAsync(2_000);
  expect(lines).toEqual(["Creating a sandbox (2 s)"]);
  done();
  await waited;
});

test("what a wait was for is said at its end, where it was long", async () => {
  for (const [ms, expected] of [
    [1_000, []],
    [3_000, ["Creating a sandbox (2 s)", "7.1 s of that froze the template"]],
  ] as const) {
    const { waits, lines } = log();
    const { promise, done } = work();
    const waited = waits.during("Creating a sandbox", () => promise);
    waits.explain("7.1 s of that froze the template");
    await vi.advanceTimersByTimeAsync(ms);
    done();
    await waited;
    expect(lines).toEqual(expected);
  }
});

test("a wait that fails is over", async () => {
  const { waits, lines } = log();
  await expect(waits.during("x", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  await vi.advanceTimersByTimeAsync(60_000);
  expect(lines).toEqual([]);
});

test("where a program reads JSON errors, it gets nothing else", async () => {
  const { waits, lines } = log(true);
  const { promise, done } = work();
  const waited = waits.during("x", () => promise);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(lines).toEqual([]);
  done();
  await waited;
});

test("a transfer tells bytes, part and rate", async () => {
  const { waits, lines } = log();
  const { promise, done } = work();
  const totalBytes = 90 * 1024 * 1024;
  const waited = waits.during(
    "Uploading big.bin",
    (transfer) => {
      transfer.add(36 * 1024 * 1024);
      return promise;
    },
    { totalBytes },
  );
  await vi.advanceTimersByTimeAsync(2_000);
  expect(lines).toEqual(["Uploading big.bin [########------------]  40 %, 36.0 of 90.0 MiB, 18.0 MiB/s"]);
  done();
  await waited;
});

test("a transfer of a few bytes has no bar", async () => {
  const { waits, lines } = log();
  const { promise, done } = work();
  const add = (transfer: { add(bytes: number): void }) => {
    transfer.add(17);
    return promise;
  };
  const waited = waits.during("Copying a.txt", add, { totalBytes: 17 });
  await vi.advanceTimersByTimeAsync(2_000);
  expect(lines).toEqual(["Copying a.txt (2 s)"]);
  done();
  await waited;
});

test("a transfer of unknown length tells bytes and rate, and one that is longer than it said is whole", () => {
  expect(transferText(1024 * 1024, undefined, 500)).toBe("1.0 MiB, 2.0 MiB/s");
  expect(transferText(3 * 1024 * 1024, 1024 * 1024, 1_000)).toBe(
    "[####################] 100 %, 3.0 of 1.0 MiB, 3.0 MiB/s",
  );
  expect(transferText(0, 0, 0)).toBe("0.0 MiB, 0.0 MiB/s");
});
