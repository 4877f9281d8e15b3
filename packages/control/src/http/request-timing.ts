// Where the time of one request goes, told to its client in a header as it becomes known: also an error has it.

import type { FastifyReply } from "fastify";
import { formatTiming, SERVER_TIMING, type Timing, type TimingPhase } from "@skerry/contract/server-timing";

export class RequestTiming {
  readonly #reply: FastifyReply;
  #known: Timing = {};

  constructor(reply: FastifyReply) {
    this.#reply = reply;
  }

  add(phase: TimingPhase, ms: number): void {
    this.#known = { ...this.#known, [phase]: ms };
    if (!this.#reply.sent) void this.#reply.header(SERVER_TIMING, formatTiming(this.#known));
  }

  async measure<Result>(phase: TimingPhase, work: () => Promise<Result>): Promise<Result> {
    const startedMs = performance.now();
    try {
      return await work();
    } finally {
      this.add(phase, performance.now() - startedMs);
    }
  }

  /** A host's start of a VM. What it says of the freezing of a template is believed up to how long it took in all. */
  async measureStart<Result>(work: (onTiming: (timing: Timing) => void) => Promise<Result>): Promise<Result> {
    const startedMs = performance.now();
    let told: Timing = {};
    try {
      return await work((timing) => (told = timing));
    } finally {
      const ms = performance.now() - startedMs;
      const freezeMs = Math.min(told.freeze ?? 0, ms);
      if (freezeMs > 0) this.add("freeze", freezeMs);
      this.add("start", ms - freezeMs);
    }
  }
}
