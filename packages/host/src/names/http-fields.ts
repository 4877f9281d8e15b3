// Which fields of a request or an answer pass the HTTP door. Pure. Those of one connection only (RFC 9110 section 7.6.1) do not.

const OF_A_CONNECTION = new Set([
  ...[
    "connection",
    "keep-alive",
    "proxy-connection",
    "proxy-authorization",
    "te",
    "upgrade",
    "http2-settings",
  ],
  // Answered here before the body is read.
  "expect",
]);

/** Names and values by turns, as node has them. */
export function forwardedFields(raw: readonly string[]): string[] {
  const pairs = raw.flatMap((name, index) =>
    index % 2 === 0 ? [[name, raw[index + 1] ?? ""] as const] : [],
  );
  const named = pairs
    .filter(([name]) => name.toLowerCase() === "connection")
    .flatMap(([, value]) => value.split(",").map((word) => word.trim().toLowerCase()))
    // Who asks for these to be dropped wants another request to be read than the one that was decided.
    .filter((name) => !["host", "content-length", "transfer-encoding"].includes(name));
  const dropped = new Set([...OF_A_CONNECTION, ...named]);
  return pairs.flatMap(([name, value]) => (dropped.has(name.toLowerCase()) ? [] : [name, value]));
}
