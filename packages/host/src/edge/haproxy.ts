// The proxy's process, HAProxy: started, reloaded and asked. It outlives this process.

import { access, readFile } from "node:fs/promises";
import { connect } from "node:net";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { listens } from "../system/listening-sockets.ts";
import { runProgram, RunError } from "../system/run.ts";
import { findByUid, killProcess } from "../vm/qemu/process.ts";
import type { ProxyFiles } from "./proxy-files.ts";
import type { TrafficCounts } from "@skerry/contract/host-api/traffic-counts";

const PROGRAM = "/usr/sbin/haproxy";
/** Of 10,000 backends. */
const START_DEADLINE_MS = 15_000;
const ANSWER_DEADLINE_MS = 5_000;
/** A line of commands fits into its buffer. */
const LINE_MAX_CHARS = 8_000;

export class ProxyFault extends Error {
  override readonly name = "ProxyFault";
}

export class Haproxy {
  readonly #files: ProxyFiles;
  readonly #uid: number;
  readonly #cgroup: () => Promise<string | undefined>;

  /** `cgroup`: the folder of the one that it runs in, where this machine has such. */
  constructor(files: ProxyFiles, uid: number, cgroup: () => Promise<string | undefined>) {
    this.#files = files;
    this.#uid = uid;
    this.#cgroup = cgroup;
  }

  /**
   * Begins with the files. A former process that is left goes on with the connections that it has, and ends
   * after them.
   */
  async start(): Promise<void> {
    const { config, pid, socket } = this.#files;
    const former = await this.#pids();
    const handOver = (await this.answers()) ? ["-x", socket] : [];
    const after = former.length > 0 ? ["-sf", ...former.map(String)] : [];
    await access(PROGRAM).catch((cause: unknown) => {
      throw new ProxyFault("HAProxy is not installed on this host: apt-get install haproxy", { cause });
    });
    const words = [PROGRAM, "-D", "-f", config, "-p", pid, ...handOver, ...after];
    const folder = await this.#cgroup();
    const [program, ...args] =
      folder === undefined
        ? words
        : ["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', folder, ...words];
    await runProgram(program ?? PROGRAM, args, { deadlineMs: START_DEADLINE_MS }).catch((cause: unknown) => {
      const said = cause instanceof RunError ? cause.message : String(cause);
      throw new ProxyFault(`the proxy does not start: ${said}`, { cause });
    });
    await letGo(former);
  }

  /** Whether the process that has the socket takes commands. */
  answers(): Promise<boolean> {
    return this.#say("show info").then(
      (text) => text.startsWith("Name: HAProxy"),
      () => false,
    );
  }

  /** Carries out commands in their order. Throws where one is refused. */
  async command(commands: readonly string[]): Promise<void> {
    for (const line of linesOf(commands)) {
      const said = await this.#say(line);
      const refusal = said.split("\n").find((one) => REFUSAL.test(one));
      if (refusal !== undefined) throw new ProxyFault(`the proxy refused a command: ${refusal}`);
    }
  }

  /**
   * Requests and connections of each seat of a place that has any, by the seat's name. Requests that the proxy
   * has given to a seat count, also before it has a connection for them.
   */
  async sessions(place: string): Promise<ReadonlyMap<string, number>> {
    const text = await this.#say(`show stat ${place} ${SERVERS} -1`);
    const rows = text
      .split("\n")
      .filter((line) => line.startsWith(`${place},`))
      .map((line) => line.split(","));
    return new Map(rows.map(([, name = "", , , current = "0"]) => [name, Number(current)]));
  }

  /**
   * Counters of the seats of one place, or of all, by their names. Seats that never had a request have none.
   */
  async counts(place = "-1"): Promise<ReadonlyMap<string, TrafficCounts>> {
    const [head = "", ...lines] = (await this.#say(`show stat ${place} ${SERVERS} -1`)).split("\n");
    const columns = head.replace(/^# /, "").split(",");
    const [requests, connections, c4, c5, failed, received, sent] = [
      ...["req_tot", "stot", "hrsp_4xx", "hrsp_5xx", "eresp", "bin", "bout"],
    ].map((name) => columns.indexOf(name));
    const counts = lines.flatMap((line) => {
      const fields = line.split(",");
      const of = (column = -1) => Number(fields[column] ?? 0) || 0;
      // Requests of what is no HTTP are its connections.
      const total = fields[requests ?? -1] === "" ? of(connections) : of(requests);
      if (!/^b\d+$/.test(fields[0] ?? "") || total === 0) return [];
      const counted: TrafficCounts = {
        ...{ requests: total, client_errors: of(c4), server_errors: of(c5) + of(failed) },
        ...{ received_bytes: of(received), sent_bytes: of(sent) },
      };
      return [[`${fields[0]}/${fields[1]}`, counted] as const];
    });
    return new Map(counts);
  }

  /** Entries of a table, as text. */
  table(name: string): Promise<string> {
    return this.#say(`show table ${name}`);
  }

  /** Lines of a ring, as text. */
  ring(name: string): Promise<string> {
    return this.#say(`show events ${name}`);
  }

  /** Ends all its processes, with the connections that they have. */
  async end(): Promise<void> {
    for (const { identity } of await findByUid({ first: this.#uid, count: 1 })) await killProcess(identity);
  }

  async #pids(): Promise<number[]> {
    const text = await readFile(this.#files.pid, "utf8").catch(() => "");
    const known = text.split("\n").map(Number);
    const alive = await findByUid({ first: this.#uid, count: 1 });
    return alive.map(({ identity }) => identity.pid).filter((pid) => known.includes(pid));
  }

  async #say(line: string): Promise<string> {
    const socket = connect(this.#files.socket);
    const deadline = setTimeout(() => socket.destroy(), ANSWER_DEADLINE_MS);
    try {
      socket.end(`${line}\n`);
      return (await buffer(socket)).toString("latin1");
    } finally {
      clearTimeout(deadline);
      socket.destroy();
    }
  }
}

const LET_GO_MS = 1_000;

/** Waits until these take no connections any more, which they would serve as they were told before. */
async function letGo(former: readonly number[]): Promise<void> {
  const lateMs = performance.now() + LET_GO_MS;
  for (const pid of former)
    while ((await listens(pid)) && performance.now() < lateMs) await sleep(10, undefined, { ref: false });
}

/** Kind of objects in `show stat`. */
const SERVERS = 4;
/** Texts of what is refused; others tell what was done. */
const REFUSAL = /^(No such|Unknown|Invalid|Require|'|unable|Can't|Permission|Failed)/i;

function* linesOf(commands: readonly string[]): Generator<string> {
  let line = "";
  for (const command of commands) {
    if (line !== "" && line.length + command.length > LINE_MAX_CHARS) {
      yield line;
      line = "";
    }
    line = line === "" ? command : `${line}; ${command}`;
  }
  if (line !== "") yield line;
}
