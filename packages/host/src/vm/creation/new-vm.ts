import type { VmRecord } from "../record/record.ts";

/** A VM that is being created. */
export class NewVm {
  /** Replaced during the creation. If the creation fails, the resources that the record then names have to
   *  be released. */
  record: VmRecord;
  /** No command of the user has run in it. */
  isUnused = false;
  /** It is paused, and its guest has not gone on yet: where the creation fails, it stays paused. */
  staysPaused = false;
  readonly #acknowledged = Promise.withResolvers<void>();
  #isAcknowledged = false;

  constructor(record: VmRecord) {
    this.record = record;
  }

  /** Answers the request before the creation has ended: a warm clone was taken for it, and if that does
   *  not wake, another one is made. */
  acknowledge(): void {
    this.#isAcknowledged = true;
    this.#acknowledged.resolve();
  }

  /** Resolves when `acknowledge` is called. */
  get acknowledged(): Promise<void> {
    return this.#acknowledged.promise;
  }

  get isAcknowledged(): boolean {
    return this.#isAcknowledged;
  }
}
