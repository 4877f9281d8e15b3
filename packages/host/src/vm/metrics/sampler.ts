// Measures each VM that runs once a minute. One after the other, so that a thousand of them are a trickle and no burst; a host that is busy is late,
// and one that was away leaves a gap.

import { readFileSync } from "node:fs";
import { uptime } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { SAMPLE_EVERY_MS } from "@skerry/contract/host-api/metrics";
import type { Logger } from "pino";
import type { ProcessIdentity } from "../qemu/process.ts";
import { linkTraffic, measureVm, type LinkTraffic } from "./measure-vm.ts";
import { writeSample } from "./sample-file.ts";

/** A VM that runs. */
export interface SampledVm {
  readonly id: string;
  readonly folder: string;
  readonly process: ProcessIdentity;
  /** Name of the machine's end of its link. */
  readonly link: string;
}

export interface SamplerOptions {
  /** Those that run now. */
  readonly vms: () => readonly SampledVm[];
  readonly log: Logger;
}

/** Resolves after `stop`. Never rejects. */
export async function sampleVms({ vms, log }: SamplerOptions, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    await sleep(SAMPLE_EVERY_MS - (Date.now() % SAMPLE_EVERY_MS), undefined, { signal: stop }).catch(
      () => undefined,
    );
    if (!stop.aborted) await sampleOnce(vms(), log);
  }
}

/** A VM that ends meanwhile has no sample. */
export async function sampleOnce(vms: readonly SampledVm[], log: Logger): Promise<void> {
  const traffic = readTraffic();
  for (const { id, folder, process, link } of vms) {
    try {
      const sample = await measureVm(
        { process, folder, traffic: traffic.get(link), uptimeMs: uptime() * 1_000 },
        Date.now(),
      );
      if (sample !== undefined) await writeSample(folder, sample);
    } catch (error) {
      // Its folder has gone, or the disk is full: a gap says so.
      log.debug({ err: error, vm: id }, "a VM could not be measured");
    }
  }
}

function readTraffic(): ReadonlyMap<string, LinkTraffic> {
  try {
    return linkTraffic(readFileSync("/proc/net/dev", "latin1"));
  } catch {
    return new Map();
  }
}
