// Names of ports, for clients.

/**
 * Browsers and resolvers take each name below it for this machine, and browsers trust it over HTTP as they do
 * others over HTTPS.
 */
export const LOCAL_DOMAIN = "localhost";

const LOCAL_HOST = /^(localhost|127(\.\d{1,3}){3}|::1|\[::1\])(:\d{1,5})?$/i;

/**
 * Whether a client by this name, or a listener at this address, is on this machine: `127.0.0.1:7070`,
 * `localhost`, `[::1]:7070`.
 */
export function isLocal(host: string): boolean {
  return LOCAL_HOST.test(host);
}

/** The name of a port, for clients. `host`: by which the API was asked, whose port it has. */
export function portHostName(domain: string, id: string, port: number, host: string): string {
  const [, ofServer = ""] = /(:\d{1,5})$/.exec(host) ?? [];
  return `${port}-${id.replace("_", "-")}.${domain}${ofServer}`;
}
