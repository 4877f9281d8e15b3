// Places that a service has for work that lasts, such as builds and copies, shared between organizations.

/**
 * Whether an organization may have one more of the `places`, where those of `holders` are taken, each an organization's id. It has at most as many as
 * are then still free: half of all where it is alone, a quarter where another has half, and one in any case. So what one asks for never keeps another
 * one waiting for a place.
 */
export function hasRoomFor(orgId: string, holders: readonly string[], places: number): boolean {
  const held = holders.filter((holder) => holder === orgId).length + 1;
  const free = places - holders.length - 1;
  return free >= 0 && (held === 1 || held <= free);
}
