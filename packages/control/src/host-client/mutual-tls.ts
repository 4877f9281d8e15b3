// Connections to hosts on other machines: TLS 1.3, both sides with certificates of the cluster's authority and of no other. Who answers
// must be the host that was meant: address and name do not matter.

import { peerNamed } from "@skerry/contract/joining/host-certificate";
import { buildConnector } from "undici";

/** Control's certificate and key, and the authority that hosts must have been certified by; all PEM. */
export interface ControlCredentials {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** A certified host answers at the address, but it is another one. */
export class WrongHostError extends Error {
  override readonly name = "WrongHostError";
}

/** Connects to this host only. Credentials are asked for with each connection, so that a renewal needs nothing more. */
export function mutualTlsConnector(
  hostId: string,
  credentials: () => Promise<ControlCredentials>,
  connectWithinMs: number,
): buildConnector.connector {
  const connectorNow = async () =>
    buildConnector({
      ...(await credentials()),
      minVersion: "TLSv1.3",
      timeout: connectWithinMs,
      // A resumed session would not be checked again.
      maxCachedSessions: 0,
      checkServerIdentity: (_name, { subjectaltname }) => refusalOf(hostId, subjectaltname),
    });
  // Out of the promise: what throws in the callback is not the connector's failure.
  return (options, callback) =>
    void connectorNow().then(
      (connect) => setImmediate(() => connect(options, callback)),
      (error: Error) => setImmediate(() => callback(error, null)),
    );
}

function refusalOf(hostId: string, names: string | undefined): WrongHostError | undefined {
  const peer = peerNamed(names);
  if (peer?.role === "host" && peer.id === hostId) return undefined;
  return new WrongHostError(`${names ?? "a peer without a name"} answers where ${hostId} should be`);
}
