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
  const stderr: Buffer[] = [];
  child.stderr.on("data", (chunk: Buffer) => stderr.push(chunk));
  const { code, stdout } = await ended(child);
  expect(stdout.equals(Buffer.concat([all, all]))).toBe(true);
  expect(Buffer.concat(stderr)).toEqual(Buffer.from([0xff, 0x0a]));
  expect(code).toBe(42);
  expect(JSON.parse(server.last.body.toString())).toEqual({
    command: "make 'it so'",
    timeout: "1m",
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
  await full.promise;
  expect(sent).toBeLessThan(pieces / 2);
  const { code, stdout } = await ended(child);
  expect([code, stdout.length]).toEqual([0, pieces * 48 * 1024]);
});

test.each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const)("%s during exec closes the connection, which kills the command", async (signal, code) => {
  await using server = await ScriptedServer.start((response) => {
    response.write(output("stdout", "running\n"));
  });
  await using shell = await Shell.forServer(server);
  const child = shell.start("sandbox", "exec", "sbx_0", "sleep 60");
  await once(child.stdout, "data");
  child.kill(signal);
  expect(await ended(child)).toMatchObject({ code, stderr: "" });
  await server.aborted.promise;
});

test("when the reader of exec's output goes away, the command is killed", async () => {
  await using server = await ScriptedServer.start((response) => {
    const more = setInterval(() => response.write(output("stdout", "y\n")), 5);
    response.on("close", () => clearInterval(more));
  });
  await using shell = await Shell.forServer(server);
  const child = shell.start("sandbox", "exec", "sbx_0", "yes");
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
  expect([code, stdout.length]).toEqual([137, 0]);
  expect(stderr).toContain("killed at its timeout");
});

test("exec that never ran exits with 1 and says why", async () => {
  await using server = await ScriptedServer.start((response) =>
    sendJson(response, 404, {
      code: "sandbox_not_found",
      message: "There is no sandbox sbx_0.",
      remediation: "`skerry sandbox list` shows those there are.",
    }),
  );
  await using shell = await Shell.forServer(server);
  expect(await shell.run("sandbox", "exec", "sbx_0", "--", "true")).toMatchObject({
    code: 1,
    stderr:
      "error: There is no sandbox sbx_0. (sandbox_not_found)\n`skerry sandbox list` shows those there are.\n",
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
  expect(JSON.parse(server.last.body.toString())).toEqual({ command: words.join(" ") });
});
