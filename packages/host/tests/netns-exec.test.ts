import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runProgram } from "../src/system/run.ts";
import { buildNative, type Native } from "./support/native.ts";

const DEADLINE_MS = 10_000;
const NETNS = `unit${process.pid}-e`;
const MARK = "net.ipv4.ip_default_ttl";

let native: Native;
beforeAll(async () => {
  native = await buildNative();
  await runProgram("ip", ["netns", "add", NETNS], { deadlineMs: DEADLINE_MS });
});
afterAll(async () => {
  await runProgram("ip", ["netns", "del", NETNS], { deadlineMs: DEADLINE_MS });
  await native[Symbol.asyncDispose]();
});

function enter(...words: string[]): Promise<string> {
  return runProgram(native.netnsExec, ["--net", `/run/netns/${NETNS}`, ...words], {
    deadlineMs: DEADLINE_MS,
  });
}
const markHere = (): Promise<string> => readFile("/proc/sys/net/ipv4/ip_default_ttl", "utf8");

test("a program that is found in PATH runs in the namespace, with its parameters, a TAP and its own input", async () => {
  const before = await markHere();
  const script = "read line; echo $line $1; cat /proc/sys/net/ipv4/ip_default_ttl; ip -d -j link show";
  const output = await runProgram(
    native.netnsExec,
    [
      ...["--net", `/run/netns/${NETNS}`, "--set", `${MARK}=77`, "--tap", "tap9"],
      ...["--", "sh", "-c", script, "sh", "word"],
    ],
    { deadlineMs: DEADLINE_MS, input: "hello\n" },
  );
  const [said, mark, links] = output.split("\n");
  expect([said, mark]).toEqual(["hello word", "77"]);
  const found = JSON.parse(links ?? "") as { ifname: string; linkinfo?: { info_data?: object } }[];
  expect(found.map(({ ifname }) => ifname)).toEqual(["lo", "tap9"]);
  expect(found[1]?.linkinfo?.info_data).toMatchObject({
    type: "tap",
    pi: false,
    vnet_hdr: true,
    persist: true,
  });
  expect(await markHere()).toBe(before);
});

test("a parameter that the kernel does not have is passed over", async () => {
  const output = await enter(
    ...["--set", "net.ipv4.nobody_has_this=1", "--set", `${MARK}=78`],
    ...["--", "cat", "/proc/sys/net/ipv4/ip_default_ttl"],
  );
  expect(output).toBe("78\n");
});

test.each([
  ["a value that the kernel refuses", ["--set", `${MARK}=900`], `set ${MARK}=900: Invalid argument`],
  ["a parameter without a value", ["--set", MARK], `set ${MARK}: Invalid argument`],
  [
    "a name that a TAP cannot have",
    ["--tap", "sixteen-letters-"],
    "make TAP sixteen-letters-: File name too long",
  ],
  ["a TAP that is there", ["--tap", "tap8", "--tap", "tap8"], "make TAP tap8: Device or resource busy"],
  ["an unknown flag", ["--user", "0"], "unknown flag --user"],
])("%s ends it before the program, with a line that says so", async (_, words, reason) => {
  await expect(enter(...words, "--", "echo", "ran")).rejects.toThrow(
    new RegExp(`ended with 126: netns-exec: ${reason}[^\n]*$`),
  );
});

test("a namespace or a program that is not there, and no program, are told", async () => {
  const elsewhere = runProgram(native.netnsExec, ["--net", "/run/netns/none", "--", "true"], {
    deadlineMs: DEADLINE_MS,
  });
  await expect(elsewhere).rejects.toThrow(
    "126: netns-exec: enter network namespace /run/netns/none: No such file",
  );
  await expect(enter("--", "no-such-program")).rejects.toThrow(
    "126: netns-exec: run no-such-program: No such file",
  );
  await expect(enter()).rejects.toThrow("126: netns-exec: run nothing");
  await expect(enter("--")).rejects.toThrow("126: netns-exec: run nothing");
});
