/** Waits until all of it has ended, also when one part fails: its resources must not be released while
 *  another part still uses them. */
export async function settled(work: readonly Promise<unknown>[]): Promise<void> {
  await Promise.allSettled(work);
  await Promise.all(work);
}
