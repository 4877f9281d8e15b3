// Bytes on a socket, for requests that no client library sends.

import { connect, type AddressInfo, type Socket } from "node:net";
import type { Server } from "../../src/app/server.ts";

export interface RawAnswer {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

export function open(server: Server): Socket {
  const { port } = server.app.server.address() as AddressInfo;
  return connect(port, "127.0.0.1").on("error", () => undefined);
}

/** All answers until the server closes the connection. Whoever wants it closed says so in the last request. */
export async function send(server: Server, ...parts: readonly (string | Buffer)[]): Promise<RawAnswer[]> {
  const socket = open(server);
  const chunks: Buffer[] = [];
  socket.on("data", (chunk) => chunks.push(chunk));
  for (const part of parts) socket.write(part);
  await new Promise((resolve) => socket.once("close", resolve));
  return answersOf(Buffer.concat(chunks).toString("latin1"));
}

/** Reads answers with a `Content-Length`, which all of ours have that are not streams. */
export function answersOf(text: string): RawAnswer[] {
  const answers: RawAnswer[] = [];
  for (let rest = text; rest !== "";) {
    const end = rest.indexOf("\r\n\r\n");
    if (end < 0) throw new Error(`no whole head: ${rest.slice(0, 200)}`);
    const head = rest.slice(0, end);
    const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0);
    answers.push({
      status: Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1]),
      head,
      body: rest.slice(end + 4, end + 4 + length),
    });
    rest = rest.slice(end + 4 + length);
  }
  return answers;
}
