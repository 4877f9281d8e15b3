import type { UnusedVm } from "@skerry/contract/host-api/snapshots";
import type { CountedVm } from "../../network/denial-counts.ts";
import type { VmTable } from "../lifecycle/vm-table.ts";
import type { SampledVm } from "../metrics/sampler.ts";
import type { VmRecord } from "../record/record.ts";
import type { HostResources } from "../record/vm-resources.ts";

type RunningProcess = VmRecord & { readonly process: NonNullable<VmRecord["process"]> };

/** The VMs that run, for those who look at all of them. */
export class RunningVms {
  readonly #table: VmTable;
  readonly #slots: HostResources["slots"];

  constructor(table: VmTable, slots: HostResources["slots"]) {
    this.#table = table;
    this.#slots = slots;
  }

  /** Those that nothing uses. */
  unused(): UnusedVm[] {
    return this.#table.all.flatMap((entry) => {
      if (entry.state !== "running" || entry.ending !== undefined) return [];
      const { id, execution_id } = entry.record;
      const { unusedMs } = entry.guestHalt;
      return unusedMs === undefined ? [] : [{ id, execution_id, unused_ms: Math.floor(unusedMs) }];
    });
  }

  /** Those in which a template is built. */
  builds(): VmRecord[] {
    return this.#table.all.flatMap((entry) =>
      entry.state === "running" && entry.ending === undefined && entry.record.build !== undefined
        ? [entry.record]
        : [],
    );
  }

  /** As the sampler measures them. */
  sampled(): SampledVm[] {
    return this.#processes().map(({ id, folder, process, slot }) => ({
      ...{ id, folder, process },
      link: this.#slots.slot(slot).link,
    }));
  }

  /** As their refused packets are counted. */
  counted(): CountedVm[] {
    return this.#processes().map(({ id, process, slot }) => ({
      id,
      netnsFile: this.#slots.slot(slot).netnsFile,
      startTicks: process.startTicks,
    }));
  }

  #processes(): RunningProcess[] {
    return this.#table.all.flatMap(({ state, record: { process, ...record } }) =>
      (state === "running" || state === "adopting") && process !== undefined ? [{ ...record, process }] : [],
    );
  }
}
