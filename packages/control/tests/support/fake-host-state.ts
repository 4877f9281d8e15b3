// The state of a fake host that tests set and read, and that its rooms (`fake-ROOM.ts`) answer from.

import type { EgressDenial, EgressInjection } from "@skerry/contract/vms/egress";
import { SkerryError } from "@skerry/contract/errors";
import type { CertificateRequest, HostCertificate } from "@skerry/contract/joining/host-certificate";
import type { ExecuteCommand, StopVm, Vm, VmSpec } from "@skerry/contract/host-api/vm";
import type { HostUsage } from "@skerry/contract/host-api/host-info";
import type { BuiltInTemplate } from "@skerry/contract/templates/template";
import { FakeMoves } from "./fake-moves.ts";
import { FakeSavedMoves } from "./fake-saved-moves.ts";
import { FakeTemplates } from "./fake-templates.ts";
import { FakeSnapshots } from "./fake-snapshots.ts";
import { FakeMetrics } from "./fake-metrics.ts";
import { FakePauses } from "./fake-pauses.ts";
import { FakeConsole } from "./fake-console.ts";
import type { FileAttributes } from "@skerry/contract/vms/file-attributes";

type FailingCall = "files" | "start" | "stop" | "destroy" | "list" | "execute" | "write" | "egress";

/** A file as a guest would have it: its bytes are not kept, only what a test wants to know of them. */
export interface StoredFile {
  readonly size: number;
  readonly sha256: string;
  readonly mode: number;
  readonly attributes?: FileAttributes;
  /** Kept only where it is small. */
  readonly content: Buffer;
}

export const denial: EgressDenial = {
  address: "203.0.113.9",
  port: 25,
  protocol: "tcp",
  rule: "deny_all",
  count: 3,
  last_at: "2026-01-01T00:00:00.000Z",
};

export class FakeHostState {
  readonly vms = new Map<string, Vm & { readonly spec: VmSpec }>();
  /** Disks of machines: the execution id that each was made for. */
  readonly disks = new Map<string, string>();
  readonly console = new FakeConsole();
  readonly moves = new FakeMoves(() => this.vms);
  readonly templates = new FakeTemplates(() => this.vms);
  readonly snapshots = new FakeSnapshots(() => this.vms);
  readonly savedMoves = new FakeSavedMoves(() => ({ vms: this.vms, snapshots: this.snapshots.kept }));
  readonly pauses = new FakePauses(() => this.vms);
  readonly metrics = new FakeMetrics(() => this.vms);
  readonly files = new Map<string, StoredFile>();
  /** The name of the one file in every directory. */
  fileName = "a";
  readonly commands: ExecuteCommand[] = [];
  /** Input that commands have read, all but those called `deaf`. */
  readonly inputs: Buffer[] = [];
  /** False: as a host of an earlier version, which knows no such request. */
  passesInput = true;
  /** Runs before a new egress policy is in force. */
  beforeEgress: (id: string) => Promise<void> = async () => undefined;
  /** Denials that every VM tells, newest first. */
  denied: readonly EgressDenial[] = [denial];
  /** Secrets that requests of each VM with rules have got, newest first. */
  injected: readonly EgressInjection[] = [];
  name = "fake";
  cpus = 2;
  memoryMib = 4096;
  template: BuiltInTemplate = {
    id: "tpl_00000000000000000000000001",
    name: "base",
    description: "x",
    disk_gib: 1,
    status: "ready",
  };
  /** VMs that have ended by themselves. */
  ended = 0;
  /** Undefined: as a host of an earlier version, which does not say. */
  /** Address at which its proxy takes requests of other hosts. */
  edgeDoor: string | undefined = undefined;
  usage: HostUsage | undefined;
  /** Names of calls that answer with an error, and the error. */
  readonly failures = new Map<FailingCall, SkerryError>();
  /** The answer of a start about where its time went. */
  startTiming = "";
  /** Runs before a command does. */
  beforeExecute: () => Promise<void> = async () => undefined;
  /** Runs before the host says what it has. */
  beforeList: () => Promise<void> = async () => undefined;
  /** Runs before a VM counts as started. */
  beforeStart: (id: string) => Promise<void> = async () => undefined;
  /** Runs before the host answers. */
  beforeDestroy: (id: string) => Promise<void> = async () => undefined;
  /** The identity in its cluster. Undefined: as a host of an earlier version, which cannot be certified. */
  identity: { request(): CertificateRequest; install(certificate: HostCertificate): void } | undefined;
  /** Runs before a VM counts as stopped. */
  beforeStop: (id: string) => Promise<void> = async () => undefined;
  readonly stops: StopVm[] = [];
  /** Ids whose destruction never ends. */
  readonly stuck = new Set<string>();

  /** Makes a VM look as one that has ended by itself. */
  end(id: string, reason: string | null, how: Pick<Vm, "cause" | "exit"> = {}): void {
    const vm = this.vms.get(id);
    if (vm !== undefined) this.vms.set(id, { ...vm, ...how, status: "gone", reason });
  }

  /** Throws the error that such calls are to answer with. */
  fail(call: FailingCall): void {
    const failure = this.failures.get(call);
    if (failure !== undefined) throw failure;
  }

  /** Throws where the VM does not run here, in this incarnation where one is given. */
  require(id: string, executionId?: string | null): void {
    const vm = this.vms.get(id);
    if (vm === undefined) throw new SkerryError("vm_not_found", "no such VM");
    if (vm.status !== "running") throw new SkerryError("vm_not_running", "the VM has ended");
    if (executionId !== undefined && executionId !== vm.execution_id) {
      throw new SkerryError("stale_execution", "another incarnation");
    }
  }
}
