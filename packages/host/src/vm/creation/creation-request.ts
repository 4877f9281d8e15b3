// The request for a VM, and what its creation works with.

import type { VmSpec } from "@skerry/contract/host-api/vm";
import type { Size } from "@skerry/contract/sizes";
import type { Logger } from "pino";
import type { TemplateLibrary } from "../../templates/library.ts";
import type { Layers } from "../disk/layers.ts";
import type { RecordOwner } from "../record/read-records.ts";
import type { VmRecord } from "../record/record.ts";
import type { HostResources } from "../record/vm-resources.ts";
import type { Snapshots } from "../saved/snapshots.ts";
import type { WarmVm } from "../warm/warm-clones.ts";

export interface CreationOptions {
  readonly resources: HostResources;
  readonly layers: Layers;
  readonly library: TemplateLibrary;
  readonly snapshots: Snapshots;
  readonly owner: RecordOwner;
  readonly vmsFolder: string;
  readonly instance: string;
  readonly log: Logger;
}

export interface VmRequest {
  readonly spec: VmSpec;
  readonly size: Size;
  /** A clone taken from the warm pool. Never for a machine: its disk and its console differ from a
   *  sandbox's from the start. */
  readonly warm: WarmVm | undefined;
  /** The record of the machine's previous VM, whose disk is kept. */
  readonly kept?: VmRecord | undefined;
  /** The record of the sandbox that is paused under this id. */
  readonly paused?: VmRecord | undefined;
  readonly onFrozen?: OnFrozen | undefined;
}

/** Told how many milliseconds the VM has waited for its frozen template. */
export type OnFrozen = (ms: number) => void;
