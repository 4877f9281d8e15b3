import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import {
  Skerry,
  SkerryApiError,
  SkerryConnectionError,
  SkerryInputError,
  type ExecuteEvent,
  type Timing,
} from "../src/skerry.ts";
import {
  eventText,
  exitFields,
  output,
  sandboxInfo,
  ScriptedServer,
  sendJson,
} from "./support/scripted-server.ts";

function client(server: ScriptedServer): Skerry {
  return new Skerry({ baseUrl: server.baseUrl, token: "sk_test" });
}

function streamOf(...events: readonly string[]) {
  return ScriptedServer.start((response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(events.join(""));
  });
}

test("execute returns the output, the exit code and the measurements of a command", async () => {
  await using server = await streamOf(
    output("stdout", "a"),
    ": keepalive\n\n",
    output("stderr", "warn\n"),
    output("stdout", "b\n"),
    eventText("exit", { ...exitFields, exit_code: 3 }),
  );
  const run = await client(server).sandboxes.execute("sbx_0", "make", { timeout: "1m", env: { A: "1" } });
  expect(run).toEqual({ ...exitFields, exit_code: 3, stdout: "ab\n", stderr: "warn\n" });
  expect(server.last).toMatchObject({ method: "POST", url: "/v1/sandboxes/sbx_0/execute" });
  expect(server.last.headers).toMatchObject({
    authorization: "Bearer sk_test",
    accept: "text/event-stream",
    "content-type": "application/json",
  });
  expect(JSON.parse(server.last.body.toString())).toEqual({
    command: "make",
    timeout: "1m",
    reattach: "60s",
    env: { A: "1" },
  });
});

test("a list is a program and its arguments, in which the shell reads nothing", async () => {
  await using server = await streamOf(eventText("exit", exitFields));
  const commands: readonly (readonly [readonly string[], string])[] = [
    [["python3", "-c", "print('a b')"], String.raw`python3 -c 'print('\''a b'\'')'`],
    [["echo", "$HOME", "", "a\nb", "ü"], "echo '$HOME' '' 'a\nb' 'ü'"],
    [["a program"], "'a program'"],
  ];
  for (const [command, line] of commands) {
    await client(server).sandboxes.execute("sbx_0", command);
    expect(JSON.parse(server.last.body.toString())).toMatchObject({ command: line });
  }
});

test("input arrives byte for byte, text as UTF-8, and an empty one is none", async () => {
  await using server = await streamOf(eventText("exit", exitFields));
  const every = Uint8Array.from({ length: 100_000 }, (_, at) => at % 256);
  const cases = [
    ["ä\0€🙂\n", Buffer.from("ä\0€🙂\n")],
    [every, Buffer.from(every)],
    // A view of something larger.
    [every.subarray(5, 9), Buffer.from([5, 6, 7, 8])],
  ] as const;
  for (const [stdin, read] of cases) {
    await client(server).sandboxes.execute("sbx_0", "cat", { stdin });
    const sent = JSON.parse(server.last.body.toString()) as Record<string, string>;
    expect(sent["stdin_encoding"]).toBe("base64");
    expect(Buffer.from(String(sent["stdin"]), "base64")).toEqual(read);
  }
  for (const stdin of ["", new Uint8Array(), undefined]) {
    await client(server).machines.execute("mch_0", "cat", { stdin });
    expect(JSON.parse(server.last.body.toString())).toEqual({ command: "cat", reattach: "60s" });
  }
});

test("input over 10 MiB, or text that is not Unicode, is refused before anything is sent", async () => {
  await using server = await streamOf(eventText("exit", exitFields));
  const { sandboxes } = client(server);
  await expect(
    sandboxes.execute("sbx_0", "cat", { stdin: new Uint8Array(10 * 1024 * 1024 + 1) }),
  ).rejects.toThrow("takes at most 10485760");
  await expect(sandboxes.execute("sbx_0", "cat", { stdin: "\ud800" })).rejects.toThrow(SkerryInputError);
  expect(server.received).toEqual([]);
});

test("creations and commands tell where the server's time went, also where they fail", async () => {
  await using server = await ScriptedServer.start((response, { url }) => {
    response.setHeader("server-timing", "place;dur=1.5, freeze;dur=7000, start;dur=12");
    if (url === "/v1/sandboxes") return sendJson(response, 201, sandboxInfo);
    sendJson(response, 409, { code: "sandbox_not_running", message: "It is destroyed." });
  });
  const { sandboxes } = client(server);
  const told: Timing[] = [];
  const onTiming = (timing: Timing) => void told.push(timing);
  await sandboxes.create({ template: "base" }, { onTiming });
  await expect(sandboxes.execute("sbx_0", "true", { onTiming })).rejects.toThrow("It is destroyed.");
  expect(JSON.parse(server.last.body.toString())).toEqual({ command: "true", reattach: "60s" });
  expect(told).toEqual(Array(2).fill({ place: 1.5, freeze: 7_000, start: 12 }));
});

test("characters cut between two pieces of output are put together again", async () => {
  const bytes = Buffer.from("\uFEFFé€😀");
  await using server = await streamOf(
    ...Array.from(bytes, (byte) => output("stdout", Uint8Array.of(byte))),
    eventText("exit", exitFields),
  );
  expect((await client(server).sandboxes.execute("sbx_0", "x")).stdout).toBe("\uFEFFé€😀");
});

test("execute keeps 10 MiB of an output and says that it dropped the rest", async () => {
  const piece = output("stdout", Buffer.alloc(1024 * 1024, "x"));
  await using server = await streamOf(...Array<string>(11).fill(piece), eventText("exit", exitFields));
  const run = await client(server).sandboxes.execute("sbx_0", "yes");
  expect([run.stdout.length, run.truncated]).toEqual([10 * 1024 * 1024, true]);
});

test("executeStream gives every byte as it was, before the command ends", async () => {
  const all = Uint8Array.from({ length: 256 }, (_, byte) => byte);
  const goOn = Promise.withResolvers<void>();
  await using server = await ScriptedServer.start((response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(output("stdout", all));
    void goOn.promise.then(() => response.end(eventText("exit", exitFields)));
  });
  const events: ExecuteEvent[] = [];
  for await (const event of client(server).sandboxes.executeStream("sbx_0", "cat /dev/all")) {
    events.push(event);
    goOn.resolve();
  }
  expect(events).toEqual([
    { type: "stdout", data: all },
    { type: "exit", ...exitFields },
  ]);
});

test("leaving the loop closes the connection, which kills the command", async () => {
  await using server = await ScriptedServer.start((response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(output("stdout", "first"));
  });
  for await (const event of client(server).sandboxes.executeStream("sbx_0", "sleep 60")) {
    expect(event.type).toBe("stdout");
    break;
  }
  await server.aborted.promise;
});

test("an abort during a command rejects with the caller's reason and closes the connection", async () => {
  const abort = new AbortController();
  await using server = await ScriptedServer.start((response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(": keepalive\n\n");
    void sleep(20).then(() => abort.abort(new Error("changed my mind")));
  });
  const run = client(server).sandboxes.execute("sbx_0", "sleep 60", { signal: abort.signal });
  await expect(run).rejects.toThrow("changed my mind");
  await server.aborted.promise;
});

test("a caller that leaves a command which runs kills it by its id", async () => {
  await using server = await ScriptedServer.start((response, { url }) => {
    if (url.endsWith("/kill")) return sendJson(response, 200, {});
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(`id: 0\n${eventText("start", { id: "exe_1" })}id: 5\n${output("stdout", "first")}`);
    return undefined;
  });
  for await (const _ of client(server).sandboxes.executeStream("sbx_0", "sleep 60")) break;
  expect(server.last.url).toBe("/v1/sandboxes/sbx_0/executions/exe_1/kill");
  expect(JSON.parse(server.last.body.toString())).toEqual({ signal: "KILL" });
});

test("a signal that is already aborted sends nothing", async () => {
  await using server = await streamOf(eventText("exit", exitFields));
  const run = client(server).sandboxes.execute("sbx_0", "x", { signal: AbortSignal.abort(new Error("no")) });
  await expect(run).rejects.toThrow("no");
  expect(server.received).toEqual([]);
});

test("an error in the stream is the API's error", async () => {
  await using server = await streamOf(
    output("stdout", "a"),
    eventText("error", { code: "guest_failed", message: "The VM died.", remediation: "Make a new one." }),
  );
  const error: unknown = await client(server)
    .sandboxes.execute("sbx_0", "x")
    .catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(SkerryApiError);
  expect(error).toMatchObject({ code: "guest_failed", status: 502, remediation: "Make a new one." });
});

test("a stream that ends before the command did is a broken connection, not a success", async () => {
  await using server = await streamOf(output("stdout", "a"));
  await expect(client(server).sandboxes.execute("sbx_0", "x")).rejects.toThrow(SkerryConnectionError);
});

test("a stream that is not Skerry's is refused with a name", async () => {
  for (const nonsense of [
    "event: stdout\ndata: {\n\n",
    eventText("stdout", { data: "%" }),
    eventText("stdout", {}),
  ]) {
    await using server = await streamOf(nonsense);
    await expect(client(server).sandboxes.execute("sbx_0", "x")).rejects.toThrow(SkerryConnectionError);
  }
});

test("a refused command rejects before any output", async () => {
  await using server = await ScriptedServer.start((response) =>
    sendJson(response, 409, { code: "sandbox_not_running", message: "It is destroyed." }),
  );
  const stream = client(server).sandboxes.executeStream("sbx_0", "x");
  await expect(stream.next()).rejects.toMatchObject({ code: "sandbox_not_running", status: 409 });
});
