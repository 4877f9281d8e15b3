// Puts a host together: finds QEMU and the accelerator, fetches the kernel, opens the templates, adopts the
// VMs.

import { chmod, copyFile, mkdir, readFile, realpath, rename } from "node:fs/promises";
import { cpus, totalmem, uptime } from "node:os";
import { join } from "node:path";
import type { HostInfo } from "@skerry/contract/host-api/host-info";
import { memoryForVmsMib } from "@skerry/contract/hosts/memory-for-vms";
import type { HostCompatibility } from "@skerry/contract/moves/host-compatibility";
import { DEFAULT_SIZE, findSize, type Size } from "@skerry/contract/sizes";
import type { Logger } from "pino";
import type { HostConfig } from "../config/config.ts";
import { namesOf } from "../config/reach.ts";
import { closeFolders } from "../system/closed-folders.ts";
import type { AddressRange } from "../network/addresses.ts";
import { ControlGeneration } from "../system/control-generation.ts";
import { Identity } from "../config/identity.ts";
import { Layers } from "../vm/disk/layers.ts";
import { HostMoves, type MovesOptions } from "../move/moves.ts";
import { Peers } from "../move/peers.ts";
import { SavedMoves, type SavedMovesOptions } from "../move/saved-moves.ts";
import { DenialCounts } from "../network/denial-counts.ts";
import { EgressLoader } from "../network/egress-loader.ts";
import { connectionsPerGuest } from "../network/guest-connections.ts";
import type { NameProxy } from "../network/name-proxy.ts";
import { openNameProxy, rootNameProxy } from "./open-name-proxy.ts";
import type { Edge } from "../edge/edge.ts";
import { openEdge, storedPeers } from "./open-edge.ts";
import { openHostNetwork } from "../network/host-network.ts";
import { Slots, type SlotsOptions } from "../network/slots.ts";
import { runProgram } from "../system/run.ts";
import type { BootFiles } from "../templates/boot-files.ts";
import { readExtraCertificates } from "../templates/extra-certificates.ts";
import { HostTemplates } from "../move/host-templates.ts";
import { TemplateLibrary } from "../templates/library.ts";
import { OwnTemplates } from "../templates/own-templates.ts";
import { StoredLayers } from "../move/stored-layers.ts";
import { Seals } from "../vm/build/seals.ts";
import type { ImageCache } from "../templates/image-cache.ts";
import { containOf, dataRangesOf } from "../config/native-programs.ts";
import { openBootFiles, openImageCache } from "../templates/open-boot-files.ts";
import { claimSlotsOnly, type AdoptionOptions } from "../vm/adoption/find-vms.ts";
import { guestDeadlines, probeDeadlines } from "../vm/record/guest-deadlines.ts";
import { qemuProgram, smallerQemu } from "../vm/qemu/smaller-qemu.ts";
import { chooseAccelerator, KVM_DEVICE, type AcceleratorVerdict } from "../vm/qemu/accelerator.ts";
import { compatibilityOf, InstalledQemu, qemuVersion } from "../vm/qemu/installed-qemu.ts";
import { diskNumberOf } from "../vm/qemu/disk-number.ts";
import { KeptLogs } from "../vm/qemu/kept-logs.ts";
import { openCgroups } from "../vm/qemu/cgroup.ts";
import { backingPlaces, type BackingPlaces } from "../vm/disk/backing-files.ts";
import { Checks } from "../vm/checks/checks.ts";
import { VmEngine } from "../vm/engine/engine.ts";
import { firstThatRunsGuests, probeGuest } from "../vm/start/probe-guest.ts";
import type { HostResources } from "../vm/record/vm-resources.ts";
import { WarmClones } from "../vm/warm/warm-clones.ts";
import { warmMemoryMib } from "../vm/warm/warm-memory.ts";
import { Snapshots } from "../vm/saved/snapshots.ts";
import { WarmPool } from "../vm/warm/warm-pool.ts";

export const VERSION = "0.1.0";

export interface Host {
  readonly config: HostConfig;
  readonly boot: BootFiles;
  readonly engine: VmEngine;
  readonly checks: Checks;
  readonly edge: Edge;
  readonly keptLogs: KeptLogs;
  readonly moves: HostMoves;
  readonly savedMoves: SavedMoves;
  readonly seals: Seals;
  readonly templates: HostTemplates;
  readonly storedLayers: StoredLayers;
  readonly pool: WarmPool;
  readonly snapshots: Snapshots;
  readonly slots: Slots;
  readonly names: NameProxy;
  /** Addresses of its slots and of its name resolver. */
  readonly range: AddressRange;
  readonly library: TemplateLibrary;
  readonly imageCache: ImageCache;
  readonly identity: Identity;
  /** Of the control plane that it obeys. */
  readonly generation: ControlGeneration;
  readonly resources: HostResources;
  readonly info: () => Promise<HostInfo>;
}

/** Wraps each step that may take longer than a second, to report its progress. */
export type StepReport = <T>(title: string, work: () => Promise<T>) => Promise<T>;

const FIND_DEADLINE_MS = 10_000;
/** Under the names that QEMU packages of today know. */
const NO_DISASSEMBLER = ["no-disassembler.4.so", "no-disassembler.5.so"] as const;

/** Each VM has a folder in it. */
export function vmsFolderOf({ stateFolder }: HostConfig): string {
  return join(stateFolder, "vms");
}

export async function openHost(config: HostConfig, log: Logger, step: StepReport): Promise<Host> {
  await mkdir(config.stateFolder, { recursive: true, mode: 0o711 });
  await closeFolders(config.stateFolder);
  const certificates = config.extraCa === undefined ? undefined : await readExtraCertificates(config.extraCa);
  const imageCache = openImageCache(config, log);
  const boot = await openBootFiles(config, imageCache, step);
  const program = await findProgram("qemu-system-x86_64");
  const { templatesFolder, assetsFolder, debianMirror, instance } = config;
  const range = await openHostNetwork({
    ...{ ...config.network, nameProxy: rootNameProxy(config), edgePeers: await storedPeers(config), log },
  });
  const capacityMib = config.vmMemoryMib ?? memoryForVmsMib(totalmem());
  const connections = await connectionsPerGuest({ vmMemoryMib: capacityMib, slots: range.slots, log });
  const names = openNameProxy(config, { range, certificates, log });
  let edge: Edge | undefined;
  const leave = async (address: string): Promise<void> => edge?.leave(address);
  const slots = openSlots(config, { names, leave, range, connections, log, isBusy: () => engine.isBusy });
  const common = await openResources(config, { slots, range, program, names, log });
  const vmsFolder = vmsFolderOf(config);
  const owner = { instance, places: backingPlaces(config) };
  const found = { resources: common, vmsFolder, owner, log };
  const verdict = await step("Does KVM run a guest here?", () => choose(config, { found, program, boot }));
  const { accelerator, reason, qemu: chosen = program } = verdict;
  const device = accelerator === "kvm" ? KVM_DEVICE : undefined;
  const resources = { ...common, ...(await qemuProgram(chosen)), device };
  const qemu = await InstalledQemu.open(chosen, accelerator);
  const { layers, own } = await openLayers(config, owner.places, log);
  const library = await TemplateLibrary.open({
    ...{ templatesFolder, assetsFolder, debianMirror, certificates, instance, boot, qemu, resources, log },
    ...{ own, ownFrozenFolder: owner.places.ownFrozen, contain: containOf(config), cache: imageCache },
  });
  const budgetMib = config.warm.memoryMib ?? Math.floor(capacityMib / 10);
  const pool = new WarmPool({
    clones: new WarmClones({ resources, library, vmsFolder, instance, log }),
    ...{ log, max: config.warm.max, min: config.warm.min },
    favorite: favoriteOf(library),
    memoryMib: () => warmMemoryMib({ budgetMib, capacityMib, usedMib: engine.memoryMib }),
    spareSlots: (waiting) => resources.slots.spare(waiting),
    isBusy: () => engine.isBusy,
  });
  const saved = { folder: join(config.stateFolder, "snapshots"), places: owner.places, log };
  const snapshots = await Snapshots.open(saved);
  const engine = new VmEngine({
    ...{ resources, library, layers, own, pool, snapshots, vmsFolder, instance, owner, log },
  });
  const identity = await Identity.open(config.stateFolder);
  const generation = await ControlGeneration.open(config.stateFolder);
  const compatibility = async (): Promise<HostCompatibility> => compatibilityOf(await qemu.current());
  const travels = openTravels(own, {
    ...{ engine, snapshots, resources, library, layers, peers: new Peers(() => identity.credentials) },
    ...{ vmsFolder, owner, instance, log, compatibility },
  });
  const info = async (): Promise<HostInfo> => ({
    ...namesOf(config),
    version: VERSION,
    ...(await compatibility()),
    accelerator_reason: reason,
    kernel_version: boot.kernelVersion,
    resource_limits: resources.cgroups.description,
    cpus: cpus().length,
    memory_mib: capacityMib,
    templates: library.list(),
  });
  const parts = { config, boot, engine, pool, snapshots, slots, names, range, library, identity, generation };
  const checks = new Checks(engine);
  const { cgroups } = resources;
  edge = await openEdge(config, { engine, checks, slots, range, cgroups, identity, log });
  const keptLogs = new KeptLogs(join(config.stateFolder, "kept-logs"));
  return { ...parts, imageCache, checks, edge, keptLogs, ...travels, resources, info };
}

function openSlots(
  config: HostConfig,
  {
    names,
    leave,
    ...options
  }: Pick<SlotsOptions, "range" | "connections" | "isBusy" | "log"> & {
    readonly names: NameProxy;
    readonly leave: (address: string) => Promise<void>;
  },
): Slots {
  const { linkPrefix, readySlots: ready } = config.network;
  const native = (name: string): string => join(config.nativeFolder, name);
  return new Slots({
    ...{ ...options, prefix: config.instance, linkPrefix, ready },
    onClose: async (address) => void (await Promise.all([names.forget(address), leave(address)])),
    ...{ conntrackFlush: native("conntrack-flush"), netnsExec: native("netns-exec") },
  });
}

/** What all VMs share, but for the device, which depends on the accelerator. */
async function openResources(
  config: HostConfig,
  {
    slots,
    range,
    program,
    names: proxy,
    log,
  }: {
    readonly slots: Slots;
    readonly range: AddressRange;
    readonly program: string;
    readonly names: NameProxy;
    readonly log: Logger;
  },
): Promise<HostResources> {
  const { neverCidrs, resolverPort, nameProxyPort } = config.network;
  const { nativeFolder, firstVmUid, guestDeadlineFactor } = config;
  return {
    slots,
    egress: new EgressLoader({
      ...{ range, neverCidrs, resolverPort, slots },
      names: { proxy, port: nameProxyPort },
    }),
    denials: new DenialCounts({
      program: join(nativeFolder, "slot-denials"),
      startTicks: ticksOfStart(),
      log,
    }),
    cgroups: await openCgroups(config.cgroup, await diskNumberOf(config.stateFolder)),
    launcher: join(nativeFolder, "launch"),
    consoleLog: join(nativeFolder, "console-log"),
    privateMemory: await preloadable(config, "private-memory.so"),
    changedPages: join(nativeFolder, "changed-pages"),
    emptyMemoryFolder: join(config.stateFolder, "empty-memory"),
    noDisassembler: await Promise.all(NO_DISASSEMBLER.map((file) => preloadable(config, file))),
    ...(await qemuProgram(program)),
    ...{ device: undefined, firstVmUid },
    deadlines: guestDeadlines(guestDeadlineFactor),
  };
}

/** When this process began, as the kernel counts it for processes: in hundredths of a second since its boot. */
function ticksOfStart(): number {
  return Math.floor((uptime() - process.uptime()) * 100);
}

interface Choice {
  /** What an earlier host process has left. */
  readonly found: AdoptionOptions;
  readonly program: string;
  readonly boot: BootFiles;
}

async function choose(config: HostConfig, { found, program, boot }: Choice): Promise<AcceleratorVerdict> {
  const { instance, stateFolder, guestDeadlineFactor } = config;
  const deadlines = probeDeadlines(guestDeadlineFactor);
  const resources = { ...found.resources, device: KVM_DEVICE, deadlines };
  const smaller = await smallerQemu(program);
  const qemus = smaller === undefined ? [program] : [smaller, program];
  const qemuVersions = await Promise.all(qemus.map(qemuVersion));
  return chooseAccelerator({
    ...{ qemuVersion: qemuVersions.join(", "), boot: boot.digest, folder: config.assetsFolder },
    async probe() {
      // It takes a slot, and VMs that run on have theirs.
      await claimSlotsOnly(found);
      const machine = { accelerator: "kvm", tscKhz: undefined } as const;
      return firstThatRunsGuests(qemus, async (qemu) =>
        probeGuest({
          ...{ resources: { ...resources, ...(await qemuProgram(qemu)) }, boot, instance, machine },
          folder: join(stateFolder, "probe"),
        }),
      );
    },
  });
}

/** The layers of this host, and the templates that stand on them. */
async function openLayers(
  config: HostConfig,
  places: BackingPlaces,
  log: Logger,
): Promise<{ readonly layers: Layers; readonly own: OwnTemplates }> {
  const layers = new Layers(places.layers, dataRangesOf(config));
  return {
    layers,
    own: await OwnTemplates.open({ folder: join(config.stateFolder, "templates"), places, layers, log }),
  };
}

/** What moves from host to host: VMs, what was saved of them, and templates. */
function openTravels(
  own: OwnTemplates,
  shared: MovesOptions & SavedMovesOptions,
): Pick<Host, "moves" | "savedMoves" | "seals" | "storedLayers" | "templates"> {
  const { engine } = shared;
  return {
    moves: new HostMoves(shared),
    savedMoves: new SavedMoves(shared),
    seals: new Seals(shared),
    storedLayers: new StoredLayers({ ...shared, own }),
    templates: new HostTemplates({ ...shared, own, allBackingFiles: () => engine.allBackingFiles() }),
  };
}

/** The template and size of a request that names neither. */
function favoriteOf(
  library: TemplateLibrary,
): { readonly template: string; readonly size: Size } | undefined {
  const [first] = library.list();
  const size = findSize(DEFAULT_SIZE);
  return first === undefined || size === undefined ? undefined : { template: first.name, size };
}

/** QEMU's users preload it, and a checkout may lie in a folder that is closed to them, such as /root. */
async function preloadable(config: HostConfig, file: string): Promise<string> {
  const original = join(config.nativeFolder, file);
  const copy = join(config.stateFolder, file);
  // A full disk must not keep a host from starting: destroying VMs is what makes room on it.
  if (await areEqual(original, copy)) return copy;
  await copyFile(original, `${copy}.part`);
  await chmod(`${copy}.part`, 0o444);
  await rename(`${copy}.part`, copy);
  return copy;
}

async function areEqual(...files: readonly [string, string]): Promise<boolean> {
  const [one, other] = await Promise.all(files.map((file) => readFile(file).catch(() => undefined)));
  return one !== undefined && other !== undefined && one.equals(other);
}

/** The launcher starts QEMU without looking through PATH and without the links of this machine's file system, so it needs the whole path. */
async function findProgram(name: string): Promise<string> {
  const found = await runProgram("sh", ["-c", 'command -v "$0"', name], {
    deadlineMs: FIND_DEADLINE_MS,
  }).catch((error: unknown) => {
    throw new Error(`${name} is not installed; run "skerry doctor"`, { cause: error });
  });
  return realpath(found.trim());
}
