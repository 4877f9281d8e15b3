import { SkerryError } from "@skerry/contract/errors";

/** Each holds a connection, and one of the database's again and again. */
const OF_ORGANIZATION_MAX = 2;
const RETRY_AFTER_S = 5;

/** Counts those that this process is sending. */
export class AuditExports {
  readonly #counts = new Map<string, number>();

  /** One more, until it is disposed of. Throws `too_many_streams`. */
  take(orgId: string): Disposable {
    const count = this.#counts.get(orgId) ?? 0;
    if (count >= OF_ORGANIZATION_MAX) {
      throw new SkerryError("too_many_streams", `${count} exports of your organization are under way.`, {
        remediation: "Try again when one of them has ended.",
        context: { max: OF_ORGANIZATION_MAX },
        retryAfterS: RETRY_AFTER_S,
      });
    }
    this.#counts.set(orgId, count + 1);
    using undo = new DisposableStack();
    undo.defer(() => this.#giveBack(orgId));
    return undo.move();
  }

  #giveBack(orgId: string): void {
    const left = (this.#counts.get(orgId) ?? 0) - 1;
    if (left > 0) this.#counts.set(orgId, left);
    else this.#counts.delete(orgId);
  }
}
