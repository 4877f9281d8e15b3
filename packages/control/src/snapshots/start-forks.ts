// Forks of one VM are made in order and started a few at a time.

/** So many at a time: each is a QEMU that starts. */
const STARTS = 8;

/** Resolves when all run. Rejects with the first failure, and when no start is under way any more. */
export async function startForks<Fork>(
  forks: readonly Fork[],
  start: (fork: Fork) => Promise<unknown>,
): Promise<void> {
  const waiting = [...forks];
  let failure: unknown;
  const work = async (): Promise<void> => {
    for (let fork = waiting.shift(); fork !== undefined && failure === undefined; fork = waiting.shift()) {
      try {
        await start(fork);
      } catch (error) {
        failure ??= error;
      }
    }
  };
  await Promise.all(Array.from({ length: STARTS }, work));
  if (failure !== undefined) throw failure;
}

/** For statements of one transaction. */
export async function inTurn<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const item of items) results.push(await work(item));
  return results;
}
