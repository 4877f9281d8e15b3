// Turns in which large answers are encoded. Encoding is work of the event loop, and a client that reads fast never makes an answer
// wait, so without turns everything else would wait until an answer is whole. A turn of the loop encodes a few pieces, taken from
// the organizations in rotation: many answers of one organization cost the others no more than one answer does.

/** With the pieces that `output.ts` makes, a turn of the loop takes some milliseconds at most. */
const PIECES_PER_LOOP_TURN = 4;

export class EncodingTurns {
  /** Answers that wait, by organization. The organization in front is the next one. */
  readonly #waiting = new Map<string, (() => void)[]>();
  /** Pieces that may be encoded before the loop has turned. While it is more than zero, no answer waits. */
  #left = PIECES_PER_LOOP_TURN;

  /** Resolves when this organization may encode one piece. */
  next(orgId: string): Promise<void> {
    if (this.#left > 0) {
      this.#left -= 1;
      this.#passOnLater();
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      const queue = this.#waiting.get(orgId);
      if (queue === undefined) this.#waiting.set(orgId, [resolve]);
      else queue.push(resolve);
    });
  }

  /** When the loop has looked for everything else that it has to do. */
  #passOnLater(): void {
    setImmediate(() => {
      const [next] = this.#waiting;
      if (next === undefined) {
        this.#left += 1;
        return;
      }
      const [orgId, queue] = next;
      const resolve = queue.shift();
      // To the end of the rotation.
      this.#waiting.delete(orgId);
      if (queue.length > 0) this.#waiting.set(orgId, queue);
      this.#passOnLater();
      resolve?.();
    });
  }
}
