// The proxy in front of apps beside Debian's nginx and Caddy, with one nginx behind all three, so that what
// differs is the proxy: its CPU for a request, what a route takes, and how long a change takes.

import { execFile, spawn } from "node:child_process";
import { access, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import type { EdgeDocument } from "@skerry/contract/host-api/edge";
import { Edge } from "../packages/host/src/edge/edge.ts";
import type { Bench } from "./bench.ts";
import { cpuTicks } from "./pool.ts";
import type { Measure } from "./results.ts";
import { range, Series } from "./series.ts";

const MS_PER_TICK = 10;
const CLIENTS = 32;
const LOAD_S = 3;
const UID = 65_501;
const BACKENDS = 1_000;
const ROUTES = 10_000;
const CHANGE_BAR_MS = 100;

interface Proxy {
  readonly name: string;
  readonly port: number;
  readonly pids: () => Promise<readonly number[]>;
}

export async function measureAppProxy({ scale }: Pick<Bench, "scale">): Promise<Measure[]> {
  const folder = await mkdtemp(join(tmpdir(), "skerry-bench-edge-"));
  await using resources = new AsyncDisposableStack();
  resources.defer(() => rm(folder, { recursive: true, force: true }));
  const behind = await freePort();
  resources.use(await serveNginx(folder, "behind", serverOf(behind, 'return 200 "hello from behind\\n";')));
  const proxies = await othersOf(folder, behind, resources);
  const edge = await openEdge(folder, await freePort());
  resources.defer(() => edge.end());
  await edge.proxy.apply(documentOf(behind, { backends: 1, routes: 1 }));
  proxies.unshift({ name: "Skerry", port: edge.port, pids: edge.pids });
  return [
    ...(await measureCpu(proxies, scale.requestRuns)),
    ...(await measureMany(edge, behind, scale.requestRuns * 10)),
  ];
}

/** CPU of each proxy for a request, in turns. */
async function measureCpu(proxies: readonly Proxy[], runs: number): Promise<Measure[]> {
  const found = proxies.map(
    ({ name }) =>
      [
        new Series({
          what: `CPU of ${name} for a request, ${CLIENTS} clients that stay connected`,
          unit: "µs",
          bar:
            name === "Skerry"
              ? "median ≤ 1.3 × CPU of nginx for a request, 32 clients that stay connected"
              : "–",
        }),
        new Series({ what: `… requests in a second, ${name}`, unit: "/s", bar: "–" }),
      ] as const,
  );
  for (const _ of range(runs))
    for (const [index, { port, pids }] of proxies.entries()) {
      const [cpu, rate] = found[index] ?? [];
      const before = await ticksOf(await pids());
      const { requests, failed } = await load(port);
      const spent = (await ticksOf(await pids())) - before;
      if (failed > 0) cpu?.fail(`${failed} requests failed`);
      else cpu?.add((spent * MS_PER_TICK * 1_000) / requests);
      rate?.add(requests / LOAD_S);
    }
  return found.flat().map(({ measure }) => measure);
}

type Opened = Awaited<ReturnType<typeof openEdge>>;

/** Memory of routes, and the time until one change of many backends is served. */
async function measureMany({ proxy, pids }: Opened, behind: number, changes: number): Promise<Measure[]> {
  const memory = new Series({ what: `memory of a route, of ${ROUTES}`, unit: "B", bar: "≤ 1,024" });
  const change = new Series({
    what: `an instance of one of ${BACKENDS} apps with ${ROUTES} routes is another one`,
    unit: "ms",
    bar: `median ≤ ${CHANGE_BAR_MS}`,
  });
  await proxy.apply(documentOf(behind, { backends: BACKENDS, routes: BACKENDS }));
  await sleep(500);
  const before = await residentOf(await pids());
  await proxy.apply(documentOf(behind, { backends: BACKENDS, routes: ROUTES }));
  await sleep(500);
  memory.add(((await residentOf(await pids())) - before) / (ROUTES - BACKENDS));
  for (const turn of range(changes))
    await change.time(async () => {
      const { fault } = await proxy.apply(
        documentOf(behind, { backends: BACKENDS, routes: ROUTES, changed: turn }),
      );
      if (fault !== null) throw new Error(fault);
    });
  return [memory.measure, change.measure];
}

let version = 0;

/** `changed`: number of the incarnation of the first backend's instance. */
function documentOf(
  port: number,
  {
    backends,
    routes,
    changed = 0,
  }: { readonly backends: number; readonly routes: number; readonly changed?: number },
): EdgeDocument {
  const id = (index: number) => `app_${index}:web:http`;
  return {
    version: (version += 1),
    backends: range(backends).map((index) => ({
      id: id(index),
      protocol: "http",
      instances: [
        {
          vm: `mch_${index}`,
          execution_id: index === 0 ? `inc_${changed}` : "inc_0",
          port,
          state: "serving",
        },
      ],
    })),
    routes: range(routes).map((index) => ({
      host: `app-${index}.localhost`,
      path_prefix: "/",
      backend: id(index % backends),
    })),
  };
}

async function openEdge(folder: string, port: number) {
  const edges = join(folder, "edge");
  const proxy = await Edge.open({
    ...{ folder: edges, listen: `127.0.0.1:${port}`, uid: UID, perAddress: 4_000 },
    log: { info: () => undefined, warn: () => undefined },
    cgroup: () => Promise.resolve(undefined),
    vms: { addressOf: () => "127.0.0.1", publish: () => Promise.resolve(), isFailing: () => false },
  });
  const pids = async (): Promise<number[]> => [Number(await readFile(join(edges, "haproxy.pid"), "utf8"))];
  return { proxy, port, pids, end: () => proxy.end() };
}

/** Those that are installed here. */
async function othersOf(folder: string, behind: number, resources: AsyncDisposableStack): Promise<Proxy[]> {
  const [port, caddyPort] = [await freePort(), await freePort()];
  const upstream = `upstream behind { server 127.0.0.1:${behind}; keepalive 64; }`;
  // It tells the app of its client, as this proxy does.
  const passing = [
    'proxy_pass http://behind; proxy_http_version 1.1; proxy_set_header Connection "";',
    "proxy_set_header Host $host; proxy_set_header X-Request-Id $request_id;",
    "proxy_set_header X-Forwarded-For $remote_addr; proxy_set_header X-Forwarded-Proto $scheme;",
    "proxy_set_header X-Forwarded-Host $host; add_header X-Request-Id $request_id;",
  ].join(" ");
  const nginx = resources.use(await serveNginx(folder, "nginx", serverOf(port, passing), upstream));
  const found: Proxy[] = [{ name: "nginx", port, pids: () => nginx.pids() }];
  if (
    await access("/usr/bin/caddy").then(
      () => true,
      () => false,
    )
  ) {
    const config = `{\n admin off\n auto_https off\n}\nhttp://:${caddyPort} {\n reverse_proxy 127.0.0.1:${behind}\n}\n`;
    await writeFile(join(folder, "Caddyfile"), config);
    const child = spawn(
      "/usr/bin/caddy",
      ["run", "--adapter", "caddyfile", "--config", join(folder, "Caddyfile")],
      {
        stdio: "ignore",
        env: { HOME: folder },
      },
    );
    resources.defer(() => void child.kill());
    await untilOpen(caddyPort);
    found.push({ name: "Caddy", port: caddyPort, pids: () => Promise.resolve([child.pid ?? 0]) });
  }
  return found;
}

function serverOf(port: number, rules: string): string {
  return `server { listen 127.0.0.1:${port} backlog=4096; keepalive_requests 1000000; location / { ${rules} } }`;
}

async function serveNginx(folder: string, name: string, server: string, more = "") {
  const config = join(folder, `${name}.conf`);
  const pidFile = join(folder, `${name}.pid`);
  await writeFile(
    config,
    `worker_processes 1; daemon off; pid ${pidFile}; error_log /dev/null;
events { worker_connections 4096; }
http { access_log off; ${more} ${server} }`,
  );
  const child = spawn("/usr/sbin/nginx", ["-c", config], { stdio: "ignore" });
  await untilOpen(Number(/:(\d+)/.exec(server)?.[1]));
  return {
    /** Its one worker. */
    async pids(): Promise<readonly number[]> {
      const text = await readFile(`/proc/${child.pid}/task/${child.pid}/children`, "utf8");
      return text.trim().split(" ").map(Number);
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await new Promise((resolve) => child.once("exit", resolve));
    },
  };
}

/** Keep-alive connections, from a process of its own. */
async function load(port: number): Promise<{ readonly requests: number; readonly failed: number }> {
  const words = ["-t1", `-c${CLIENTS}`, `-d${LOAD_S}s`, "-H", "Host: app-0.localhost"];
  const { stdout } = await promisify(execFile)("wrk", [...words, `http://127.0.0.1:${port}/`]);
  const requests = Number(/(\d+) requests in/.exec(stdout)?.[1] ?? 0);
  const failed = Number(/Non-2xx or 3xx responses: (\d+)/.exec(stdout)?.[1] ?? 0);
  return { requests, failed };
}

async function ticksOf(pids: readonly number[]): Promise<number> {
  return (await Promise.all(pids.map(cpuTicks))).reduce((sum, one) => sum + one, 0);
}

async function residentOf([pid]: readonly number[]): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1_024;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function untilOpen(port: number): Promise<void> {
  for (let tries = 0; tries < 100; tries += 1) {
    const isOpen = await fetch(`http://127.0.0.1:${port}/`).then(
      () => true,
      () => false,
    );
    if (isOpen) return;
    await sleep(50);
  }
  throw new Error(`nothing listens on ${port}`);
}
