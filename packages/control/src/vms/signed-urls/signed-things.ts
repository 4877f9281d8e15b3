/** What a signed URL of a port is a signature of. */
export function portSigned(port: number): string {
  return `port ${port}`;
}
