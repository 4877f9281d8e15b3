// Apps on real microVMs, behind the real proxy: from a deploy to an address, and to the next deploy without a
// lost request.

import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, inject, test } from "vitest";
import type { Deploy } from "../packages/sdk/src/skerry.ts";
import { freePort, serverPid, startPlatform, until, untilReplaced } from "./support/platform.ts";
import { run } from "./support/run.ts";

const port = await freePort();
const platform = await startPlatform({
  assets: inject("assets"),
  env: { SKERRY_EDGE_HTTP: `127.0.0.1:${port}` },
});
afterAll(() => platform.stop());
const { apps, machines } = platform.client;

/** A server that answers its version, and `/slow` after three seconds. */
const server = (version: string) => ({
  template: "base",
  processes: { web: { command: `exec python3 -c '${PROGRAM}' ${version}` } },
  services: [{ group: "web", port: 8080, check: { path: "/", port: 8080, interval: "1s" } }],
});
const PROGRAM = `
import http.server, sys, time
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        if self.path == "/slow": time.sleep(3)
        text = sys.argv[1].encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
    def log_message(self, *words): pass
http.server.ThreadingHTTPServer(("", 8080), H).serve_forever()
`;

async function ask(path = "/", app = "shop"): Promise<string> {
  const words = ["-s", "-m", "60", "-w", " %{http_code}", "-H", `Host: ${app}.localhost`];
  return run("curl", ...words, `http://127.0.0.1:${port}${path}`).catch((error: unknown) => String(error));
}

async function over({ id }: Deploy): Promise<Deploy> {
  let deploy: Deploy | undefined;
  await until("the deploy is over", async () => {
    deploy = await apps.getDeploy("shop", id).catch(() => deploy);
    return deploy !== undefined && deploy.finished_at !== null;
  });
  if (deploy === undefined) throw new Error("no deploy");
  return deploy;
}

/** Asks until it is told to stop; resolves with what was answered, and how often. */
function load(path: string): { stop: () => Promise<ReadonlyMap<string, number>> } {
  const seen = new Map<string, number>();
  const state = { isOver: false };
  const asking = (async () => {
    while (!state.isOver) {
      const answer = await ask(path);
      seen.set(answer, (seen.get(answer) ?? 0) + 1);
    }
  })();
  return {
    async stop() {
      state.isOver = true;
      await asking;
      expect(seen.size).toBeGreaterThan(0);
      return seen;
    },
  };
}

/** Processes of releases before may take their time to end. */
async function onlyServes(app: string, release: number): Promise<void> {
  await until(`only release ${release} is there`, async () => {
    const { instances } = await apps.get(app);
    return instances.every((one) => one.release === release && one.state === "serving");
  });
}

test("a deploy becomes an address, and the next one takes its place without a failed request", async () => {
  const app = await apps.create({ name: "shop" });
  expect(app.host).toBe("shop.localhost");
  expect(await over(await apps.deploy("shop", server("one")))).toMatchObject({
    status: "live",
    reason: null,
  });
  expect(await ask()).toBe("one 200");
  const [short, slow] = [load("/"), load("/slow")];
  await sleep(1_000);
  expect(await over(await apps.deploy("shop", server("two")))).toMatchObject({ status: "live", release: 2 });
  const [answers, slowAnswers] = [await short.stop(), await slow.stop()];
  for (const seen of [answers, slowAnswers])
    expect(["one 200", "two 200"]).toEqual(expect.arrayContaining([...seen.keys()]));
  expect(answers.get("two 200")).toBeGreaterThan(0);
  await onlyServes("shop", 2);
  expect(await ask()).toBe("two 200");
});

test("a release that exits fails its deploy with its code, and the one before goes on serving", async () => {
  const failed = await over(
    await apps.deploy("shop", {
      ...server("bad"),
      processes: { web: { command: "echo boom; sleep 1; exit 7" } },
    }),
  );
  expect(failed).toMatchObject({ status: "failed", reason: { code: "instance_failed", exit_code: 7 } });
  expect(await ask()).toBe("two 200");
  expect((await machines.logs(failed.reason?.instance ?? "")).join("\n")).toContain("boom");
});

test("a rollback serves the release of before, while control is killed in the middle", async () => {
  const traffic = load("/");
  const deploy = await apps.deploy("shop", { release: 1 });
  await sleep(300);
  const pid = await serverPid(platform, "control");
  process.kill(pid, "SIGKILL");
  await untilReplaced(platform, "control", pid);
  expect(await over(deploy)).toMatchObject({ status: "live" });
  expect(await ask()).toBe("one 200");
  const seen = await traffic.stop();
  expect(["one 200", "two 200"]).toEqual(expect.arrayContaining([...seen.keys()]));
});

test("a folder with a Dockerfile is launched, runs its command, its next deploy runs the release command, and one by hand has what it has", async () => {
  const folder = await mkdtemp(join(tmpdir(), "skerry-launch-"));
  await using _folder = { [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
  const command = JSON.stringify(["python3", "-c", PROGRAM, "built"]);
  await writeFile(
    join(folder, "Dockerfile"),
    `FROM base\nRUN mkdir -p /srv\nCOPY note /srv/\nEXPOSE 8080\nCMD ${command}\n`,
  );
  await writeFile(join(folder, "note"), "one");
  const skerry = async (...args: readonly string[]) => {
    const env = { HOME: folder, SKERRY_API_URL: platform.apiUrl, SKERRY_API_TOKEN: platform.token };
    const program = join(import.meta.dirname, "../dist/skerry.js");
    return promisify(execFile)(process.execPath, [program, ...args], { cwd: folder, env }).catch(
      (error: { readonly stdout: string; readonly stderr: string }) => error,
    );
  };
  const launched = await skerry("launch", "--app", "folder");
  expect(launched.stdout, launched.stderr).toContain("folder.localhost");
  expect(await ask("/", "folder")).toBe("built 200");
  const { cursor } = await platform.client.eventPage();
  expect((await skerry("app", "env", "--app", "folder", "LEVEL=info", "--stage")).stderr).toContain(
    "next deploy",
  );
  expect((await skerry("app", "env", "--app", "folder")).stdout).toMatch(/LEVEL +staged/);
  const file = await readFile(join(folder, "skerry.toml"), "utf8");
  await writeFile(join(folder, "note"), "two");
  for (const [release, told] of [
    ["cat /srv/note; exit 4", /The release command failed[^]*two/],
    ["grep two /srv/note", /releasing[^]*live/],
  ] as const) {
    await writeFile(join(folder, "skerry.toml"), `${file}\n[deploy]\nrelease_command = "${release}"\n`);
    expect((await skerry("deploy")).stderr).toMatch(told);
  }
  await onlyServes("folder", 3);
  const changes = await skerry("events", "--after", cursor, "--kind", "app", "deploy");
  expect(changes.stdout).toMatch(/^app app_\w+ active folder$/m);
  expect(changes.stdout).toMatch(/^deploy dpl_\w+ failed$[^]*^deploy dpl_\w+ live$/m);
  await apps.setSecret("folder", "API_KEY", { value: "hush-hush" });
  const byHand = ['cat /srv/note; printf %s "$LEVEL"; printf %s "$API_KEY" | wc -c; exit 5'];
  const ran = await skerry("app", "run", "--app", "folder", "-n", "--", ...byHand);
  // The live release is of before the secret, and has the variable that waited for it also after a failure.
  expect([ran.stdout, ran.stderr]).toEqual(["twoinfo0\n", ""]);
  await apps.delete("folder");
});

test("an instance whose machine ends is replaced, and a deleted app is gone with all of it", async () => {
  const [before] = (await apps.get("shop")).instances;
  await machines
    .execute(before?.machine_id ?? "", "kill -9 1; pkill -9 python3; true")
    .catch(() => undefined);
  await until("another one serves", async () => {
    const { instances } = await apps.get("shop");
    return instances.some(
      ({ state, machine_id }) => state === "serving" && machine_id !== before?.machine_id,
    );
  });
  await until("it answers", async () => (await ask()) === "one 200");
  await apps.delete("shop");
  await until("it is gone", async () => {
    for await (const one of apps.list()) if (one.name === "shop") return false;
    return true;
  });
  expect(await ask()).toContain("404");
});
