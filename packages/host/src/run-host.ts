// Commands of the host agent's program, but for the name proxy.

import { join } from "node:path";
import type { Finding } from "@skerry/contract/hosts/finding";
import { DEFAULT_SIZE, findSize } from "@skerry/contract/sizes";
import type { Logger } from "pino";
import { clearVms } from "./app/clear-vms.ts";
import { readConfig, type HostConfig } from "./config/config.ts";
import { openHost, vmsFolderOf, type Host, type StepReport } from "./app/host.ts";
import { buildServer, listen } from "./http/server.ts";
import { sweepUnusedFiles } from "./app/unused-files.ts";
import { watchFullDisk } from "./vm/build/full-disk-watch.ts";
import { serveMutualTls } from "./http/mutual-tls.ts";
import { lockStateFolder } from "./app/lock.ts";
import { openLog } from "./system/log.ts";
import { removeHostNetwork } from "./network/host-network.ts";
import { DnsForwarder } from "./network/dns-forwarder.ts";
import { systemServers } from "./network/name-servers.ts";
import { useSpawnHelper } from "./system/run.ts";
import { sampleVms } from "./vm/metrics/sampler.ts";
import { SpawnHelper } from "./system/spawn-helper.ts";

const silentStep: StepReport = (_title, work) => work();

/** One JSON line when a step begins and one when it has ended: `{"step", "state": "begin"|"done"|"failed",
 *  "ms"?}`. */
const reportedStep: StepReport = async (step, work) => {
  const say = (line: object): void => void process.stdout.write(`${JSON.stringify({ step, ...line })}\n`);
  const startedMs = performance.now();
  say({ state: "begin" });
  try {
    const result = await work();
    say({ state: "done", ms: Math.round(performance.now() - startedMs) });
    return result;
  } catch (error) {
    say({
      state: "failed",
      ms: Math.round(performance.now() - startedMs),
      message: error instanceof Error ? error.message : String(error),
    });
    throw error;
  }
};

async function serve(config: HostConfig, log: Logger): Promise<void> {
  await startSpawnHelper(config, log);
  const startedMs = Date.now();
  const host = await openHost(config, log, silentStep);
  log.info({ ...(await host.info()), ...(await host.engine.adopt(host.moves)) }, "host ready");
  const server = buildServer(host, log);
  const forwarder = await openForwarder(host, log);
  await listen(server, host);
  await using _tlsServer =
    config.listen === undefined
      ? undefined
      : await serveMutualTls(server, { endpoint: config.listen, identity: host.identity, log });
  host.slots.fill();
  void removeUnneeded(host, log, startedMs);
  const ending = new AbortController();
  const sampling = sampleVms({ vms: () => host.engine.runningVms.sampled(), log }, ending.signal);
  const counting = host.resources.denials.run(() => host.engine.runningVms.counted(), ending.signal);
  const serving = host.edge.watch(ending.signal);
  const watching = watchFullDisk({ engine: host.engine, vmsFolder: vmsFolderOf(config), log }, ending.signal);
  void host.library.buildImages().then(() => host.pool.start());
  await stopSignal();
  log.info("stopping; the VMs run on");
  ending.abort();
  await Promise.all([host.pool.stop(), sampling, counting, serving, watching]);
  host.checks.close();
  host.engine.close();
  host.names.close();
  await Promise.all([host.slots.stop(), forwarder.close()]);
  server.server.closeAllConnections();
  await server.close();
}

/** Sweeps the caches of an earlier host process, in the background because the disk may be slow. */
async function removeUnneeded(host: Host, log: Logger, startedMs: number): Promise<void> {
  try {
    // A file that was touched since may be in the making.
    await sweepUnusedFiles(host, startedMs, log);
  } catch (error) {
    log.warn({ err: error }, "the caches could not be cleaned up");
  }
}

async function startSpawnHelper({ nativeFolder }: HostConfig, log: Logger): Promise<void> {
  const helper = await SpawnHelper.start(join(nativeFolder, "spawn-helper"));
  useSpawnHelper(helper);
  void helper.gone.then(() =>
    log.warn("the spawn helper has died; programs are started without it, which is slower"),
  );
}

/** This process forwards DNS queries of guests, so they fail while it is down; the rest of egress works
 *  without it. */
function openForwarder({ config, range }: Host, log: Logger): Promise<DnsForwarder> {
  const { nameServers, resolverPort } = config.network;
  return DnsForwarder.open({
    address: range.resolver,
    port: resolverPort,
    servers: nameServers.length > 0 ? () => Promise.resolve(nameServers) : () => systemServers(),
    log,
  });
}

async function prepare(config: HostConfig, log: Logger): Promise<void> {
  const host = await openHost(config, log, reportedStep);
  const vms = await host.engine.claimSlots();
  try {
    await prepareTemplates(host);
  } finally {
    // `serve` opens the network again. Without VMs no trace of this process stays.
    if (vms === 0) await removeHostNetwork(config.network);
    host.engine.close();
    host.names.close();
  }
}

async function prepareTemplates(host: Host): Promise<void> {
  await reportedStep(`Root disk of ${host.library.builtAhead().join(", ")}`, () =>
    host.library.requireImages(),
  );
  const size = findSize(DEFAULT_SIZE);
  const [template] = host.library.list();
  if (size === undefined || template === undefined) throw new Error("there is no template to prepare");
  await reportedStep(`Template "${template.name}" booted and frozen`, () =>
    host.library.frozen(template.name, size),
  );
  await host.library.imagesKept;
}

function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => resolve());
  });
}

/**
 * `examine [quick|full|long] [FOLDER]`: the folder holds frozen templates of the installation. Each finding
 * is a line `{"finding"}`, and what the machine is `{"facts"}`.
 */
async function examineMachine(config: HostConfig, log: Logger): Promise<void> {
  // A host that serves never needs these.
  const { examine } = await import("./examine/examine.ts");
  const { fullRounds, longRounds, quickRounds } = await import("./examine/rounds.ts");
  const [amount = "full", keptFolder = join(config.assetsFolder, "kept")] = process.argv.slice(3);
  const rounds = { quick: quickRounds, full: fullRounds, long: longRounds }[amount];
  if (rounds === undefined) throw new Error(`examine quick, full or long, not "${amount}"`);
  const say = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);
  const tell = (finding: Finding): void => say({ finding });
  const tellFacts = (facts: Readonly<Record<string, string>>): void => say({ facts });
  await examine(config, log, { rounds, keptFolder, step: reportedStep, tell, tellFacts });
}

/** `serve`, `prepare`, `clear` or `examine`. */
export async function runHost(command: string): Promise<void> {
  const config = readConfig();
  const log = openLog(config.logLevel);
  if (!["serve", "prepare", "clear", "examine"].includes(command))
    throw new Error(`unknown command "${command}"; it is serve, prepare, clear or examine`);
  await lockStateFolder(config.stateFolder);
  if (command === "serve") return serve(config, log);
  if (command === "prepare") return prepare(config, log);
  if (command === "examine") return examineMachine(config, log);
  for (const id of await clearVms(config, log))
    await reportedStep(`Left as it is, its record is not understood: ${id}`, () => Promise.resolve());
}
