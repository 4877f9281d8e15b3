import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { expect, test } from "vitest";
import {
  eventText,
  exitFields,
  output,
  ScriptedServer,
  sendJson,
} from "../../sdk/tests/support/scripted-server.ts";
import { shellCommand } from "../src/commands/vms/vm-exec.ts";
import { ended, Shell } from "./support/shell.ts";

test("exec writes every byte of both outputs and exits with the command's own code", async () => {
  const all = Uint8Array.from({ length: 256 }, (_, byte) => byte);
  await using server = await ScriptedServer.start((response) => {
    response.write(output("stdout", all));
    response.write(output("stderr", Uint8Array.of(0xff, 0x0a)));
    response.write(output("stdout", all));
    response.end(eventText("exit", { ...exitFields, exit_code: 42 }));
  });
  await using shell = await Shell.forServer(server);
  const child = shell.start(
    "sandbox",
    "exec",
    "sbx_0",
    "--timeout",
    "1m",
    "--env",
    "A=b=c",
    "--",
    "make",
    "it so",
  );
  child.stdin.end();
  const stderr: Buffer[] = [];
  child.stderr.on("data", (chunk: Buffer) => stderr.push(chunk));
  const { code, stdout } = await ended(child);
  expect(stdout.equals(Buffer.concat([all, all]))).toBe(true);
  expect(Buffer.concat(stderr)).toEqual(Buffer.from([0xff, 0x0a]));
  expect(code).toBe(42);
  expect(JSON.parse(server.last.body.toString())).toEqual({
    command: "make 'it so'",
    timeout: "1m",
    reattach: "60s",
    env: { A: "b=c" },
  });
});

test("exec shows output while the command still runs", async () => {
  const goOn = Promise.withResolvers<void>();
  await using server = await ScriptedServer.start((response) => {
    response.write(output("stdout", "first\n"));
    void goOn.promise.then(() => response.end(output("stderr", "second\n") + eventText("exit", exitFields)));
  });
  await using shell = await Shell.forServer(server);
  const child = shell.start("sandbox", "exec", "sbx_0", "slowly");
  child.stdin.end();
  const [first] = (await once(child.stdout, "data")) as [Buffer];
  expect(first.toString()).toBe("first\n");
  goOn.resolve();
  expect(await ended(child)).toMatchObject({ code: 0, stderr: "second\n" });
});

test("a slow reader of exec's output slows the sender down instead of filling the memory", async () => {
  const piece = output("stdout", Buffer.alloc(48 * 1024, "x"));
  const pieces = 2_000;
  let sent = 0;
  const full = Promise.withResolvers<void>();
  await using server = await ScriptedServer.start(async (response) => {
    for (; sent < pieces; sent += 1)
      if (!response.write(piece)) {
        // Either the socket takes more, or a second of silence shows that nobody reads.
        const drained = once(response, "drain").then(() => "drained");
        const silence = new Promise((resolve) => setTimeout(resolve, 1_000, "silence"));
        if ((await Promise.race([drained, silence])) === "silence") full.resolve();
        await drained;
      }
    response.end(eventText("exit", exitFields));
  });
  await using shell = await Shell.forServer(server);
  const child = shell.start("sandbox", "exec", "sbx_0", "yes");
  child.stdin.end();
  await full.promise;
  expect(sent).toBeLessThan(pieces / 2);
  const { code, stdout } = await ended(child);
  expect([code, stdout.length]).toEqual([0, pieces * 48 * 1024]);
});

test.each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const)("%s during exec closes the connection and kills the command", async (signal, code) => {
  await using server = await ScriptedServer.start((response, { url }) => {
    if (url.endsWith("/kill")) return sendJson(response, 200, {});
    response.write(eventText("start", { id: "exe_1" }) + output("stdout", "running\n"));
    return undefined;
  });
  await using shell = await Shell.forServer(server);
  const child = shell.start("sandbox", "exec", "sbx_0", "sleep 60");
  child.stdin.end();
  await once(child.stdout, "data");
  child.kill(signal);
  expect(await ended(child)).toMatchObject({ code, stderr: "" });
  await server.aborted.promise;
  expect(server.last.url).toBe("/v1/sandboxes/sbx_0/executions/exe_1/kill");
});

test("when the reader of exec's output goes away, the command is killed", async () => {
  await using server = await ScriptedServer.start((response) => {
    const more = setInterval(() => response.write(output("stdout", "y\n")), 5);
    response.on("close", () => clearInterval(more));
  });
  await using shell = await Shell.forServer(server);
  const child = shell.start("sandbox", "exec", "sbx_0", "yes");
  child.stdin.end();
  await once(child.stdout, "data");
  child.stdout.destroy();
  expect(await once(child, "close")).toEqual([141, null]);
  await server.aborted.promise;
});

test("exec says on stderr why a command was killed", async () => {
  await using server = await ScriptedServer.start((response) => {
    response.end(eventText("exit", { ...exitFields, exit_code: 137, timed_out: true, signal: "SIGKILL" }));
  });
  await using shell = await Shell.forServer(server);
  const { code, stdout, stderr } = await shell.run("sandbox", "exec", "sbx_0", "sleep 60");
  expect([code, stdout.length]).toEqual([124, 0]);
  expect(stderr).toContain("killed at its timeout");
});

test("a command that a signal ended exits with 128 and the signal's number", async () => {
  await using server = await ScriptedServer.start((response) => {
    response.end(eventText("exit", { ...exitFields, exit_code: 143, signal: "SIGTERM" }));
  });
  await using shell = await Shell.forServer(server);
  expect((await shell.run("sandbox", "exec", "sbx_0", "kill $$")).code).toBe(143);
});

test("exec that never ran exits with 125 and says why", async () => {
  await using server = await ScriptedServer.start((response) =>
    sendJson(response, 404, {
      code: "sandbox_not_found",
      message: "There is no sandbox sbx_0.",
      remediation: "`skerry sandbox list` shows those there are.",
    }),
  );
  await using shell = await Shell.forServer(server);
  expect(await shell.run("sandbox", "exec", "sbx_0", "--", "true")).toMatchObject({
    code: 125,
    stderr:
      'error: There is no sandbox "sbx_0". (sandbox_not_found)\n`skerry sandbox list --all` shows those that there are.\n',
  });
});

test("one word is left to the shell; several arrive as the arguments they are", () => {
  expect(shellCommand(["echo $HOME | wc"])).toBe("echo $HOME | wc");
  expect(shellCommand(["ls", "-la", "/root/a.b"])).toBe("ls -la /root/a.b");
  expect(shellCommand(["printf", "%s", "it's", "", "$HOME", "a b", "A=1", "é\n"])).toBe(
    "printf %s 'it'\\''s' '' '$HOME' 'a b' 'A=1' 'é\n'",
  );
});

test("options after -- belong to the command, even those that skerry has too", async () => {
  await using server = await ScriptedServer.start((response) => response.end(eventText("exit", exitFields)));
  await using shell = await Shell.forServer(server);
  const words = ["grep", "--token", "x", "-e", "--help", "--json"];
  expect((await shell.run("sandbox", "exec", "sbx_0", "--", ...words)).code).toBe(0);
  expect(server.last.headers.authorization).toBe("Bearer sk_test");
  expect(JSON.parse(server.last.body.toString())).toEqual({ command: words.join(" "), reattach: "60s" });
});

test("exec exits with 125 for every failure of ours, and with 2 for wrong usage", async () => {
  const { baseUrl: nothing } = await addressOfNothing();
  await using unreachable = await Shell.open({ SKERRY_API_URL: nothing, SKERRY_API_TOKEN: "sk_test" });
  expect((await unreachable.run("sandbox", "exec", "sbx_0", "true")).code).toBe(125);
  await using strange = await Shell.open({ SKERRY_API_URL: nothing });
  expect(await strange.run("machine", "exec", "mch_0", "true")).toMatchObject({
    code: 125,
    stderr: expect.stringContaining("(no_token)"),
  });
  for (const code of ["unauthorized", "guest_failed", "sandbox_expired"]) {
    await using server = await ScriptedServer.start((response) =>
      response.end(output("stdout", "begun\n") + eventText("error", { code, message: "It is over." })),
    );
    await using shell = await Shell.forServer(server);
    const ran = await shell.run("sandbox", "exec", "sbx_0", "true");
    expect([ran.code, ran.stdout.toString()]).toEqual([125, "begun\n"]);
    expect(ran.stderr).toContain(`(${code})`);
  }
  await using shell = await Shell.open({ SKERRY_API_URL: nothing, SKERRY_API_TOKEN: "sk_test" });
  for (const args of [["sbx_0"], ["--no-such-flag", "sbx_0", "true"], ["--env", "=x", "sbx_0", "true"]])
    expect((await shell.run("sandbox", "exec", ...args)).code).toBe(2);
});

/** An address at which nothing answers any more. */
async function addressOfNothing(): Promise<{ readonly baseUrl: string }> {
  await using server = await ScriptedServer.start((response) => response.end());
  return { baseUrl: server.baseUrl };
}

const exitServer = () => ScriptedServer.start((response) => response.end(eventText("exit", exitFields)));

/** What the command got to read. */
function inputIn(body: Buffer): Buffer | undefined {
  const { stdin, stdin_encoding } = JSON.parse(body.toString()) as {
    stdin?: string;
    stdin_encoding?: BufferEncoding;
  };
  return stdin === undefined ? undefined : Buffer.from(stdin, stdin_encoding);
}

test.each(["sandbox", "machine"])("%s exec sends what a pipe holds, byte for byte", async (noun) => {
  await using server = await exitServer();
  await using shell = await Shell.forServer(server);
  const bytes = randomBytes(3_000_000);
  const child = shell.start(noun, "exec", "sbx_0", "--", "cat");
  child.stdin.write(bytes.subarray(0, 1_000));
  child.stdin.end(bytes.subarray(1_000));
  expect(await ended(child)).toMatchObject({ code: 0, stderr: "" });
  expect(inputIn(server.last.body)?.equals(bytes)).toBe(true);
});

test("exec sends nothing of a closed or empty standard input, and leaves it alone with --no-stdin", async () => {
  await using server = await exitServer();
  await using shell = await Shell.forServer(server);
  await shell.run("sandbox", "exec", "sbx_0", "cat");
  expect(inputIn(server.last.body)).toBeUndefined();
  for (const flag of ["-n", "--no-stdin"]) {
    const child = shell.start("sandbox", "exec", flag, "sbx_0", "cat");
    child.stdin.write("not for the command\n");
    expect((await ended(child)).code).toBe(0);
    expect(inputIn(server.last.body)).toBeUndefined();
  }
});

test("a command that is silent for long is no server that does not answer", async () => {
  await using server = await ScriptedServer.start((response) => {
    // Longer than a request may take before a word is said.
    setTimeout(() => response.end(eventText("exit", exitFields)), 2_500);
  });
  await using shell = await Shell.forServer(server);
  const child = shell.start("sandbox", "exec", "-n", "sbx_0", "sleep 3");
  expect(await ended(child)).toMatchObject({ code: 0, stderr: "" });
});

test("exec says what it waits for where a pipe does not end, and runs when it does", async () => {
  await using server = await exitServer();
  await using shell = await Shell.forServer(server);
  const child = shell.start("sandbox", "exec", "sbx_0", "cat");
  child.stdin.write("first\n");
  const [said] = (await once(child.stderr, "data")) as [Buffer];
  expect(said.toString()).toMatch(/^Waiting for the end of standard input.*--no-stdin.*\n$/);
  expect(server.received).toEqual([]);
  child.stdin.end("second\n");
  expect((await ended(child)).code).toBe(0);
  expect(inputIn(server.last.body)?.toString()).toBe("first\nsecond\n");
});

test("exec starts without a standard input on which nothing comes, as programs leave it open that start others", async () => {
  await using server = await exitServer();
  await using shell = await Shell.forServer(server);
  const child = shell.start("sandbox", "exec", "sbx_0", "true");
  const { code, stderr } = await ended(child);
  expect(code).toBe(0);
  expect(stderr).toMatch(/^Nothing has come on standard input.*--no-stdin.*--stdin waits for it\.\n$/);
  expect(inputIn(server.last.body)).toBeUndefined();
});

test("what comes on standard input after the command began without it is not dropped in silence", async () => {
  // It never ends by itself.
  await using server = await ScriptedServer.start(
    (response) => void response.write(output("stdout", Buffer.from("up\n"))),
  );
  await using shell = await Shell.forServer(server);
  const child = shell.start("sandbox", "exec", "sbx_0", "cat");
  await once(child.stdout, "data");
  child.stdin.write("too late\n");
  const { code, stderr } = await ended(child);
  expect(code).toBe(125);
  expect(stderr).toMatch(/\(stdin_too_late\)\n.*--stdin/);
});

test("exec --stdin waits for what comes late", async () => {
  await using server = await exitServer();
  await using shell = await Shell.forServer(server);
  const child = shell.start("sandbox", "exec", "--stdin", "sbx_0", "cat");
  await once(child.stderr, "data");
  expect(server.received).toEqual([]);
  child.stdin.end("late\n");
  expect((await ended(child)).code).toBe(0);
  expect(inputIn(server.last.body)?.toString()).toBe("late\n");
});

test("Ctrl-C ends an exec that waits for its standard input", async () => {
  await using server = await exitServer();
  await using shell = await Shell.forServer(server);
  const child = shell.start("sandbox", "exec", "-i", "sbx_0", "cat");
  await once(child.stderr, "data");
  child.kill("SIGINT");
  expect((await ended(child)).code).toBe(130);
  expect(server.received).toEqual([]);
});

test("exec refuses standard input of more than 10 MiB, also an endless one, before anything runs", async () => {
  await using server = await exitServer();
  await using shell = await Shell.forServer(server);
  const child = shell.start("sandbox", "exec", "sbx_0", "cat");
  // Not ended: it goes on for as long as it is read.
  child.stdin.write(Buffer.alloc(10 * 1024 * 1024 + 1));
  const { code, stderr } = await ended(child);
  expect([code, server.received.length]).toEqual([125, 0]);
  expect(stderr).toMatch(/10485760.*nothing was run.*\(stdin_too_large\)\n.*command < file/);
});
