// The host's settings, read once. Every fault is reported, not only the first.

import { EDGE_PORT } from "@skerry/contract/apps/app-bounds";
import { createHash } from "node:crypto";
import { isIPv4 } from "node:net";
import { hostname } from "node:os";
import { join } from "node:path";
import { IMAGE_CACHE_FOLDER, NO_IMAGE_CACHE } from "@skerry/contract/hosts/image-cache-folder";
import { HOST_NAME } from "@skerry/contract/joining/host-certificate";
import { AddressRange, SMALLEST_RANGE_PREFIX } from "../network/addresses.ts";
import { formatNetwork, parseNetwork } from "../network/ipv4.ts";
import { proxyPorts } from "../network/name-proxy-protocol.ts";
import { parseServer, type NameServer } from "../network/name-servers.ts";
import { edgeDoor, reachedAt, type EdgeDoorConfig } from "./reach.ts";
import { PORT_MAX, Settings, type Endpoint } from "./settings.ts";

export interface HostConfig {
  /** The state folder of this host. QEMU's users must be able to pass through it, so it is mode 0711. */
  readonly stateFolder: string;
  /** Kernel, images and frozen templates. Several hosts on one machine may share the folder; then no host
   *  removes files from it. */
  readonly assetsFolder: string;
  readonly sharedAssets: boolean;
  /** The name of this host in its cluster. */
  readonly name: string;
  /** TCP endpoint of the host API; undefined: only the unix socket. */
  readonly listen: Endpoint | undefined;
  /** ADDRESS:PORT by which other hosts reach this one. */
  readonly endpoint: string | undefined;
  /** Unix socket of the host API. */
  readonly socket: string;
  /** Group that may talk to the socket: the control plane's. */
  readonly socketGid: number | undefined;
  /** `launch`, the libraries for QEMU and the guest's `agent`, as the build made them. */
  readonly nativeFolder: string;
  /** One folder per template description. */
  readonly templatesFolder: string;
  /** Memory that VMs may use in all; undefined: all of the machine's but a reserve. */
  readonly vmMemoryMib: number | undefined;
  /** Debian archive to build templates from; undefined: mmdebstrap's own default. */
  readonly debianMirror: string | undefined;
  /** The folder in which kernels and images are kept for other hosts of the machine; undefined: none are. */
  readonly imageCacheFolder: string | undefined;
  /** A file with certificates that guests trust besides Debian's authorities. */
  readonly extraCa: string | undefined;
  /** A kernel of the operator's for all guests; undefined: Debian's. */
  readonly guestKernel: string | undefined;
  /** How many times longer than usual guests may take to boot, to be restored and to answer for the first time. */
  readonly guestDeadlineFactor: number;
  readonly logLevel: string;
  /** Tells this host's namespaces, cgroups and processes from those of others on the machine. */
  readonly instance: string;
  /** The cgroup (v2) in which its VMs have theirs, relative to the tree. */
  readonly cgroup: string;
  /** First of the user ids that its QEMU processes run under, one for each network slot. */
  readonly firstVmUid: number;
  /** The user id of its name proxy. */
  readonly nameProxyUid: number;
  /** ADDRESS:PORT where that takes requests. */
  readonly edgeHttp: string;
  /** Undefined: other hosts pass nothing on to it. */
  readonly edgeDoor: EdgeDoorConfig | undefined;
  readonly network: NetworkConfig;
  readonly warm: WarmConfig;
}

/** The warm pool. */
export interface WarmConfig {
  /** The most clones of one template and size; 0 for no pool. */
  readonly max: number;
  /** How many warm clones of the first template in the default size are kept, also without demand. */
  readonly min: number;
  /** Memory of all warm clones; undefined: a tenth of the memory for VMs. */
  readonly memoryMib: number | undefined;
}

export interface NetworkConfig {
  /** Name of this host's nftables table on the machine. */
  readonly table: string;
  /** Prefix of the names of its links to network slots. */
  readonly linkPrefix: string;
  /** Addresses of its slots; undefined: a free one of the default ranges, searched from `seed` on. */
  readonly range: AddressRange | undefined;
  readonly seed: number;
  /** Port on which guests' name queries arrive. */
  readonly resolverPort: number;
  /** The user id of its proxy in front of apps. */
  readonly edgeUid: number;
  /** The first of three ports of the name proxy, on the same address. */
  readonly nameProxyPort: number;
  /** Name servers for guests; empty: those of /etc/resolv.conf. */
  readonly nameServers: readonly NameServer[];
  /** Networks that no guest reaches, also where its policy allows them. */
  readonly neverCidrs: readonly string[];
  /** Network slots that are kept ready. */
  readonly readySlots: number;
}

const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"];

/** Above every range that Debian, systemd and container runtimes hand out, below 2^31. */
const VM_UID_BASE = 1_900_000_000;
/**
 * One for each network slot, one before them for the name proxy, and one behind them for the proxy of apps.
 */
export const VM_UIDS_PER_HOST = 4_096;
const VM_UID_RANGES = 16_384;
const RESOLVER_PORT = 10_053;
const NAME_PROXY_PORT = 10_054;
const NAME_PROXY_PORT_MAX = 65_533;
const EDGE_HTTP = { host: "127.0.0.1", port: EDGE_PORT } as const;
const READY_SLOTS = 16;
const READY_SLOTS_MAX = 256;
const WARM_MAX = 16;
const WARM_MIN = 2;
const WARM_LIMIT = 1_000;
const GUEST_DEADLINE_FACTOR_MAX = 100;

export function readConfig(env: NodeJS.ProcessEnv = process.env): HostConfig {
  const settings = new Settings(env);
  const stateFolder = settings.path("SKERRY_HOST_STATE");
  const digest = createHash("sha256").update(stateFolder).digest();
  const logLevel = env["SKERRY_LOG_LEVEL"] ?? "info";
  if (!LOG_LEVELS.includes(logLevel))
    settings.fault(`SKERRY_LOG_LEVEL must be one of ${LOG_LEVELS.join(", ")}`);
  const assets = settings.optionalPath("SKERRY_HOST_ASSETS");
  const firstUid = VM_UID_BASE + (digest.readUInt32LE(4) % VM_UID_RANGES) * VM_UIDS_PER_HOST;
  const config: HostConfig = {
    stateFolder,
    assetsFolder: assets ?? join(stateFolder, "assets"),
    sharedAssets: assets !== undefined,
    name: hostName(settings),
    listen: settings.endpoint("SKERRY_HOST_LISTEN"),
    endpoint: reachedAt(settings),
    socket: settings.optionalPath("SKERRY_HOST_SOCKET") ?? join(stateFolder, "host.sock"),
    socketGid: settings.optionalNumber("SKERRY_HOST_SOCKET_GID"),
    nativeFolder: settings.path("SKERRY_NATIVE"),
    templatesFolder: settings.path("SKERRY_TEMPLATES"),
    vmMemoryMib: settings.optionalNumber("SKERRY_VM_MEMORY_MIB"),
    debianMirror: env["SKERRY_DEBIAN_MIRROR"],
    imageCacheFolder: imageCacheFolder(settings),
    extraCa: settings.optionalPath("SKERRY_EXTRA_CA"),
    guestKernel: settings.optionalPath("SKERRY_GUEST_KERNEL"),
    guestDeadlineFactor: settings.number("SKERRY_GUEST_DEADLINE_FACTOR", 1, [1, GUEST_DEADLINE_FACTOR_MAX]),
    logLevel,
    instance: `skerry-${digest.toString("hex", 0, 3)}`,
    cgroup: join(settings.text("SKERRY_VM_CGROUP") ?? "", `skerry-${digest.toString("hex", 0, 3)}`),
    nameProxyUid: firstUid,
    firstVmUid: firstUid + 1,
    edgeHttp: edgeHttp(settings),
    edgeDoor: edgeDoor(settings),
    network: { ...networkConfig(settings, digest), edgeUid: firstUid + VM_UIDS_PER_HOST - 1 },
    warm: {
      max: settings.number("SKERRY_WARM_MAX", WARM_MAX, [0, WARM_LIMIT]),
      min: settings.number("SKERRY_WARM_MIN", WARM_MIN, [0, WARM_LIMIT]),
      memoryMib: settings.optionalNumber("SKERRY_WARM_MEMORY_MIB"),
    },
  };
  settings.check();
  return config;
}

function hostName(settings: Settings): string {
  const name = settings.text("SKERRY_HOST_NAME");
  if (name === undefined) return hostname();
  if (!HOST_NAME.test(name))
    settings.fault(`SKERRY_HOST_NAME must be a name of letters, digits, dots and dashes, not "${name}"`);
  return name;
}

/** On this machine alone, unless the operator has it listen elsewhere. */
function edgeHttp(settings: Settings): string {
  const { host, port } = settings.endpoint("SKERRY_EDGE_HTTP") ?? EDGE_HTTP;
  if (isIPv4(host)) return `${host}:${port}`;
  settings.fault(
    `SKERRY_EDGE_HTTP must be an IPv4 address and a port, for example 0.0.0.0:80, not "${host}:${port}"`,
  );
  return "";
}

function imageCacheFolder(settings: Settings): string | undefined {
  if (settings.text("SKERRY_IMAGE_CACHE") === NO_IMAGE_CACHE) return undefined;
  return settings.optionalPath("SKERRY_IMAGE_CACHE") ?? IMAGE_CACHE_FOLDER;
}

function networkConfig(settings: Settings, digest: Buffer): Omit<NetworkConfig, "edgeUid"> {
  const id = digest.toString("hex", 0, 3);
  const resolverPort = settings.number("SKERRY_DNS_PORT", RESOLVER_PORT, [1, PORT_MAX]);
  const nameProxyPort = settings.number("SKERRY_NAME_PROXY_PORT", NAME_PROXY_PORT, [1, NAME_PROXY_PORT_MAX]);
  if (Object.values(proxyPorts(nameProxyPort)).includes(resolverPort))
    settings.fault("SKERRY_NAME_PROXY_PORT and the two ports after it must not be SKERRY_DNS_PORT");
  return {
    table: `skerry_${id}`,
    linkPrefix: `sk${id}`,
    range: slotRange(settings),
    seed: digest.readUInt16LE(8),
    resolverPort,
    nameProxyPort,
    nameServers: nameServers(settings),
    neverCidrs: neverCidrs(settings),
    readySlots: settings.number("SKERRY_READY_SLOTS", READY_SLOTS, [0, READY_SLOTS_MAX]),
  };
}

function slotRange(settings: Settings): AddressRange | undefined {
  const text = settings.text("SKERRY_VM_CIDR");
  if (text === undefined) return undefined;
  const network = parseNetwork(text);
  if (network !== undefined && network.prefix <= SMALLEST_RANGE_PREFIX) return new AddressRange(network);
  settings.fault(
    `SKERRY_VM_CIDR must be an IPv4 network of /${SMALLEST_RANGE_PREFIX} or larger, not "${text}"`,
  );
  return undefined;
}

function nameServers(settings: Settings): NameServer[] {
  const servers: NameServer[] = [];
  for (const word of settings.list("SKERRY_DNS_SERVERS")) {
    const server = parseServer(word);
    if (server === undefined)
      settings.fault(`SKERRY_DNS_SERVERS must be a list of IP or IP:PORT, not "${word}"`);
    else servers.push(server);
  }
  return servers;
}

function neverCidrs(settings: Settings): string[] {
  const cidrs: string[] = [];
  for (const word of settings.list("SKERRY_NEVER_CIDRS")) {
    const network = parseNetwork(word.includes("/") ? word : `${word}/32`);
    if (network !== undefined) cidrs.push(formatNetwork(network));
    else {
      settings.fault(
        `SKERRY_NEVER_CIDRS must be a list of IPv4 networks without bits after their prefix, not "${word}"`,
      );
    }
  }
  return cidrs;
}
