// TCP connections to one port of a VM over one WebSocket, as clients and control speak it. Each binary message is a frame:
//
//   u8 type · u32 stream (little-endian) · payload
//
// The client opens streams, each a connection; their numbers rise from 1, and none is used twice. OPEN is answered with OPENED when the guest
// has accepted, or with RESET. DATA costs credit: each side may send WINDOW_BYTES per stream, and more only as WINDOW frames (u32) grant
// it, so that a connection that is not read holds up no other. END is the end of one direction, RESET of both at once; control's has an
// ErrorBody as JSON. A RESET of stream 0 is the end of all: control closes the WebSocket after it.
//
// No schema library in here, and nothing of Node's: clients have it too.

/** Subprotocol of the WebSocket. */
export const FORWARD_PROTOCOL = "v1.forward.skerry";

export const forwardTypes = { open: 1, opened: 2, data: 3, window: 4, end: 5, reset: 6 } as const;

export type ForwardType = keyof typeof forwardTypes;

/** Credit that each side of a stream begins with, in bytes. */
export const FORWARD_WINDOW_BYTES = 256 * 1024;
/** Of one frame. */
export const FORWARD_DATA_MAX_BYTES = 64 * 1024;
/** Connections of one WebSocket at once. */
export const FORWARD_STREAMS_MAX = 128;
/** Of no stream: what is said of all. */
export const ALL_STREAMS = 0;

const HEAD_BYTES = 5;
const WINDOW_PAYLOAD_BYTES = 4;

export interface ForwardFrame {
  readonly type: ForwardType;
  readonly stream: number;
  /** May share memory with the message. */
  readonly payload: Uint8Array;
}

export function forwardMessage(
  type: ForwardType,
  stream: number,
  payload: Uint8Array = EMPTY,
): Uint8Array<ArrayBuffer> {
  const message = new Uint8Array(HEAD_BYTES + payload.length);
  message[0] = forwardTypes[type];
  new DataView(message.buffer).setUint32(1, stream, true);
  message.set(payload, HEAD_BYTES);
  return message;
}

/** Grants the peer so many bytes more. */
export function windowMessage(stream: number, bytes: number): Uint8Array<ArrayBuffer> {
  const payload = new Uint8Array(WINDOW_PAYLOAD_BYTES);
  new DataView(payload.buffer).setUint32(0, bytes, true);
  return forwardMessage("window", stream, payload);
}

/** Undefined where the message is no frame. */
export function readForwardFrame(message: Uint8Array): ForwardFrame | undefined {
  const type = typeNames[message[0] ?? 0];
  if (type === undefined || message.length < HEAD_BYTES) return undefined;
  const payload = message.subarray(HEAD_BYTES);
  if (payload.length > FORWARD_DATA_MAX_BYTES) return undefined;
  return { type, stream: viewOf(message).getUint32(1, true), payload };
}

/** What a WINDOW grants, in bytes. Undefined where it is none. */
export function grantOf({ payload }: ForwardFrame): number | undefined {
  return payload.length === WINDOW_PAYLOAD_BYTES ? viewOf(payload).getUint32(0, true) : undefined;
}

const EMPTY = new Uint8Array(0);
const typeNames: readonly (ForwardType | undefined)[] = [
  undefined,
  ...(Object.keys(forwardTypes) as ForwardType[]),
];

function viewOf({ buffer, byteOffset, length }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, length);
}
