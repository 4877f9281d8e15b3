// How many there are of each status.

import { Type } from "typebox";

const count = Type.Integer({ minimum: 0 });

/** A field for each status. */
export const countsBy = <Status extends string>(statuses: readonly Status[], description: string) =>
  Type.Object(
    // From entries the names have become strings.
    Object.fromEntries(statuses.map((status) => [status, count])) as Record<Status, typeof count>,
    { description, additionalProperties: false },
  );

/** All statuses but the one in which nothing is left to count, and whose number never ends growing. */
export function countedStatuses<Status extends string>(
  statuses: readonly Status[],
): readonly Exclude<Status, "destroyed">[] {
  return statuses.filter((status): status is Exclude<Status, "destroyed"> => status !== "destroyed");
}

/** These, and nothing of all others. */
export function countsOf<Status extends string>(
  statuses: readonly Status[],
  some: Readonly<Record<string, number>>,
): Record<Status, number> {
  // From entries the names have become strings.
  return Object.fromEntries(statuses.map((status) => [status, some[status] ?? 0])) as Record<Status, number>;
}
