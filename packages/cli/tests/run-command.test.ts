import { once } from "node:events";
import { expect, test } from "vitest";
import {
  eventText,
  exitFields,
  output,
  sandboxInfo,
  ScriptedServer,
  sendJson,
} from "../../sdk/tests/support/scripted-server.ts";
import { ended, Shell } from "./support/shell.ts";

const EXECUTION = "exe_01kb3x5w7y9z1a3c5e7g9j1m3p";

/** A server with one sandbox, in which a command ends with this code. */
async function serverOf(exitCode: number, started: () => void = () => undefined) {
  const seen: string[] = [];
  const server = await ScriptedServer.start((response, { method, url }) => {
    seen.push(`${method} ${url}`);
    if (method === "DELETE") return void response.writeHead(204).end();
    if (url === "/v1/sandboxes") return sendJson(response, 201, sandboxInfo);
    if (url.endsWith("/executions")) return sendJson(response, 201, { id: EXECUTION });
    response.write(eventText("start", { id: EXECUTION }) + output("stdout", "hello\n"));
    started();
    // A command that does not end.
    if (exitCode >= 0) response.end(eventText("exit", { ...exitFields, exit_code: exitCode }));
    return undefined;
  });
  return { server, seen };
}

const sandbox = `/v1/sandboxes/${sandboxInfo.id}`;

test.each([0, 3])(
  "run makes a sandbox, ends with the command's code %i, and leaves none",
  async (exitCode) => {
    const { server, seen } = await serverOf(exitCode);
    await using _server = server;
    await using shell = await Shell.forServer(server);
    const answer = await shell.run(
      "run",
      "--template",
      "base",
      "--timeout",
      "90s",
      "--env",
      "A=b",
      "-n",
      "--",
      "make",
      "it so",
    );
    expect(answer).toMatchObject({ code: exitCode, stdout: Buffer.from("hello\n") });
    expect(seen).toEqual(["POST /v1/sandboxes", `POST ${sandbox}/execute`, `DELETE ${sandbox}`]);
    const [created, executed] = server.received.map(({ body }) =>
      body.length === 0 ? null : JSON.parse(body.toString()),
    );
    // Longer than the command may take, for what is copied.
    expect(created).toEqual({ template: "base", timeout: "11m30s", env: { A: "b" } });
    expect(executed).toEqual({
      ...{ command: "make 'it so'", timeout: "90s", reattach: "60s", keep_output: true },
    });
  },
);

test.each([
  ["20m", "30m", "20m"],
  ["24h", "24h", "24h"],
  ["0", "24h", "0s"],
])("a command of run may take %s, and its sandbox lives %s", async (asked, life, timeout) => {
  const { server } = await serverOf(0);
  await using _server = server;
  await using shell = await Shell.forServer(server);
  expect((await shell.run("run", "--template", "base", "--timeout", asked, "-n", "--", "make")).code).toBe(0);
  const [created, executed] = server.received.map(({ body }) => JSON.parse(body.toString() || "null"));
  expect([created.timeout, executed.timeout]).toEqual([life, timeout]);
});

test("a detached run prints the id of its execution, and leaves the sandbox to end with it", async () => {
  const { server, seen } = await serverOf(0);
  await using _server = server;
  await using shell = await Shell.forServer(server);
  const answer = await shell.run(
    "run",
    "--template",
    "base",
    "--detach",
    "--timeout",
    "2h",
    "--",
    "make",
    "all",
  );
  expect(answer).toMatchObject({ code: 0, stdout: Buffer.from(`${EXECUTION}\n`) });
  expect(answer.stderr).toContain(`skerry runs logs --follow ${EXECUTION}`);
  expect(seen).toEqual(["POST /v1/sandboxes", `POST ${sandbox}/executions`]);
  expect(JSON.parse(server.last.body.toString())).toEqual({
    ...{ command: "make all", timeout: "2h", destroy_sandbox: true },
  });
});

test("a run that failed says where its output is, and one that went well says nothing", async () => {
  for (const exitCode of [0, 3]) {
    const { server } = await serverOf(exitCode);
    await using _server = server;
    await using shell = await Shell.forServer(server);
    const { code, stderr } = await shell.run("run", "--template", "base", "-n", "--", "make");
    expect([code, stderr.includes(`skerry runs logs ${EXECUTION}`)]).toEqual([exitCode, exitCode !== 0]);
  }
});

/** A guest whose commands are answered by what they are; the others end with this code. */
async function guestOf(exitCode: number, matches: readonly string[]) {
  const seen: string[] = [];
  const server = await ScriptedServer.start((response, { method, url, body }) => {
    const { command = "" } = JSON.parse(body.toString() || "{}") as { command?: string };
    seen.push(`${method} ${url}`);
    if (method === "DELETE") return void response.writeHead(204).end();
    if (url === "/v1/sandboxes") return sendJson(response, 201, sandboxInfo);
    if (url.endsWith("/keepalive"))
      return sendJson(response, 200, { ...sandboxInfo, expires_at: "2026-11-20T16:31:09.123Z" });
    if (command.includes("for one in $P"))
      return response.end(
        output("stdout", matches.map((name) => `${name}\0`).join("")) + eventText("exit", exitFields),
      );
    return response.end(eventText("exit", { ...exitFields, exit_code: exitCode }));
  });
  return { server, seen };
}

test("what may be missing is no failure, and what must be there says how to look", async () => {
  const { server, seen } = await guestOf(0, []);
  await using _server = server;
  await using shell = await Shell.forServer(server);
  const run = (flag: string) =>
    shell.run("run", "--template", "base", "-n", flag, "/root/*.xml:out/", "--", "make");
  const optional = await run("--copy-out-optional");
  expect(optional).toMatchObject({ code: 0, stderr: "There is no /root/*.xml to copy.\n" });
  const needed = await run("--copy-out");
  expect([needed.code, needed.stderr]).toEqual([
    125,
    expect.stringMatching(/Nothing in the sandbox is called \/root\/\*\.xml\..*\n.*--copy-out-optional/),
  ]);
  expect(seen.filter((call) => call === `DELETE ${sandbox}`)).toHaveLength(2);
});

test.each([
  [3, true],
  [0, false],
])("a run with --keep-on-failure that ends with %i leaves its sandbox: %s", async (exitCode, stays) => {
  const { server, seen } = await guestOf(exitCode, []);
  await using _server = server;
  await using shell = await Shell.forServer(server);
  const answer = await shell.run("run", "--template", "base", "-n", "--keep-on-failure", "--", "make");
  expect(answer.code).toBe(exitCode);
  expect(answer.stderr.includes(`skerry sandbox shell ${sandboxInfo.id}`)).toBe(stays);
  expect(seen.at(-1)).toBe(stays ? `POST ${sandbox}/keepalive` : `DELETE ${sandbox}`);
  if (stays) expect(JSON.parse(server.last.body.toString())).toEqual({ timeout: "10m" });
});

test("run that is interrupted destroys its sandbox", async () => {
  const begun = Promise.withResolvers<void>();
  const { server, seen } = await serverOf(-1, begun.resolve);
  await using _server = server;
  await using shell = await Shell.forServer(server);
  const child = shell.start("run", "--template", "base", "-n", "--", "sleep", "100");
  await begun.promise;
  await once(child.stdout, "data");
  child.kill("SIGINT");
  expect(await ended(child)).toMatchObject({ code: 130 });
  expect(seen.at(-1)).toBe(`DELETE ${sandbox}`);
});

test("a sandbox that cannot be destroyed is named, and the command keeps its code", async () => {
  await using server = await ScriptedServer.start((response, { method, url }) => {
    if (method === "DELETE") return sendJson(response, 409, { code: "forbidden", message: "No." });
    if (url === "/v1/sandboxes") return sendJson(response, 201, sandboxInfo);
    response.end(eventText("exit", { ...exitFields, exit_code: 7 }));
    return undefined;
  });
  await using shell = await Shell.forServer(server);
  const answer = await shell.run("run", "--template", "base", "-n", "--", "false");
  expect(answer.code).toBe(7);
  expect(answer.stderr).toContain(`skerry sandbox destroy ${sandboxInfo.id}`);
});

test.each([
  [["--timeout", "25h"], "A sandbox lives 24h at most"],
  [["--timeout", "soon"], "0 for none"],
  [["--copy-out", ":x"], "names nothing in the sandbox"],
  [["--detach", "--copy-out", "/root/x"], "so --copy-out has no effect"],
  [["--detach", "-i"], "so --stdin has no effect"],
  [["--detach", "--keep-on-failure"], "so --keep-on-failure has no effect"],
])("run %j is refused before there is a sandbox", async (flags, said) => {
  const { server, seen } = await serverOf(0);
  await using _server = server;
  await using shell = await Shell.forServer(server);
  const answer = await shell.run("run", ...flags, "--", "true");
  expect(answer.code).toBe(2);
  expect(answer.stderr).toContain(said);
  expect(seen).toEqual([]);
});
