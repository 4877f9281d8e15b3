/** What a signed URL of a port is a signature of. */
export function portSigned(port: number): string {
  return `port ${port}`;
}

/** What a signed URL of a file is a signature of: this method at this path, and nothing else there. */
export function fileSigned(method: "GET" | "PUT", path: string): string {
  return `${method} ${path}`;
}
