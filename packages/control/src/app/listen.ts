import { once } from "node:events";
import type { Server } from "node:net";
import type { FastifyInstance } from "fastify";
import type { Config } from "./config.ts";

/** The address of the settings cannot be listened on; the message says why, and which setting to change. */
export class ListenError extends Error {
  override readonly name = "ListenError";
}

export function listen(app: FastifyInstance, address: Config["listen"]): Promise<void> {
  return explained("SKERRY_LISTEN", address, () => app.listen(address));
}

/** For the servers beside the framework's own. */
export function listenBeside(setting: string, server: Server, address: Config["listen"]): Promise<void> {
  return explained(setting, address, () => {
    server.listen(address.port, address.host);
    return once(server, "listening");
  });
}

async function explained(
  setting: string,
  { host, port }: Config["listen"],
  work: () => Promise<unknown>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    const code = String((error as { code?: unknown }).code);
    const address = host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
    throw new ListenError(
      `Cannot listen on ${address}: ${reasons[code] ?? code}. Set ${setting} to an address and a port that are free.`,
      { cause: error },
    );
  }
}

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: "the address is already in use",
  EADDRNOTAVAIL: "this machine does not have the address",
  EACCES: "this user may not use the port",
  ENOTFOUND: "the name has no address",
  EAI_AGAIN: "the name has no address for now",
};
