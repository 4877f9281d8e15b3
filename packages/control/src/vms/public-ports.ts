/** In the place of a port: all of them are public. */
export const EVERY_PORT = 0;

export function isPublicPort(open: readonly number[], port: number): boolean {
  return open.includes(EVERY_PORT) || open.includes(port);
}
