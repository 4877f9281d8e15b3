import type { FastifyRequest } from "fastify";
import { SkerryError } from "@skerry/contract/errors";

/** A name or an IPv4 address, or an IPv6 address in brackets, and a port. */
const HOST = /^(?:[a-z0-9_](?:[a-z0-9._-]{0,252})|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/i;

/**
 * How the client reaches us: `https://skerry.example.org`. The host is what the client says it is, or a proxy that the settings name, so it is
 * checked for what else it could be, such as a piece of a script. Throws `bad_request` where it is no host.
 */
export function publicAddress({ protocol, host }: Pick<FastifyRequest, "protocol" | "host">): string {
  if (HOST.test(host) && (protocol === "http" || protocol === "https")) return `${protocol}://${host}`;
  throw new SkerryError(
    "bad_request",
    "The request does not say by which address it came: its `Host` is missing or is none.",
    {
      remediation:
        "Ask for it by the server's name or address, as in `curl http://127.0.0.1:7070/install.sh`.",
      context: { header: "host" },
    },
  );
}
