// Secrets that requests of real guests get on their way: through their slots and the name proxy of their host to servers that refuse requests without them. Clients of six kinds trust the VM's authority, and go on doing so over the life of the VM.

import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { authorityCertificate } from "@skerry/contract/certificates/x509";
import type { VmOrigin } from "@skerry/contract/host-api/snapshots";
import type { VmSpec } from "@skerry/contract/host-api/vm";
import type { HostEgress, HostEgressReport } from "@skerry/contract/vms/egress";
import { injectEnv, type InjectRule } from "@skerry/contract/vms/inject";
import { LoneHost } from "./support/lone-host.ts";
import { nothingWaits, until } from "./support/platform.ts";
import { run } from "./support/run.ts";
import { sampled } from "./support/sampling.ts";
import { makeSite } from "./support/inject-files.ts";
import { dnsServer, World } from "./support/world.ts";

const TEMPLATE = "injected";
const ADDRESS = "203.0.113.10";
const [FIRST, SECOND] = ["the-first-value-of-the-secret", "the-second-value-of-the-secret"];
const bearer = { secret: "API_KEY", header: "Authorization", format: "Bearer {}" };
const rules: InjectRule[] = [
  { host: "api.inject.example", ...bearer },
  { host: "pip.inject.example", ...bearer },
  { host: "git.inject.example", secret: "API_KEY", basic_user: "x-token" },
];

const undo = new AsyncDisposableStack();
let folder: string;
let host: LoneHost;
let world: World;
let vm: Started;
let starts = 0;

interface Started {
  readonly id: string;
  readonly executionId: string;
}

/** Each VM has a seed of its own, as control derives it. */
function policyOf(
  id: string,
  value: string | undefined,
  version: number,
): Pick<VmSpec, "egress" | "egress_version"> {
  const seed = Buffer.from(id).toString("hex").padEnd(64, "0").slice(0, 64);
  const egress: HostEgress = {
    ...{ mode: "deny_all", allow_cidrs: [], deny_cidrs: [], allow_ports: [], dns: true },
    ...{ allow_domains: ["*.inject.example"], inject: rules },
    injection: { vm: id, seed, values: value === undefined ? {} : { API_KEY: value } },
  };
  return { egress, egress_version: version };
}

async function start(id: string, value: string, from?: VmOrigin): Promise<Started> {
  const started = { id, executionId: `exe_${(starts += 1)}` };
  const { status, body } = await host.call("PUT", `/vms/${id}`, specOf(started, value, from));
  expect(`${status} ${JSON.stringify(body)}`).toMatch(/^200 /);
  return started;
}

function specOf({ id, executionId }: Started, value: string, from?: VmOrigin): VmSpec {
  return {
    ...{
      execution_id: executionId,
      template: TEMPLATE,
      size: "shared-cpu-1x",
      hostname: id.replace("_", "-"),
    },
    ...{ env: injectEnv(rules), ...policyOf(id, value, 1) },
    ...(from !== undefined && { from }),
  };
}

async function tell({ id, executionId }: Started, value: string | undefined, version: number): Promise<void> {
  const { egress } = policyOf(id, value, version);
  const answer = await host.call("PUT", `/vms/${id}/egress`, { execution_id: executionId, egress, version });
  expect(answer.status).toBe(200);
}

const sh = ({ id, executionId }: Started, command: string) => host.execute(id, executionId, command);
/** Whether the server knew the secret, and what the guest sees of it in the answer. */
const ECHO = "curl -sS --max-time 60 https://api.inject.example/echo";
const known = `true Bearer ${"*".repeat(FIRST.length)}\n`;

async function proxyPid(): Promise<number | undefined> {
  const socket = join(host.folder, "host/names.sock");
  for (const name of await readdir("/proc")) {
    const words = await readFile(`/proc/${name}/cmdline`, "utf8").catch(() => "");
    if (words.includes(socket)) return Number(name);
  }
  return undefined;
}

async function killProxy(): Promise<void> {
  const pid = await proxyPid();
  if (pid === undefined) return;
  // Nothing that the operator or a guest has set reaches it.
  expect(await readFile(`/proc/${pid}/environ`, "utf8")).toBe("");
  process.kill(pid, "SIGKILL");
}

const untilKnown = (what: string) =>
  until(what, async () => (await sh(vm, `${ECHO} || true`).catch(() => "")) === known, 120_000);

beforeAll(async () => {
  folder = await mkdtemp("/tmp/skerry-test-inject-");
  undo.defer(() => rm(folder, { recursive: true, force: true }));
  await mkdir(join(folder, "templates", TEMPLATE), { recursive: true });
  const packages = [
    "curl",
    "git",
    "nodejs",
    "python3",
    "python3-pip",
    "python3-requests",
    "python3-httpx",
    "ca-certificates",
  ];
  await writeFile(
    join(folder, "templates", TEMPLATE, "template.json"),
    JSON.stringify({ description: "Clients", suite: "bookworm", packages, disk_gib: 2, warm_up: [] }),
  );
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const pair = { privateKey, publicKey: createPublicKey(privateKey) };
  const until = new Date(Date.now() + 86_400_000);
  await writeFile(join(folder, "ca.crt"), authorityCertificate(pair, { name: "test sites", until }));
  await writeFile(join(folder, "authority.key"), privateKey.export({ type: "pkcs8", format: "pem" }), {
    mode: 0o600,
  });
  await writeFile(join(folder, "values"), FIRST);
  await makeSite(folder);
  host = undo.adopt(
    await LoneHost.open(inject("assets"), {
      SKERRY_TEMPLATES: join(folder, "templates"),
      SKERRY_EXTRA_CA: join(folder, "ca.crt"),
      SKERRY_DNS_SERVERS: `${dnsServer}:53`,
      ...nothingWaits,
    }),
    (opened) => opened.close(),
  );
  undo.defer(removeTemplate);
  await untilBuilt();
  const sites = join(import.meta.dirname, "support/inject-sites.ts");
  const words = [process.execPath, "--no-warnings", sites, dnsServer, ADDRESS, folder];
  world = undo.use(await World.open(words));
  vm = await start("sbx_injected", FIRST);
});
afterAll(() => undo.disposeAsync());

async function untilBuilt(): Promise<void> {
  await until(
    "the template is built and frozen",
    async () =>
      (
        await host.call("PUT", "/vms/sbx_first", {
          ...{
            execution_id: "exe_first",
            template: TEMPLATE,
            size: "shared-cpu-1x",
            hostname: "first",
            env: {},
          },
          ...policyOf("sbx_first", undefined, 1),
        })
      ).status === 200,
    600_000,
  );
  await host.call("DELETE", "/vms/sbx_first?execution_id=exe_first");
}

/** The authority is new in each run, and so is the template. */
async function removeTemplate(): Promise<void> {
  for (const kind of ["images", "frozen"]) {
    const names = await readdir(join(inject("assets"), kind)).catch(() => [] as string[]);
    for (const name of names.filter((one) => one.startsWith(`${TEMPLATE}-`)))
      await rm(join(inject("assets"), kind, name), { recursive: true, force: true });
  }
}

const PYTHON = (module: string) =>
  `python3 -c 'import ${module}; print(${module}.get("https://api.inject.example/echo").text, end="")'`;
const NODE = `node -e 'fetch("https://api.inject.example/echo").then((one) => one.text()).then((text) => process.stdout.write(text))'`;

test.each([
  ["curl", ECHO],
  ["curl over HTTP/1.1", `${ECHO} --http1.1`],
  ["curl past all proxies, with a header of its own", `${ECHO} --noproxy '*' -H 'Authorization: Bearer own'`],
  ["Node's fetch", NODE],
  ["Python's requests", PYTHON("requests")],
  ["Python's httpx", PYTHON("httpx")],
])("%s of a guest has the secret at the server, and never in the guest", async (_client, command) => {
  expect(await sh(vm, command)).toBe(known);
});

test("git and pip fetch what is for the secret's holders alone", async () => {
  const clone = "git clone -q https://git.inject.example/repository.git /root/clone && cat /root/clone/file";
  expect(await sh(vm, clone)).toBe("of the repository\n");
  const install =
    "pip install -q --no-cache-dir --target /root/tiny --index-url https://pip.inject.example/simple tiny";
  await sh(vm, `${install} 2>&1`);
  expect(await sh(vm, "PYTHONPATH=/root/tiny python3 -c 'import tiny; print(tiny.ANSWER)'")).toBe("42\n");
});

test("HTTP/2 goes on as HTTP/2, and HTTP/1.1 as HTTP/1.1", async () => {
  world.arrivals.length = 0;
  await sh(vm, `${ECHO} --http2; ${ECHO} --http1.1`);
  await until("both are told", async () => world.arrivals.length >= 2);
  expect(world.arrivals.map(({ text }) => text)).toEqual([
    `2.0 GET api.inject.example/echo Bearer ${FIRST}`,
    `1.1 GET api.inject.example/echo Bearer ${FIRST}`,
  ]);
});

test("a name without a rule shows its own certificate and gets nothing", async () => {
  const plain = "curl -sS https://other.inject.example/echo";
  expect(await sh(vm, plain)).toBe("false \n");
  expect(await sh(vm, `${plain} -v 2>&1 | grep issuer`)).toContain("test sites");
  expect(await sh(vm, `${ECHO} -v 2>&1 | grep issuer`)).toContain(`Skerry egress of ${vm.id}`);
});

test("the guest has a placeholder, and neither its files nor its processes have the value", async () => {
  expect(await sh(vm, "echo $API_KEY")).toBe("skerry-secret:API_KEY\n");
  const search = `grep -rlsa ${FIRST.slice(0, 12)}"${FIRST.slice(12)}" /root /run /tmp /etc /var/log /proc/[0-9]*/environ; true`;
  expect(await sh(vm, search)).toBe("");
});

test("a value that is set anew is in the next request, and one that is taken away sends nothing", async () => {
  await writeFile(join(folder, "values"), `${FIRST}\n${SECOND}`);
  await tell(vm, SECOND, 2);
  world.arrivals.length = 0;
  expect(await sh(vm, ECHO)).toMatch(/^true /);
  expect(world.arrivals.at(-1)?.text).toContain(SECOND);
  await tell(vm, undefined, 3);
  world.arrivals.length = 0;
  expect(await sh(vm, ECHO)).toContain("secret_unavailable");
  expect(world.arrivals).toEqual([]);
  await tell(vm, FIRST, 4);
  const { body } = await host.call<HostEgressReport>(
    "GET",
    `/vms/${vm.id}/egress?execution_id=${vm.executionId}`,
  );
  expect(body.injected?.map(({ host: to }) => to).toSorted()).toEqual([
    "api.inject.example",
    "git.inject.example",
    "pip.inject.example",
  ]);
  expect(JSON.stringify(body)).not.toContain(FIRST);
});

test("a proxy that is killed, a host that is killed, and both: requests have the secret again", async () => {
  await killProxy();
  await untilKnown("a request after the proxy's death");
  await host.end("SIGKILL");
  await host.start();
  await untilKnown("a request after the host's death");
  await host.end("SIGKILL");
  await killProxy();
  await host.start();
  await untilKnown("a request after the death of both");
});

const WAITING = `cat > /root/wait.mjs <<'X'
import { existsSync, writeFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
writeFileSync("/root/waits", "");
for (let n = 0; ; n += 1) {
  await setTimeout(200);
  if (!existsSync("/root/go")) continue;
  const answer = await fetch("https://api.inject.example/echo").catch((error) => ({ text: () => String(error.cause) }));
  writeFileSync("/root/said", await answer.text());
  break;
}
X
setsid node /root/wait.mjs </dev/null >/dev/null 2>&1 & while ! [ -e /root/waits ]; do sleep 0.1; done`;

test("after a pause programs that run trust it as before, and a fork has an authority and a value of its own", async () => {
  await sh(vm, WAITING);
  const pause = { execution_id: vm.executionId };
  expect((await host.call("POST", `/vms/${vm.id}/pause`, pause)).status).toBe(200);
  const memory = await readFile(join(host.folder, "host/vms", vm.id, "memory"));
  expect(memory.includes(FIRST)).toBe(false);
  vm = await start(vm.id, FIRST, { kind: "paused" });
  await sh(vm, "touch /root/go; while ! [ -s /root/said ]; do sleep 0.1; done");
  expect(await sh(vm, "cat /root/said")).toBe(known);
  const snapshot_id = `snp_${"0".repeat(26)}`;
  const kept = { execution_id: vm.executionId, snapshot_id };
  expect((await host.call("POST", `/vms/${vm.id}/snapshots`, kept)).status).toBe(200);
  const fork = await start("sbx_fork", SECOND, { kind: "snapshot", snapshot_id });
  world.arrivals.length = 0;
  expect(await sh(fork, ECHO)).toMatch(/^true /);
  expect(world.arrivals.at(-1)?.text).toContain(SECOND);
  expect(await sh(fork, `${ECHO} -v 2>&1 | grep issuer`)).toContain("Skerry egress of sbx_fork");
  expect(await sh(vm, ECHO)).toBe(known);
  await host.call("DELETE", `/vms/sbx_fork?execution_id=${fork.executionId}`);
});

/** From its first instruction to about its end, on this machine and on faster ones. */
const stepsOfWakeMs = [0, 30, 80, 150, 300, 600, 1_200];

test.each(["host", "proxy", "both"] as const)(
  "a wake in which %s is killed ends with the secret all the same",
  async (victim) => {
    for (const delayMs of sampled(`wakes with a killed ${victim}`, stepsOfWakeMs)) {
      await host.call("POST", `/vms/${vm.id}/pause`, { execution_id: vm.executionId });
      vm = { id: vm.id, executionId: `exe_${(starts += 1)}` };
      const wake = () => host.call("PUT", `/vms/${vm.id}`, specOf(vm, FIRST, { kind: "paused" }));
      const first = wake().catch(() => undefined);
      await sleep(delayMs);
      if (victim !== "host") await killProxy();
      if (victim !== "proxy") {
        await host.end("SIGKILL");
        await host.start();
      }
      await first;
      // As control does it until the host confirms.
      await until("the host says that it runs", async () => (await wake()).status === 200, 120_000);
      await untilKnown(`a request after ${victim} was killed ${delayMs} ms into the wake`);
    }
  },
);

test("no file of the host and no process of it shows the value, and nothing of it is left when the VM is gone", async () => {
  const inShm = async () => (await readdir("/dev/shm")).filter((name) => name.startsWith(host.instance));
  expect(await inShm()).toEqual([`${host.instance}:${vm.id}:${vm.executionId}:injected`]);
  // Not as an argument, where it would be found.
  const value = join(folder, "value");
  await writeFile(value, FIRST);
  const places = `${host.folder} /proc/[0-9]*/cmdline /proc/[0-9]*/environ`;
  const found = await run("sh", "-c", `grep -rlsa -f ${value} ${places} || true`);
  expect(found).toBe("");
  await host.call("DELETE", `/vms/${vm.id}?execution_id=${vm.executionId}`);
  expect(await inShm()).toEqual([]);
});
