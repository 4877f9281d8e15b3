// Metrics that this process counts, in one list: they are this replica's own. docs/metrics.md is made of it
// and of `DatabaseMetrics`.

import { errorStatus, type ErrorCode } from "@skerry/contract/errors";
import { machineEndCauses } from "@skerry/contract/machines/machine-end";
import { closeReasons } from "@skerry/contract/connections/doors";
import packageJson from "../../package.json" with { type: "json" };
import { Counter, familiesOf, Gauge, Histogram, type Family } from "./families.ts";

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
  readonly appRequests = new Counter("skerry_app_requests_total", {
    help: "Requests of apps, as the proxies of hosts have counted them, by organization (as many as `SKERRY_METRICS_ORGANIZATIONS` says, and `other`) and by answer: 4xx (`client_error`), 5xx or none (`server_error`), and others (`ok`).",
    labels: ["organization", "answer"],
  });
  readonly appAnswers = new Counter("skerry_app_answers_total", {
    help: "Answers of apps that began within so many seconds, as buckets of a histogram for `histogram_quantile`.",
    labels: ["le"],
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
