// Commands that mean well: what comes back of them, and what is left of them afterwards.

import { createHash, randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ExecuteExit, ExecuteRequest } from "@skerry/contract/vms/execute";
import type { Sandbox } from "@skerry/contract/sandboxes/sandbox";
import { createSandbox, destroySandbox, execute, outputOf, refusal } from "./support/api.ts";
import { call, until } from "./support/platform.ts";
import { sharedPlatform } from "./support/shared.ts";

const platform = await sharedPlatform();
let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = await createSandbox(platform, {
    template: "base",
    timeout: "30m",
    env: { OF_SANDBOX: "from the sandbox", BOTH: "sandbox's" },
  });
});

afterAll(() => destroySandbox(platform, sandbox.id));

function run(command: string, more: Omit<ExecuteRequest, "command"> = {}) {
  return execute(platform, sandbox.id, { command, ...more });
}

/** How many processes of the sandbox have this text in their command line. */
async function processesWith(text: string): Promise<number> {
  // The brackets keep grep from finding itself and its shell.
  const pattern = `${text.slice(0, -1)}[${text.slice(-1)}]`;
  return Number(await outputOf(platform, sandbox.id, `ps -eo args | grep -c '${pattern}' || true`));
}

test("a command's exit code comes back, also when a signal ended it or there is no such command", async () => {
  expect(await run("true")).toMatchObject({ exit_code: 0, signal: null, timed_out: false });
  expect(await run("exit 3")).toMatchObject({ exit_code: 3, signal: null });
  expect(await run("exit 255")).toMatchObject({ exit_code: 255, signal: null });
  expect(await run("no-such-command-here")).toMatchObject({ exit_code: 127, signal: null });
  expect(await run("kill -SEGV $$")).toMatchObject({ exit_code: 139, signal: "SIGSEGV", timed_out: false });
});

test("standard output and standard error come back apart from each other", async () => {
  const answer = await run("echo one; echo two >&2; printf three");
  expect(answer).toMatchObject({ stdout: "one\nthree", stderr: "two\n", truncated: false });
});

test("the answer says how long the command ran, and what CPU time and memory it used", async () => {
  const { duration_ms, usage } = await run("sleep 0.3; head -c 8000000 /dev/zero | md5sum");
  expect(duration_ms).toBeGreaterThanOrEqual(300);
  expect(usage.cpu_ms).toBeGreaterThan(0);
  expect(usage.memory_peak_bytes).toBeGreaterThan(100_000);
});

test("a command sees the sandbox's environment, and its own lies over it for that command only", async () => {
  const show = 'echo "$OF_SANDBOX|$BOTH|$OWN"';
  expect(await run(show, { env: { BOTH: "command's", OWN: "ä = \"'$\n;" } })).toMatchObject({
    stdout: "from the sandbox|command's|ä = \"'$\n;\n",
  });
  expect(await run(show)).toMatchObject({ stdout: "from the sandbox|sandbox's|\n" });
});

test("a program in Python is told by its template not to hold its output back", async () => {
  expect(await run('python3 -c "import sys; print(sys.stdout.write_through)"')).toMatchObject({
    stdout: "True\n",
  });
  expect(await run("echo $PYTHONUNBUFFERED", { env: { PYTHONUNBUFFERED: "" } })).toMatchObject({
    stdout: "\n",
  });
});

test("a command starts in /root, or in the working directory that the request names", async () => {
  expect(await run("pwd")).toMatchObject({ stdout: "/root\n" });
  expect(await run("pwd", { workdir: "/usr/share" })).toMatchObject({ stdout: "/usr/share\n" });
});

test("a working directory that is missing or none is refused, and the command does not run", async () => {
  for (const workdir of ["/no/such/folder", "/etc/passwd"]) {
    const answer = call(platform, "POST", `/v1/sandboxes/${sandbox.id}/execute`, {
      body: { command: "touch /tmp/ran-anyway", workdir },
    });
    await refusal(answer, 422, "workdir_not_found");
  }
  expect(await run("test -e /tmp/ran-anyway")).toMatchObject({ exit_code: 1 });
});

test("without standard input there is nothing to read", async () => {
  expect(await run("wc -c; cat; read line || echo 'end of input'")).toMatchObject({
    stdout: "0\nend of input\n",
    exit_code: 0,
  });
});

describe("standard input", () => {
  const TEN_MIB = 10 * 1024 * 1024;
  const base64 = (bytes: Buffer) => ({ stdin: bytes.toString("base64"), stdin_encoding: "base64" }) as const;

  test("is what the request has, to the last byte", async () => {
    expect(await run("cat", { stdin: "two\nlines, ä€🙂" })).toMatchObject({ stdout: "two\nlines, ä€🙂" });
    const bytes = randomBytes(TEN_MIB);
    const { stdout } = await run("sha256sum", { ...base64(bytes), timeout: "2m" });
    expect(stdout).toBe(`${createHash("sha256").update(bytes).digest("hex")}  -\n`);
  });

  test("flows in while the output flows out, so that neither waits for the other", async () => {
    const text = "0123456789abcdef".repeat(TEN_MIB / 16);
    const { stdout, exit_code } = await run("cat", { ...base64(Buffer.from(text)), timeout: "3m" });
    expect([exit_code, stdout.length, stdout === text]).toEqual([0, TEN_MIB, true]);
  });

  test("need not be read, or not to its end: the command neither hangs nor fails by it", async () => {
    const much = base64(Buffer.alloc(TEN_MIB, "line\n"));
    expect(await run("true", much)).toMatchObject({ exit_code: 0, timed_out: false });
    expect(await run("head -n 1", much)).toMatchObject({ exit_code: 0, stdout: "line\n" });
    expect(await run("exec <&-; echo closed", much)).toMatchObject({ exit_code: 0, stdout: "closed\n" });
    expect(await run("sleep 60", { ...much, timeout: "1s" })).toMatchObject({ timed_out: true });
  });

  test("of a command that does not read it blocks no other operation of the same VM", async () => {
    const deaf = Array.from({ length: 3 }, () =>
      run("sleep 8", { ...base64(Buffer.alloc(2_000_000)), timeout: "1m" }),
    );
    expect(await run("cat", { stdin: "still here" })).toMatchObject({ stdout: "still here" });
    for (const answer of await Promise.all(deaf)) expect(answer).toMatchObject({ exit_code: 0 });
  });

  test("ends for a child that outlives the command and goes on reading", async () => {
    // A shell gives its background children no input of its own accord.
    const command = "exec 3<&0; (cat <&3 >/tmp/read; echo ended >>/tmp/read) & exit 0";
    await run(command, base64(Buffer.alloc(5_000_000, "x")));
    await until("the child has read the end", async () =>
      (await run("tail -c 6 /tmp/read")).stdout.includes("ended"),
    );
  });
});

describe("a command over its timeout", () => {
  const killed = { exit_code: 137, timed_out: true, signal: "SIGKILL" };

  test("is killed, and its output until then comes back", async () => {
    const answer = await run("echo before; sleep 60; echo after", { timeout: "1s" });
    expect(answer).toMatchObject({ ...killed, stdout: "before\n" });
    expect(answer.duration_ms).toBeGreaterThanOrEqual(1_000);
  });

  test("is killed although it ignores every signal that it can", async () => {
    const deaf = "trap '' TERM INT HUP QUIT; while :; do sleep 0.2; done";
    expect(await run(deaf, { timeout: "1s" })).toMatchObject(killed);
  });

  test("takes every descendant with it, also those that left its session or were orphaned", async () => {
    const family = [
      "setsid sleep 7001 &",
      "(setsid sh -c 'sleep 7002 & sleep 7003' &)",
      "nohup sh -c 'trap \"\" TERM HUP; sleep 7004; :' >/dev/null 2>&1 &",
      "python3 -c 'import os,time\nif os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\ntime.sleep(7005)'",
      "sleep 2; ps -eo args | grep -c '[7]00[1-5]'; sleep 7006",
    ].join("\n");
    // On a busy machine the guest may not have started them all before the timeout.
    let started = 0;
    for (const timeout of ["6s", "30s", "120s"]) {
      const answer = await run(family, { timeout });
      expect(answer).toMatchObject(killed);
      started = Number(answer.stdout);
      if (started >= 5) break;
    }
    expect(started).toBeGreaterThanOrEqual(5);
    for (let last = 1; last <= 6; last += 1) expect(await processesWith(`700${last}`)).toBe(0);
  });
});

test("a background child that holds standard output does not delay the answer, and lives on", async () => {
  const answer = await run("sleep 7100 & echo done", { timeout: "2m" });
  expect(answer).toMatchObject({ stdout: "done\n", exit_code: 0, timed_out: false });
  expect(answer.duration_ms).toBeLessThan(60_000);
  expect(await processesWith("sleep 7100")).toBe(1);
  expect(await run("pkill -f 'sleep 710[0]'")).toMatchObject({ exit_code: 0 });
});

test("output that is not UTF-8 comes as U+FFFD, and exactly where base64 is asked for", async () => {
  const command = String.raw`printf '\377\376ok\303\244\303' ; printf '\000\200' >&2`;
  const text = await run(command);
  expect(text.stdout).toBe("\ufffd\ufffdokä\ufffd");
  expect(text.stderr).toBe("\0\ufffd");
  const exact = await execute(platform, sandbox.id, { command }, { query: "?encoding=base64" });
  expect(Buffer.from(exact.stdout, "base64")).toEqual(Buffer.from("fffe6f6bc3a4c3", "hex"));
  expect(Buffer.from(exact.stderr, "base64")).toEqual(Buffer.from("0080", "hex"));
});

test("a hundred commands at once in one sandbox all answer, each with its own output", async () => {
  const runs = Array.from({ length: 100 }, (_, number) =>
    run(`echo out ${number}; echo err ${number} >&2; exit ${number}`, { timeout: "2m" }),
  );
  const answers = await Promise.all(runs);
  for (const [number, answer] of answers.entries()) {
    expect(answer).toMatchObject({
      exit_code: number,
      stdout: `out ${number}\n`,
      stderr: `err ${number}\n`,
      timed_out: false,
    });
  }
});

test("a client that goes away in the middle takes its command with it", async () => {
  const client = new AbortController();
  const gone = execute(
    platform,
    sandbox.id,
    { command: "setsid sleep 7200 & sleep 7201", timeout: "5m" },
    { signal: client.signal },
  );
  gone.catch(() => undefined); // awaited below
  await until("the command runs", async () => (await processesWith("sleep 7201")) > 0);
  client.abort();
  await expect(gone).rejects.toThrow();
  for (const child of ["sleep 7200", "sleep 7201"])
    await until(`"${child}" is killed`, async () => (await processesWith(child)) === 0);
});

test("as a stream of events, output comes while the command still runs, and exit comes last", async () => {
  const marker = "/tmp/go-on";
  const response = await call(platform, "POST", `/v1/sandboxes/${sandbox.id}/execute`, {
    headers: { accept: "text/event-stream" },
    // It ends only after the test, having seen the first line, has told it to.
    body: {
      command: `echo first; while ! test -e ${marker}; do sleep 0.1; done; echo second >&2; exit 5`,
      timeout: "2m",
    },
  });
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toMatch(/^text\/event-stream/);
  let text = "";
  let told = false;
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk as Uint8Array).toString("utf8");
    if (told || !text.includes("event: stdout")) continue;
    expect(text).not.toContain("event: exit");
    told = true;
    await run(`touch ${marker}`);
  }
  const events = eventsOf(text);
  expect(events.map(({ event }) => event)).toEqual(["start", "stdout", "stderr", "exit"]);
  expect(dataOf(events[1]?.data)).toBe("first\n");
  expect(dataOf(events[2]?.data)).toBe("second\n");
  const exit = JSON.parse(events[3]?.data ?? "{}") as ExecuteExit;
  expect(exit).toMatchObject({ exit_code: 5, timed_out: false, signal: null, truncated: false });
});

function eventsOf(stream: string): { event: string; data: string }[] {
  const field = (block: string, name: string): string | undefined =>
    block
      .split("\n")
      .find((line) => line.startsWith(`${name}: `))
      ?.slice(name.length + 2);
  return stream.split("\n\n").flatMap((block) => {
    const [event, data] = [field(block, "event"), field(block, "data")];
    // What keeps the connection alive says nothing of the command.
    return event === undefined || event === "keepalive" ? [] : [{ event, data: data ?? "" }];
  });
}

function dataOf(json: string | undefined): string {
  return Buffer.from((JSON.parse(json ?? "{}") as { data: string }).data, "base64").toString("utf8");
}
