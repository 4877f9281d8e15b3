// What a connection failed with, in words for people: the system and the TLS library name calls, constants and lines of their own source.

const words: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing accepts connections there",
  ECONNRESET: "the connection was cut off",
  EPIPE: "the connection was cut off",
  UND_ERR_SOCKET: "the connection was cut off",
  ENOTFOUND: "there is no machine of this name",
  EAI_AGAIN: "its name cannot be looked up now",
  ETIMEDOUT: "it did not answer",
  UND_ERR_CONNECT_TIMEOUT: "it did not answer",
  EHOSTUNREACH: "no way leads there",
  ENETUNREACH: "no way leads there",
  EACCES: "this machine does not allow the connection",
  ERR_SSL_WRONG_VERSION_NUMBER: "no HTTPS is spoken there; the address may need http://",
  ERR_SSL_PACKET_LENGTH_TOO_LONG: "no HTTPS is spoken there; the address may need http://",
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: "the two sides have no version of TLS in common",
  HPE_INVALID_CONSTANT: "no HTTP is spoken there; the address may need https://",
  DEPTH_ZERO_SELF_SIGNED_CERT: "its certificate is by an authority that is not trusted here",
  SELF_SIGNED_CERT_IN_CHAIN: "its certificate is by an authority that is not trusted here",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "its certificate is by an authority that is not trusted here",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "its certificate is by an authority that is not trusted here",
  CERT_HAS_EXPIRED: "its certificate has expired",
  CERT_NOT_YET_VALID: "its certificate is not valid yet",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another name",
};

/** Why `fetch` failed, as far as it says. */
export function rootMessage(error: Error): string {
  const { cause } = error;
  if (!(cause instanceof Error)) return error.message;
  // Node joins the failures of several addresses (::1 and 127.0.0.1) in an error without a message of its own.
  const root = cause instanceof AggregateError && cause.errors[0] instanceof Error ? cause.errors[0] : cause;
  const { code } = root as NodeError;
  if (code !== undefined && Object.hasOwn(words, code)) return words[code] ?? code;
  return root.message === "" ? error.message : root.message;
}

type NodeError = Error & { readonly code?: string };
