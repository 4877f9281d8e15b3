// Every metric of this process, in one list: docs/metrics.md is made of it. What is counted here is this replica's own; what a scrape
// reads from the database (`DatabaseMetrics`) is the same on every replica.

import { errorStatus, type ErrorCode } from "@skerry/contract/errors";
import { machineEndCauses } from "@skerry/contract/machines/machine-end";
import { closeReasons } from "@skerry/contract/connections/doors";
import packageJson from "../../package.json" with { type: "json" };
import { Counter, Gauge, Histogram, type Family } from "./families.ts";

/** From a look-up to an upload, in seconds. */
const REQUEST_BOUNDS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
/** A command may take 5 min, and the first sandbox of a template waits until that is built. */
const SANDBOX_BOUNDS_S = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180, 300];
const RUN_BOUNDS_S = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30];
/** A build may take 2 h, and waits before. */
const BUILD_BOUNDS_S = [1, 5, 15, 30, 60, 120, 300, 600, 1_200, 1_800, 3_600, 7_200];
/** Delays of the event loop. */
const DELAY_BOUNDS_S = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

export type Outcome = "ok" | "error";

/** The codes of answers to requests without a valid token, and to those that ask too much. */
const refusals = (Object.entries(errorStatus) as [ErrorCode, number][])
  .filter(([, status]) => status === 401 || status === 429)
  .map(([code]) => code);

export class Metrics {
  readonly buildInfo = new Gauge("skerry_build_info", {
    help: "Always 1; the version of this control process.",
    labels: ["version"],
  });
  readonly httpRequests = new Counter("skerry_http_requests_total", {
    help: "HTTP requests that have ended, without those for the dashboard's files, by method, route pattern and status.",
    labels: ["method", "path", "status"],
  });
  readonly httpDuration = new Histogram("skerry_http_request_duration_seconds", {
    help: "From the head of a request to the end of its answer, streams included.",
    labels: ["method", "path", "status"],
    bounds: REQUEST_BOUNDS_S,
  });
  readonly httpInFlight = new Gauge("skerry_http_requests_in_flight", {
    help: "HTTP requests that have not ended.",
  });
  readonly requestsRefused = new Counter("skerry_requests_refused_total", {
    help: "Requests that were answered with 401 or 429, by the code of the error: without a valid token (`unauthorized`), too many (`rate_limited`, `too_many_streams`), too many of one VM (`sandbox_busy`, `machine_busy`).",
    labels: ["code"],
  });
  readonly connections = new Gauge("skerry_connections", {
    help: "Open connections to the API: those on which no request has been authenticated (`silent`), those on which a request without a token is served that a public port or a signed URL lets in (`visitor`), and those on which one has been (`authenticated`).",
    labels: ["state"],
  });
  readonly connectionsRefused = new Counter("skerry_connections_refused_total", {
    help: "Connections that were closed. Without an authenticated request: because of the bound of their address (`address`) or of all (`total`), for want of any that may be closed for them (`no_room`), or without a byte (`first_byte`) or a TLS handshake (`handshake`) in time. With or without one: because of the bound of their unanswered requests (`pipelined`).",
    labels: ["reason"],
  });
  readonly sandboxCreation = new Histogram("skerry_sandbox_create_duration_seconds", {
    help: "Time from the request for a sandbox until it is ready or has failed.",
    labels: ["outcome"],
    bounds: SANDBOX_BOUNDS_S,
  });
  readonly machineStart = new Histogram("skerry_machine_start_duration_seconds", {
    help: "Time from the request, or the restart by policy, until the machine runs or has failed to start.",
    labels: ["outcome"],
    bounds: SANDBOX_BOUNDS_S,
  });
  readonly execution = new Histogram("skerry_execute_duration_seconds", {
    help: "A command from the request until its end, its own time included.",
    labels: ["outcome"],
    bounds: SANDBOX_BOUNDS_S,
  });
  readonly executionOverhead = new Histogram("skerry_execute_overhead_seconds", {
    help: "The part of a command's duration that is ours: all but the time that the command itself ran.",
    bounds: SANDBOX_BOUNDS_S,
  });
  readonly serviceRuns = new Counter("skerry_background_runs_total", {
    help: "Activations of a background service, by how they ended.",
    labels: ["service", "outcome"],
  });
  readonly serviceDuration = new Histogram("skerry_background_run_duration_seconds", {
    help: "How long an activation of a background service took.",
    labels: ["service"],
    bounds: RUN_BOUNDS_S,
  });
  readonly serviceItems = new Counter("skerry_background_items_total", {
    help: "What a background service has examined, changed, and failed to change.",
    labels: ["service", "result"],
  });
  readonly serviceLastRun = new Gauge("skerry_background_last_run_timestamp_seconds", {
    help: "End of the last activation of a background service, in seconds since 1970.",
    labels: ["service"],
  });
  readonly serviceLastSuccess = new Gauge("skerry_background_last_success_timestamp_seconds", {
    help: "End of the last activation that did not fail as a whole, in seconds since 1970.",
    labels: ["service"],
  });
  readonly machineRestarts = new Counter("skerry_machine_restarts_total", {
    help: "Machines that were started again by their policy.",
  });
  readonly machineEnds = new Counter("skerry_machine_ends_total", {
    help: "Machines that ended without being asked to, by cause.",
    labels: ["cause"],
  });
  readonly outOfMemory = new Counter("skerry_out_of_memory_total", {
    help: "What guests' kernels ended for want of memory, as far as hosts tell: commands of sandboxes and machines (`command`), and machines (`machine`).",
    labels: ["what"],
  });
  readonly deniedPackets = new Counter("skerry_denied_packets_total", {
    help: "Packets of sandboxes and machines that egress rules have refused, as hosts have told them.",
  });
  readonly builds = new Histogram("skerry_build_duration_seconds", {
    help: "Time from the request for a build until its end, waits included, by outcome.",
    labels: ["outcome"],
    bounds: BUILD_BOUNDS_S,
  });
  readonly buildSteps = new Counter("skerry_build_steps_total", {
    help: "Steps of builds: carried out (`miss`), or found in the build cache (`hit`).",
    labels: ["cache"],
  });
  readonly cacheEvictions = new Counter("skerry_build_cache_evictions_total", {
    help: "Results of steps that hosts have removed from the build cache.",
  });
  readonly cacheFreed = new Counter("skerry_build_cache_freed_bytes_total", {
    help: "What those took on the disks of hosts.",
  });
  readonly storeFailures = new Counter("skerry_object_store_failures_total", {
    help: "Layers that could not be put into the object store, got from there, or deleted there, by what was tried.",
    labels: ["call"],
  });
  readonly certificateExpiry = new Gauge("skerry_certificate_expiry_timestamp_seconds", {
    help: "End of the validity of a certificate that this process serves, in seconds since 1970: that of the API (`api`), and that of the names of ports (`sandbox_domain`). None where none is configured.",
    labels: ["certificate"],
  });
  readonly auditLost = new Counter("skerry_audit_events_unstored_total", {
    help: "Audit events that could not be stored and went to the log of control instead.",
  });
  readonly loopDelay = new Histogram("skerry_event_loop_delay_seconds", {
    help: "How late this process' event loop was, looked at 20 times a second. While it is late, nothing is answered.",
    bounds: DELAY_BOUNDS_S,
  });
  readonly loopDelayMax = new Gauge("skerry_event_loop_delay_max_seconds", {
    help: "The longest delay of this process' event loop within the last minute.",
  });
  readonly processCpu = new Counter("process_cpu_seconds_total", {
    help: "CPU time of this control process.",
  });
  readonly processMemory = new Gauge("process_resident_memory_bytes", {
    help: "Resident memory of this control process.",
  });
  readonly processStart = new Gauge("process_start_time_seconds", {
    help: "When this control process started, in seconds since 1970.",
  });

  constructor() {
    // What has no labels is there from the start, so that its first step is seen.
    this.httpInFlight.set(0);
    for (const state of ["silent", "visitor", "authenticated"]) this.connections.set(0, state);
    for (const reason of closeReasons) this.connectionsRefused.set(0, reason);
    this.buildInfo.set(1, packageJson.version);
    for (const code of refusals) this.requestsRefused.set(0, code);
    for (const cause of machineEndCauses) this.machineEnds.set(0, cause);
    for (const what of ["command", "machine"]) this.outOfMemory.set(0, what);
    this.machineRestarts.set(0);
    this.deniedPackets.set(0);
    this.auditLost.set(0);
    this.cacheEvictions.set(0);
    this.cacheFreed.set(0);
    for (const call of ["store", "fetch", "delete"]) this.storeFailures.set(0, call);
    this.loopDelayMax.set(0);
    this.processStart.set(Date.now() / 1_000 - process.uptime());
  }

  families(): Family[] {
    return familiesOf(this);
  }

  /** `code`: of the error that a request was answered with. */
  countRefusal(code: ErrorCode | undefined): void {
    if (code !== undefined && refusals.includes(code)) this.requestsRefused.add(1, code);
  }

  /** What the process knows of itself only when it is asked. */
  measureProcess(): void {
    const { user, system } = process.cpuUsage();
    this.processCpu.set((user + system) / 1e6);
    this.processMemory.set(process.memoryUsage.rss());
  }
}

/** What the tables say. Filled anew by each reading. */
export class DatabaseMetrics {
  readonly up = new Gauge("skerry_database_up", {
    help: "Whether the database answered this scrape. When it is 0, everything below that comes from it is left out.",
  });
  readonly vms = new Gauge("skerry_vms", {
    help: "Virtual machines that are not destroyed, by kind and status.",
    labels: ["kind", "status"],
  });
  readonly queueDepth = new Gauge("skerry_queue_depth", {
    help: "Work that waits: `destroy` for a host's word, `expire` for the reaper, `egress` for a host to confirm a policy, `restart` for a machine's next start, `build` for what a build cannot go on without, `database` for a connection of this process.",
    labels: ["queue"],
  });
  readonly crashLoops = new Gauge("skerry_machines_in_crash_loop", {
    help: "Machines that their policy has started again three times or more without ten healthy minutes in between.",
  });
  readonly templates = new Gauge("skerry_templates", {
    help: "Images of built-in templates (`built_in`), counted on each host, and versions of organizations (`own`), by status.",
    labels: ["origin", "status"],
  });
  readonly lastBackup = new Gauge("skerry_last_backup_timestamp_seconds", {
    help: "When `skerry backup` last wrote one, in seconds since 1970. None where there never was one.",
  });
  readonly hosts = new Gauge("skerry_hosts", {
    help: "Hosts by status; one that was silent for 30 s counts as offline.",
    labels: ["status"],
  });
  readonly hostHeartbeat = new Gauge("skerry_host_last_heartbeat_timestamp_seconds", {
    help: "When a host was last heard of, in seconds since 1970.",
    labels: ["host"],
  });
  readonly hostCertificateExpiry = new Gauge("skerry_host_certificate_expiry_timestamp_seconds", {
    help: "End of the validity of the certificate of a host on another machine, in seconds since 1970. It is renewed by itself.",
    labels: ["host"],
  });
  readonly hostCpus = new Gauge("skerry_host_cpus", { help: "CPUs of a host.", labels: ["host"] });
  readonly hostVmMemory = new Gauge("skerry_host_vm_memory_bytes", {
    help: "Memory that virtual machines may use on a host.",
    labels: ["host"],
  });
  readonly hostReservedMemory = new Gauge("skerry_host_vm_memory_reserved_bytes", {
    help: "Memory of a host that is promised to its virtual machines.",
    labels: ["host"],
  });
  readonly hostReservedCpus = new Gauge("skerry_host_vm_cpus_reserved", {
    help: "Virtual CPUs of the virtual machines on a host.",
    labels: ["host"],
  });
  readonly hostCpu = new Counter("skerry_host_cpu_seconds_total", {
    help: "CPU time of a host since it was booted, by mode.",
    labels: ["host", "mode"],
  });
  readonly hostMemory = new Gauge("skerry_host_memory_bytes", {
    help: "Memory of a host.",
    labels: ["host"],
  });
  readonly hostMemoryAvailable = new Gauge("skerry_host_memory_available_bytes", {
    help: "Memory of a host that could be used without swapping.",
    labels: ["host"],
  });
  readonly hostDisk = new Gauge("skerry_host_disk_bytes", {
    help: "Size of the file system that a host keeps its virtual machines on.",
    labels: ["host"],
  });
  readonly hostDiskFree = new Gauge("skerry_host_disk_free_bytes", {
    help: "Free space of that file system.",
    labels: ["host"],
  });
  readonly hostReceived = new Counter("skerry_host_network_receive_bytes_total", {
    help: "Bytes received by a host on the links that its default routes use.",
    labels: ["host"],
  });
  readonly hostSent = new Counter("skerry_host_network_transmit_bytes_total", {
    help: "Bytes sent by a host on the links that its default routes use.",
    labels: ["host"],
  });

  readonly organizationVms = new Gauge("skerry_organization_vms", {
    help: "Virtual machines that count against the quotas of an organization, by kind.",
    labels: ["organization", "kind"],
  });
  readonly organizationCpus = new Gauge("skerry_organization_vm_cpus_reserved", {
    help: "Virtual CPUs of what an organization has running.",
    labels: ["organization"],
  });
  readonly organizationMemory = new Gauge("skerry_organization_vm_memory_reserved_bytes", {
    help: "Memory of what an organization has running.",
    labels: ["organization"],
  });
  readonly organizationDisk = new Gauge("skerry_organization_vm_disk_reserved_bytes", {
    help: "Disk of what an organization has, also of machines that are stopped.",
    labels: ["organization"],
  });

  readonly cacheBytes = new Gauge("skerry_build_cache_bytes", {
    help: "What the build cache takes on the disk of a host.",
    labels: ["host"],
  });
  readonly storedLayers = new Gauge("skerry_stored_layers", {
    help: "Layers of templates in the object store: those that are on their way there (`storing`), there (`ready`), and to be deleted (`deleting`).",
    labels: ["status"],
  });
  readonly storedBytes = new Gauge("skerry_stored_layer_bytes", {
    help: "What those take on the disk of a host.",
    labels: ["status"],
  });

  readonly clockSteps = new Counter("skerry_database_clock_steps_total", {
    help: "How often the clock of the database was set by more than a minute while control ran.",
  });
  readonly clockStep = new Gauge("skerry_database_clock_last_step_seconds", {
    help: "Size of the last of these steps; negative: back.",
  });

  readonly warmVms = new Gauge("skerry_host_warm_vms", {
    help: "Idle clones of templates on a host, ready for the next sandbox.",
    labels: ["host"],
  });
  readonly warmTakes = new Counter("skerry_host_warm_takes_total", {
    help: "Virtual machines of a host that were made of a waiting clone (`taken`), and those for which none waited (`missed`), since the host started.",
    labels: ["host", "result"],
  });

  families(): Family[] {
    return familiesOf(this);
  }
}

/** In the order in which the class names them. */
function familiesOf(metrics: object): Family[] {
  return Object.values(metrics).filter((value): value is Family => isFamily(value));
}

function isFamily(value: unknown): value is Family {
  return value instanceof Counter || value instanceof Gauge || value instanceof Histogram;
}
