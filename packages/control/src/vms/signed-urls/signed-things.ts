/** What a signed URL of a port is a signature of. */
export function portSigned(port: number): string {
  return `port ${port}`;
}

/** What a signed URL of a file is a signature of: this method at this absolute path, with this mode, and nothing else there. */
export function fileSigned(method: "GET" | "PUT", path: string, mode?: string): string {
  return mode === undefined ? `${method} ${path}` : `${method} ${mode} ${path}`;
}
