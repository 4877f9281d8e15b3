// Repetitions that a log is spared, of a failure that comes again and again, such as an image that cannot be
// made, or a host that is away: the first one has its stack, and the others are counted.

/** A line of those that came since the last one. */
const COUNTED_EVERY_MS = 10 * 60_000;
/** A failure that has not come for so long has its stack again. */
const FORGOTTEN_AFTER_MS = 60 * 60_000;
/** The one that was told longest ago is forgotten first. */
const KNOWN_MAX = 1_000;

interface Known {
  toldMs: number;
  lastMs: number;
  /** Since it was told. */
  more: number;
}

interface Logging {
  bindings(): object;
}

type Write = (...args: never[]) => void;

/**
 * A hook of pino (`logMethod`). Two failures are the same where message, fields and the child logger are, and
 * where the errors differ in paths and  numbers alone: names of temporary folders, ids of processes.
 */
export function countingRepeats(
  nowMs: () => number = () => performance.now(),
): (this: Logging, args: unknown[], write: Write) => void {
  const known = new Map<string, Known>();
  return function logMethod(this: Logging, args, write) {
    const [fields, message] = args;
    const error = errorOf(fields);
    if (error === undefined) return Reflect.apply(write, this, args);
    const at = nowMs();
    const key = keyOf(this, fields as object, { error, message });
    const before = known.get(key);
    if (before === undefined || at - before.lastMs > FORGOTTEN_AFTER_MS) {
      known.delete(key);
      forgetOldest(known);
      known.set(key, { toldMs: at, lastMs: at, more: 0 });
      return Reflect.apply(write, this, args);
    }
    before.lastMs = at;
    before.more += 1;
    if (at - before.toldMs < COUNTED_EVERY_MS) return;
    const counted = { ...(fields as object), err: undefined, reason: error.message, times: before.more };
    before.toldMs = at;
    before.more = 0;
    return Reflect.apply(write, this, [counted, message]);
  };
}

function errorOf(fields: unknown): Error | undefined {
  if (typeof fields !== "object" || fields === null || !("err" in fields)) return undefined;
  return fields.err instanceof Error ? fields.err : undefined;
}

function keyOf(
  logger: Logging,
  fields: object,
  { error, message }: { readonly error: Error; readonly message: unknown },
): string {
  const what = `${error.name} ${error.message}`
    .replaceAll(/(?:\/[^\s'":,]+)+/g, "/")
    .replaceAll(/\w*\d\w*/g, "#");
  return JSON.stringify([message, logger.bindings(), { ...fields, err: undefined }, what]);
}

function forgetOldest(known: Map<string, Known>): void {
  if (known.size < KNOWN_MAX) return;
  const [oldest] = known.keys();
  if (oldest !== undefined) known.delete(oldest);
}
