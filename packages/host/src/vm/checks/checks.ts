// The health checks of this host's VMs: one loop for each, with one check at a time. They are kept in memory;
// control says them again to the next host process.

import { setTimeout as sleep } from "node:timers/promises";
import { CHECK_REASON_MAX_CHARS } from "@skerry/contract/checks/check-bounds";
import type { CheckChange, CheckState, HostCheck } from "@skerry/contract/host-api/checks";
import type { Running } from "../lifecycle/vm-table.ts";
import { afterCheck, begunAt, type Counted } from "./check-state.ts";
import { runCheck, type CheckRun, type Verdict } from "./run-check.ts";

/** Calls that checks make on an engine. */
export interface CheckedVms {
  /** Waits for one that begins. Throws where it does not run in this incarnation. */
  usable(id: string, executionId: string): Promise<Running>;
  running(id: string, executionId: string): CheckedVm;
}

type CheckedVm = Pick<Running, "guestHalt"> & {
  readonly record: Pick<Running["record"], "started_at">;
  readonly live: Pick<Running["live"], "channel">;
};

interface Checked {
  readonly id: string;
  readonly executionId: string;
  readonly version: number;
  readonly check: HostCheck;
  readonly end: AbortController;
  state: Counted;
  /** Present while something of a check that has its verdict may be left in the guest. */
  leftover?: Promise<void>;
}

/**
 * Between the end of one check and the beginning of the next, where a check takes longer than the interval.
 */
const PAUSE_MIN_MS = 100;
/**
 * Interval of checks while failures do not count, so that a VM is known to be well soon after it is. A check
 * takes half of the time at most.
 */
const STARTING_INTERVAL_MS = 250;
/** So that the checks of VMs that were started together are not all made together. */
const FIRST_WITHIN_MS = 250;

/** `tookMs`: the check before. */
function pauseMs({ check, state }: Pick<Checked, "check" | "state">, tookMs: number): number {
  const restMs = Math.max(PAUSE_MIN_MS, check.interval_ms - tookMs);
  const inGrace = state.status === "starting" && state.failed === 0 && check.grace_ms > 0;
  return inGrace ? Math.min(restMs, Math.max(STARTING_INTERVAL_MS - tookMs, tookMs, PAUSE_MIN_MS)) : restMs;
}

export class Checks {
  readonly #vms: CheckedVms;
  readonly #byId = new Map<string, Checked>();
  #changes = 0;

  constructor(vms: CheckedVms) {
    this.#vms = vms;
  }

  /** Changes whenever a check has another status. */
  get changes(): number {
    return this.#changes;
  }

  list(): CheckState[] {
    return [...this.#byId.values()].map(({ id, executionId, version, state }) => {
      const { failed: _failed, ...told } = state;
      return { id, execution_id: executionId, version, ...told };
    });
  }

  isFailing(id: string, executionId: string): boolean {
    const checked = this.#byId.get(id);
    return checked?.executionId === executionId && checked.state.status === "failing";
  }

  /** The check of this incarnation from now on; a call that comes late changes nothing. */
  async set(id: string, { execution_id: executionId, version, check }: CheckChange): Promise<void> {
    await this.#vms.usable(id, executionId);
    const before = this.#byId.get(id);
    if (before?.executionId === executionId && before.version >= version) return;
    if (before !== undefined) this.#forget(before);
    if (check === undefined) return;
    const end = new AbortController();
    const checked: Checked = { id, executionId, version, check, end, state: begunAt(new Date()) };
    this.#byId.set(id, checked);
    void this.#checkOn(checked);
  }

  close(): void {
    for (const checked of this.#byId.values()) this.#forget(checked);
  }

  #forget(checked: Checked): void {
    checked.end.abort();
    if (this.#byId.get(checked.id) === checked) this.#byId.delete(checked.id);
  }

  async #checkOn(checked: Checked): Promise<void> {
    const { check, end } = checked;
    let waitMs = Math.random() * Math.min(FIRST_WITHIN_MS, check.interval_ms);
    for (;;) {
      await sleep(waitMs, undefined, { signal: end.signal, ref: false }).catch(() => undefined);
      if (end.signal.aborted) return;
      const beganMs = performance.now();
      await this.#checkOnce(checked);
      waitMs = pauseMs(checked, performance.now() - beganMs);
    }
  }

  /** Never rejects. */
  async #checkOnce(checked: Checked): Promise<void> {
    const vm = this.#find(checked);
    if (vm === undefined) return this.#forget(checked);
    const held = new AbortController();
    const stop = AbortSignal.any([held.signal, checked.end.signal]);
    try {
      using _probe = await vm.guestHalt.probe(() => held.abort());
      const verdict = await this.#verdict(checked, vm, stop);
      // A check that was broken off says nothing.
      if (!stop.aborted) this.#note(checked, vm, verdict);
    } catch {
      // Its guest is moving or has ended: the next turn finds out which.
    }
  }

  #find({ id, executionId }: Checked): CheckedVm | undefined {
    try {
      return this.#vms.running(id, executionId);
    } catch {
      return undefined;
    }
  }

  /** A guest may keep what was canceled: it gets no second check beside it. */
  async #verdict(checked: Checked, { live }: CheckedVm, stop: AbortSignal): Promise<Verdict> {
    if (checked.leftover !== undefined) return "the check before has not ended in the guest";
    const run: CheckRun = runCheck(live.channel, checked.check, stop);
    checked.leftover = run.over.then(() => delete checked.leftover).then(() => undefined);
    return run.verdict;
  }

  #note(checked: Checked, { record }: CheckedVm, verdict: Verdict): void {
    const { check, state } = checked;
    const at = new Date();
    const inGrace = at.getTime() - Date.parse(record.started_at) < check.grace_ms;
    const reason = verdict?.slice(0, CHECK_REASON_MAX_CHARS);
    checked.state = afterCheck(state, reason, { failures: check.failures, at, inGrace });
    if (checked.state.status !== state.status) this.#changes += 1;
  }
}
