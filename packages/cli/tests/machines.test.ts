import { expect, test } from "vitest";
import { machineInfo, eventText, ScriptedServer, sendJson } from "../../sdk/tests/support/scripted-server.ts";
import { Shell } from "./support/shell.ts";

/** Nothing is looked up for a whole id. */
const FULL_ID = "mch_01kb3x7q9vt5c7r2m8n4p6w1yz";

test("create prints the id alone on stdout, and its flags become the request", async () => {
  await using server = await ScriptedServer.start((response) => sendJson(response, 201, machineInfo));
  await using shell = await Shell.forServer(server);
  const flags = ["--name", "n", "--size", "shared-cpu-2x", "--env", "A=1", "--metadata", "job=7"];
  const life = [
    "--command",
    "exec worker",
    "--restart",
    "always",
    "--max-retries",
    "3",
    "--stop-timeout",
    "1m",
    "--autostop",
    "5m",
    "--autostart",
  ];
  const made = await shell.run("machine", "create", "--template", "base", ...flags, ...life);
  expect([made.code, made.stdout.toString()]).toEqual([0, "mch_0\n"]);
  expect(JSON.parse(server.last.body.toString())).toEqual({
    template: "base",
    name: "n",
    size: "shared-cpu-2x",
    env: { A: "1" },
    metadata: { job: "7" },
    command: "exec worker",
    stop_timeout: "1m",
    restart: { policy: "always", max_retries: 3 },
    autostop: { idle: "5m" },
    autostart: true,
  });
  expect(server.last.headers["idempotency-key"]).toMatch(/\S/);
  await shell.run("machine", "create", "--template", "base", "--max-retries", "unlimited", "--json");
  expect(JSON.parse(server.last.body.toString())).toEqual({
    template: "base",
    restart: { max_retries: null },
  });
  await shell.run("machine", "update", "mch_0", "--no-autostop", "--no-autostart");
  expect(JSON.parse(server.last.body.toString())).toEqual({ autostop: null, autostart: false });
  expect((await shell.run("machine", "create", "--template", "base", "--max-retries", "few")).code).toBe(2);
});

test("show says that restarts without a limit are unlimited", async () => {
  await using server = await ScriptedServer.start((response) =>
    sendJson(response, 200, {
      ...machineInfo,
      restart: { policy: "always", max_retries: null, disk: "keep" },
    }),
  );
  await using shell = await Shell.forServer(server);
  const { stdout } = await shell.run("machine", "show", "mch_0");
  expect(stdout.toString()).toMatch(/^restart +policy=always, max_retries=unlimited, disk=keep$/m);
});

test("start, stop and restart take several machines and say what became of each", async () => {
  await using server = await ScriptedServer.start((response, { url }) => {
    if (url.includes("mch_1")) sendJson(response, 404, { code: "machine_not_found", message: "None." });
    else sendJson(response, 202, { ...machineInfo, status: "stopping" });
  });
  await using shell = await Shell.forServer(server);
  const { code, stdout, stderr } = await shell.run("machine", "stop", "mch_1", "mch_0");
  expect([code, stdout.toString()]).toEqual([1, "mch_0 stopping\n"]);
  expect(stderr).toContain("machine_not_found");
  for (const verb of ["start", "restart"]) await shell.run("machine", verb, "mch_0");
  expect(server.received.map(({ method, url }) => `${method} ${url}`)).toEqual([
    "POST /v1/machines/mch_1/stop",
    "GET /v1/machines?alive=true",
    // Whether it is a sandbox's name.
    "GET /v1/sandboxes?alive=true",
    "POST /v1/machines/mch_0/stop",
    "POST /v1/machines/mch_0/start",
    "POST /v1/machines/mch_0/restart",
  ]);
});

test("a log cannot take over the terminal of whoever reads it, and JSON has it as it is", async () => {
  const line = "a\u001b[2J\u202eb\tc";
  const wild = `${line}\u009b2J\u007f\u2066`;
  await using server = await ScriptedServer.start((response, { url }) => {
    if (!url.includes("follow")) return sendJson(response, 200, { lines: [line] });
    response.writeHead(200, { "content-type": "text/event-stream" });
    const second = url.includes("lines=1&") ? wild : "last";
    response.end(eventText("line", { line }) + eventText("line", { line: second }) + eventText("end", {}));
  });
  await using shell = await Shell.forServer(server);
  const shown = "a\\x1b[2J\\u202eb        c\n";
  expect((await shell.run("machine", "logs", "mch_0")).stdout.toString()).toBe(shown);
  const followed = await shell.run("machine", "logs", "mch_0", "--follow", "--lines", "5");
  expect([followed.code, followed.stdout.toString()]).toEqual([0, `${shown}last\n`]);
  expect(server.last.url).toBe("/v1/machines/mch_0/logs?lines=5&kernel=false&follow=true");
  const json = await shell.run("machine", "logs", "mch_0", "--json");
  expect(JSON.parse(json.stdout.toString())).toEqual({ lines: [line] });
  expect(json.stdout.includes("\u001b")).toBe(false);
  const followedJson = await shell.run("machine", "logs", "mch_0", "--follow", "--lines", "1", "--json");
  const printed = followedJson.stdout.toString().trimEnd().split("\n");
  expect(printed.map((text) => JSON.parse(text) as unknown)).toEqual([line, wild]);
  expect(printed.join("")).toMatch(/^[\x20-\x7e]*$/);
});

test("logs of several machines have the machine in front of each line, which a guest cannot forge", async () => {
  await using server = await ScriptedServer.start((response, { url }) => {
    const name = /(?:machines|sandboxes)\/([^/?]+)/.exec(url)?.[1];
    const code = url.includes("sandboxes") ? "sandbox_not_found" : "machine_not_found";
    if (name === "gone") return sendJson(response, 404, { code, message: "No." });
    if (!url.includes("/logs")) return sendJson(response, 200, { items: [], next_cursor: null });
    const lines = name === "web" ? ["up", "x\rworker | forged"] : ["down"];
    if (!url.includes("follow")) {
      expect(url).toContain("timestamps=true");
      // The time of one is not known, and the other machine has printed between two lines.
      const times = name === "web" ? ["2026-11-28T10:00:01.000Z", "-"] : ["2026-11-28T10:00:00.900Z"];
      return sendJson(response, 200, { lines: lines.map((line, index) => `${times[index]} ${line}`) });
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end([...lines.map((line) => eventText("line", { line })), eventText("end", {})].join(""));
  });
  await using shell = await Shell.forServer(server);
  const shown = ["worker | down", "web | up", "web | x\\x0dworker | forged"];
  for (const [noun, missing] of [
    [["machine"], "machine_not_found"],
    [[], 'There is no sandbox and no machine "gone". (not_found)'],
  ] as const) {
    const all = await shell.run(...noun, "logs", "web", "gone", "worker", "--grep", "a b");
    expect([all.code, all.stdout.toString().trimEnd().split("\n")]).toEqual([1, shown]);
    expect(all.stderr).toContain(missing);
    expect(server.received.map(({ url }) => url)).toContain(
      "/v1/machines/worker/logs?grep=a+b&kernel=false&timestamps=true",
    );
    const followed = await shell.run(...noun, "logs", "web", "gone", "worker", "--follow");
    expect([followed.code, followed.stdout.toString().trimEnd().split("\n").toSorted()]).toEqual([
      1,
      shown.toSorted(),
    ]);
  }
  const json = await shell.run("machine", "logs", "web", "worker", "--json");
  const printed = json.stdout.toString().trimEnd().split("\n");
  expect(printed.map((text) => JSON.parse(text) as unknown)).toEqual([
    { machine: "worker", line: "down" },
    { machine: "web", line: "up" },
    { machine: "web", line: "x\rworker | forged" },
  ]);
  const timed = await shell.run("machine", "logs", "web", "worker", "--timestamps");
  expect(timed.stdout.toString()).toMatch(
    /^worker \| 2026-11-28T10:00:00\.900Z down\nweb \| 2026-\S+Z up\nweb \| - x/,
  );
});

test("what reaches into a machine is the same as for a sandbox, under its own path", async () => {
  await using server = await ScriptedServer.start((response, { url }) =>
    url.endsWith("/execute")
      ? response.end(eventText("exit", { exit_code: 3 }))
      : sendJson(response, 200, { entries: [], truncated: false, path: "/a", size: 0 }),
  );
  await using shell = await Shell.forServer(server);
  expect((await shell.run("machine", "exec", "mch_0", "--", "false")).code).toBe(3);
  await shell.run("machine", "ls", "mch_0", "/root");
  await shell.run("machine", "upload", FULL_ID, "-", "/a");
  expect(server.received.map(({ method, url }) => `${method} ${url}`)).toEqual([
    "POST /v1/machines/mch_0/execute",
    "GET /v1/machines/mch_0/files/root?list=true",
    `PUT /v1/machines/${FULL_ID}/files/a`,
  ]);
});

test("list and show tell why a machine does not run", async () => {
  const failed = { ...machineInfo, status: "failed", reason: "the guest ran out of memory", exit_code: 137 };
  await using server = await ScriptedServer.start((response, { url }) =>
    sendJson(response, 200, url.includes("mch_0") ? failed : { items: [failed], next_cursor: null }),
  );
  await using shell = await Shell.forServer(server);
  const list = await shell.run("machine", "list", "--status", "failed");
  expect(list.stdout.toString()).toContain("the guest ran out of memory");
  expect(server.last.url).toBe("/v1/machines?status=failed");
  const { stdout } = await shell.run("machine", "show", "mch_0");
  expect(stdout.toString()).toMatch(/exit_code +137/);
});

test("stop waits for a machine that was starting, and for none that somebody has started again", async () => {
  let looks = 0;
  await using server = await ScriptedServer.start((response, { method, url }) => {
    const desired = url.includes("mch_2") ? "running" : "stopped";
    if (method === "POST") return sendJson(response, 202, { ...machineInfo, status: "starting", desired });
    looks += 1;
    sendJson(response, 200, { ...machineInfo, desired, status: looks < 2 ? "stopping" : "stopped" });
  });
  await using shell = await Shell.forServer(server);
  const stopped = await shell.run("machine", "stop", "mch_0");
  expect([stopped.code, stopped.stdout.toString(), looks]).toEqual([0, "mch_0 stopped\n", 2]);
  const started = await shell.run("machine", "stop", "mch_2");
  expect([started.stdout.toString(), looks]).toEqual(["mch_0 starting\n", 2]);
});
