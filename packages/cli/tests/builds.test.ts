import { expect, test } from "vitest";
import { Build } from "@skerry/contract/builds/build";
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
  expect(stdout.toString()).toMatch(/1 +running +RUN apt-get update && apt-get install -y nginx\n/);
  const json = await shell.run("build", "show", build.id, "--json");
  expect(JSON.parse(json.stdout.toString())).toEqual(failed);
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
