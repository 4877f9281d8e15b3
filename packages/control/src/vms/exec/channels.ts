// Kubernetes' remote-command protocol, `v5.channel.k8s.io`: each binary message begins with the number of its channel.

export const CHANNEL_PROTOCOL = "v5.channel.k8s.io";

export const channels = { stdin: 0, stdout: 1, stderr: 2, status: 3, resize: 4, close: 255 } as const;

/** What a client can ask for. Undefined: nothing that there is. */
export type ClientMessage =
  | { readonly kind: "stdin"; readonly bytes: Buffer }
  | { readonly kind: "end" }
  | { readonly kind: "resize"; readonly cols: number; readonly rows: number };

const NO_CHANNEL = -1;

export function readMessage(message: Buffer): ClientMessage | undefined {
  const payload = message.subarray(1);
  switch (message[0] ?? NO_CHANNEL) {
    case channels.stdin:
      return payload.length === 0 ? undefined : { kind: "stdin", bytes: payload };
    case channels.close:
      return payload[0] === channels.stdin ? { kind: "end" } : undefined;
    case channels.resize:
      return readSize(payload);
    default:
      return undefined;
  }
}

const CELLS_MAX = 65_535;

function readSize(payload: Buffer): ClientMessage | undefined {
  try {
    const { Width: cols, Height: rows } = JSON.parse(payload.toString("utf8")) as Record<string, unknown>;
    return isCells(cols) && isCells(rows) ? { kind: "resize", cols, rows } : undefined;
  } catch {
    return undefined;
  }
}

function isCells(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 1 && Number(value) <= CELLS_MAX;
}

export function message(channel: keyof typeof channels, payload: Buffer): Buffer {
  return Buffer.concat([Buffer.of(channels[channel]), payload]);
}

/** How it ended, as a Kubernetes `Status`. */
export function exitStatus(exitCode: number): object {
  if (exitCode === 0) return { metadata: {}, status: "Success" };
  return {
    metadata: {},
    status: "Failure",
    reason: "NonZeroExitCode",
    message: `command terminated with exit code ${exitCode}`,
    details: { causes: [{ reason: "ExitCode", message: String(exitCode) }] },
  };
}

/** That it did not end, but its connection did. */
export function errorStatus(
  error: { readonly code: string; readonly message: string },
  status: number,
): object {
  return {
    metadata: {},
    status: "Failure",
    reason: "InternalError",
    message: error.message,
    code: status,
    details: { causes: [{ reason: error.code, message: error.message }] },
  };
}
