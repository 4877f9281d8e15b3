/** The name of a port, for clients. `host`: by which the API was asked, whose port it has. */
export function portHostName(domain: string, id: string, port: number, host: string): string {
  const [, ofServer = ""] = /(:\d{1,5})$/.exec(host) ?? [];
  return `${port}-${id.replace("_", "-")}.${domain}${ofServer}`;
}
