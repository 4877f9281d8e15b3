import { expect, test } from "vitest";
import { Build, BuildEgress } from "@skerry/contract/builds/build";
import { exampleOf } from "@skerry/contract/named";
import { ScriptedServer, sendJson } from "../../sdk/tests/support/scripted-server.ts";
import { Shell } from "./support/shell.ts";

const build: Build = exampleOf(Build);
const failed: Build = {
  ...build,
  status: "failed",
  error: {
    code: "build_step_failed",
    message: "The step ended with 1.",
    step: 0,
    exit_code: 1,
    last_lines: [],
  },
};

test("builds are listed by status and template, with how far each is and why it failed", async () => {
  await using server = await ScriptedServer.start((response) =>
    sendJson(response, 200, { items: [build, failed], next_cursor: null }),
  );
  await using shell = await Shell.forServer(server);
  const { stdout } = await shell.run("build", "list", "--status", "failed", "--name", "web");
  expect(server.last.url).toBe("/v1/builds?status=failed&name=web");
  expect(stdout.toString()).toMatch(/^ID +TEMPLATE +STATUS +STEP +BEGUN +WHY\n/);
  expect(stdout.toString()).toMatch(/web:42 +building +1 of 1 .* -\n/);
  expect(stdout.toString()).toMatch(/web:42 +failed .* The step ended with 1\.\n/);
});

test("a build is shown with its steps", async () => {
  await using server = await ScriptedServer.start((response) => sendJson(response, 200, failed));
  await using shell = await Shell.forServer(server);
  const { stdout } = await shell.run("build", "show", build.id);
  expect(stdout.toString()).toContain("The step ended with 1.");
  expect(stdout.toString()).toMatch(
    /1 +running +\d+\.\d s +- +RUN apt-get update && apt-get install -y nginx\n/,
  );
  const json = await shell.run("build", "show", build.id, "--json");
  expect(JSON.parse(json.stdout.toString())).toEqual(failed);
});

test("a build is shown with the seconds of its steps, what was cached, and the bytes of each layer", async () => {
  const at = (second: number) => `2026-11-20T16:41:${String(second).padStart(2, "0")}.000Z`;
  const [step] = build.steps;
  if (step === undefined) throw new Error("the example has no step");
  const none = { started_at: null, finished_at: null, status: "waiting" } as const;
  const steps: Build["steps"] = [
    { ...step, ...none, status: "done", cache_hit: true, name: "first" },
    { ...step, status: "done", started_at: at(10), finished_at: at(22), bytes: 1_572_864, name: "second" },
    { ...step, ...none, name: "third" },
  ];
  const ready: Build = { ...build, status: "ready", started_at: at(9), finished_at: at(39), steps };
  await using server = await ScriptedServer.start((response) => sendJson(response, 200, ready));
  await using shell = await Shell.forServer(server);
  const text = (await shell.run("build", "show", build.id)).stdout.toString();
  expect(text).toMatch(/^took +30\.0 s\nof it to freeze +17\.0 s\n/m);
  expect(text).toMatch(/^STEP +STATUS +TOOK +LAYER +DOES\n1 +done +cached +- +first\n/m);
  expect(text).toMatch(/^2 +done +12\.0 s +1\.5 MiB +second\n3 +waiting +- +- +third\n/m);
});

test("a log is printed to its end, page by page", async () => {
  const line = (number: number) => ({
    line: number,
    step: 0,
    time: build.created_at,
    text: `line ${number}`,
  });
  await using server = await ScriptedServer.start((response, { url }) =>
    sendJson(
      response,
      200,
      url.includes("after=1") ? { lines: [line(2)], more: false } : { lines: [line(1)], more: true },
    ),
  );
  await using shell = await Shell.forServer(server);
  const { stdout } = await shell.run("build", "logs", build.id);
  expect(stdout.toString()).toBe("line 1\nline 2\n");
});

test("a build is canceled, and tried again as another one", async () => {
  await using server = await ScriptedServer.start((response, { url }) =>
    url.endsWith("retry")
      ? sendJson(response, 201, { ...build, id: "bld_2" })
      : sendJson(response, 200, { ...build, status: "canceled" }),
  );
  await using shell = await Shell.forServer(server);
  expect((await shell.run("build", "cancel", "bld_1")).stdout.toString()).toBe("bld_1 canceled\n");
  expect(server.last).toMatchObject({ method: "POST", url: "/v1/builds/bld_1/cancel" });
  expect((await shell.run("build", "retry", "bld_1")).stdout.toString()).toBe("bld_2\n");
  expect(server.last).toMatchObject({ method: "POST", url: "/v1/builds/bld_1/retry" });
});

test("egress of a build tells its rules and what it was denied", async () => {
  const report: BuildEgress = { ...exampleOf(BuildEgress), mode: "deny_all", allow_domains: ["example.com"] };
  const [denial] = report.denied;
  const answers = [report, report, { ...report, denied: [] }];
  await using server = await ScriptedServer.start((response) => sendJson(response, 200, answers.shift()));
  await using shell = await Shell.forServer(server);
  const { stdout } = await shell.run("build", "egress", build.id);
  expect([server.last.method, server.last.url]).toEqual(["GET", `/v1/builds/${build.id}/egress`]);
  expect(stdout.toString()).toMatch(/^mode +deny_all\n/);
  expect(stdout.toString()).toMatch(/\nallowed domains +example\.com\n/);
  expect(stdout.toString()).toMatch(/\nDENIED +PORT +PROTOCOL +RULE +PACKETS +LAST\n/);
  expect(stdout.toString()).toContain(`${denial?.domain ?? denial?.address}`);
  expect(stdout.toString()).toContain(`${denial?.rule}`);
  const json = await shell.run("build", "egress", build.id, "--json");
  expect(JSON.parse(json.stdout.toString())).toEqual(report);
  const none = await shell.run("build", "egress", build.id);
  expect(none.stdout.toString()).toContain("\n\nNothing was denied.\n");
});
