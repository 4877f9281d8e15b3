// Whether a version of control may serve with a database that a newer one has migrated.

export interface AppliedMigration {
  readonly number: number;
  /** A version serves beside this migration without knowing it if it knows all up to this number; null: no version does. */
  readonly serves_with: number | null;
}

/** What a version knows. */
export interface KnownMigrations {
  readonly known: readonly number[];
  readonly newest: number;
}

/** One sentence; undefined where it may. */
export function whyCannotServe(
  applied: readonly AppliedMigration[],
  { known, newest }: KnownMigrations,
): string | undefined {
  const barred = applied.filter(
    ({ number, serves_with }) => !known.includes(number) && (serves_with === null || serves_with > newest),
  );
  if (barred.length === 0) return undefined;
  const numbers = barred.map(({ number }) => number).join(", ");
  return `The database has migration ${numbers}, which this version of Skerry does not know and is too old to serve beside. Start the newer version, or restore a backup from before it.`;
}

export function newestOf(known: readonly number[]): number {
  return Math.max(0, ...known);
}
