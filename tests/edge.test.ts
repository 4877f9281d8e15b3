// The proxy in front of apps with real guests: requests come into a published port and nowhere else, whatever
// the guest's policy, its slot or its host process.

import { readFile } from "node:fs/promises";
import { connect } from "node:net";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { EdgeInstance, EdgeState } from "@skerry/contract/host-api/edge";
import type { Vm, VmSpec } from "@skerry/contract/host-api/vm";
import { LoneHost } from "./support/lone-host.ts";
import { freePort, until } from "./support/platform.ts";
import { run } from "./support/run.ts";

const SERVER = (name: string, port: number) =>
  `cd /tmp && echo ${name} >index.html && (setsid python3 -m http.server ${port} </dev/null >/dev/null 2>&1 &) && while ! curl -so /dev/null localhost:${port}; do sleep 0.1; done`;

let host: LoneHost;
let port: number;
let version = 0;
const vms: Vm[] = [];

async function start(id: string): Promise<Vm> {
  const spec: VmSpec = {
    ...{ execution_id: `exe_${id}`, template: "base", size: "shared-cpu-1x", hostname: id.replace("_", "-") },
    ...{ env: {}, egress_version: 1 },
    egress: { mode: "deny_all", allow_cidrs: [], deny_cidrs: [], allow_ports: [], dns: false },
  };
  const { status, body } = await host.call("PUT", `/vms/${id}`, spec);
  expect(`${status} ${JSON.stringify(body)}`).toMatch(/^200 /);
  vms.push(body);
  return body;
}

const sh = ({ id, execution_id }: Vm, command: string) => host.execute(id, execution_id, command);
const at = ({ id, execution_id }: Vm, on = 8080): EdgeInstance => ({
  vm: id,
  execution_id,
  port: on,
  state: "serving",
});

async function serve(...instances: readonly EdgeInstance[]): Promise<EdgeState> {
  const document = {
    version: (version += 1),
    backends: [{ id: "web", protocol: "http", instances }],
    routes: [{ host: "shop.localhost", path_prefix: "/", backend: "web" }],
  };
  return (await host.call<EdgeState>("PUT", "/edge", document)).body;
}

async function ask(): Promise<string> {
  const words = ["-s", "-m", "20", "-w", "%{http_code}", "-H", "Host: shop.localhost"];
  const said = await run("curl", ...words, `http://127.0.0.1:${port}/`);
  return `${said.slice(-3)} ${said.slice(0, -3).trim()}`;
}

beforeAll(async () => {
  port = await freePort();
  host = await LoneHost.open(inject("assets"), { SKERRY_EDGE_HTTP: `127.0.0.1:${port}` });
});
afterAll(() => host.close());

/** The address that this machine has the guest's slot under. */
async function slotOf(vm: Vm): Promise<string> {
  const gateway = (await sh(vm, "ip route | head -1; hostname -I")).trim();
  expect(gateway).toContain("169.254.0.22");
  const { instances } = (await host.call<EdgeState>("GET", "/edge")).body;
  expect(instances.map(({ vm: id }) => id)).toContain(vm.id);
  const config = await readFile(`${host.folder}/host/edge/haproxy.cfg`, "utf8");
  return /server s\d+ (\d+\.\d+\.\d+\.\d+):8080/.exec(config)?.[1] ?? "none";
}

/** Whether this machine gets a connection there within a second. */
function connects(address: string, to: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(to, address);
    const end = (isOpen: boolean): void => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.setTimeout(1_000, () => end(false));
    socket.once("connect", () => end(true));
    socket.once("error", () => end(false));
  });
}

test("requests come in to a guest that may reach nothing itself, and to the published port alone", async () => {
  const vm = await start("mch_one");
  await sh(vm, `${SERVER("one", 8080)}; ${SERVER("one", 9090)}`);
  expect(await serve(at(vm))).toMatchObject({ version, fault: null, instances: [{ status: "serving" }] });
  expect(await ask()).toBe("200 one");
  const address = await slotOf(vm);
  expect([await connects(address, 8080), await connects(address, 9090), await connects(address, 22)]).toEqual(
    [true, false, false],
  );
  await serve();
  expect(await connects(address, 8080)).toBe(false);
});

test("a guest reaches neither the proxy nor another guest's published port", async () => {
  const [one, other] = [vms[0] as Vm, await start("mch_other")];
  await sh(other, SERVER("other", 8080));
  await serve(at(one), at(other));
  const address = await slotOf(one);
  const tried = [`${address}:8080`, `127.0.0.1:${port}`, `169.254.0.22:${port}`, `169.254.0.22:8080`];
  for (const target of tried)
    expect(await sh(other, `curl -s -m 3 -H 'Host: shop.localhost' http://${target}/ || echo refused`)).toBe(
      "refused\n",
    );
});

test("a VM that is destroyed gets no more requests, and one that takes its place is not served by its route", async () => {
  const one = vms[0] as Vm;
  await serve(at(one));
  expect(await ask()).toBe("200 one");
  await host.call("DELETE", `/vms/${one.id}?execution_id=${one.execution_id}`);
  expect(await ask()).toMatch(/^503 /);
  const next = await start("mch_next");
  await sh(next, SERVER("next", 8080));
  expect(await ask()).toMatch(/^503 /);
  expect(await serve(at(one), at(next))).toMatchObject({
    instances: [{ status: "out" }, { status: "serving" }],
  });
  expect(await ask()).toBe("200 next");
});

test("requests are served while the host process is dead, and by the next one", async () => {
  const next = vms.at(-1) as Vm;
  await host.end("SIGKILL");
  expect(await ask()).toBe("200 next");
  await host.start();
  await until(
    "the next host process serves",
    async () => (await host.call<EdgeState>("GET", "/edge")).body.version === version,
  );
  expect(await ask()).toBe("200 next");
  await until("it is well", async () =>
    (await host.call<EdgeState>("GET", "/edge")).body.instances.some(({ status }) => status === "serving"),
  );
  await sh(next, "echo changed >/tmp/index.html");
  expect(await ask()).toBe("200 changed");
});
