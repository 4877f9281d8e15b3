// Node's half of a forward: connections of this machine, each led to one of the guest. `no-listen-tcp.ts` is that of browsers.

import { createServer, type AddressInfo, type Socket } from "node:net";
import { SkerryInputError } from "../../errors/errors.ts";
import type { ForwardChannel, ForwardPeer, ForwardStream } from "./forward-channel.ts";
import type { ListenOptions, TcpListener } from "./tcp-listener.ts";

/** Throws `SkerryInputError` where it cannot listen. */
export async function listenTcp(channel: ForwardChannel, options: ListenOptions): Promise<TcpListener> {
  const { address, port, onConnectionError } = options;
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined); // "close" follows
    socket.once("close", () => sockets.delete(socket));
    void lead(socket, channel, onConnectionError);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => reject(cannotListen(options, error)));
    server.listen({ host: address, port }, resolve);
  });
  // Out of descriptors, for a moment: what came then is refused, and the next may come.
  server.on("error", onConnectionError);
  const at = server.address() as AddressInfo;
  return {
    address: at.address,
    port: at.port,
    close: () =>
      new Promise((resolve) => {
        // Nobody is to take what has come so far for all of it.
        for (const socket of sockets) socket.resetAndDestroy();
        server.close(() => resolve());
      }),
  };
}

async function lead(
  socket: Socket,
  channel: ForwardChannel,
  onConnectionError: (error: unknown) => void,
): Promise<void> {
  let stream: ForwardStream;
  try {
    stream = await channel.open(peerOf(socket, onConnectionError));
  } catch (error) {
    socket.resetAndDestroy();
    return onConnectionError(error);
  }
  socket.once("close", () => stream.reset());
  try {
    for await (const chunk of socket.iterator({ destroyOnReturn: false }))
      await stream.write(chunk as Buffer);
    if (!socket.errored) stream.end();
  } catch {
    // It broke off: "close" follows, or was there already.
  }
}

function peerOf(socket: Socket, onConnectionError: (error: unknown) => void): ForwardPeer {
  return {
    opened: () => undefined,
    data: (bytes, taken) => {
      if (!socket.destroyed) socket.write(bytes, () => taken());
    },
    end: () => void socket.end(),
    reset: (error) => {
      socket.resetAndDestroy();
      if (error !== undefined) onConnectionError(error);
    },
  };
}

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: "another program listens there",
  EACCES: "only root may listen there",
  EADDRNOTAVAIL: "this machine does not have the address",
  ENOTFOUND: "this machine does not have the address",
};

function cannotListen({ address, port }: ListenOptions, { code = "", message }: NodeJS.ErrnoException) {
  return new SkerryInputError(
    `Cannot listen on ${address}, port ${port}: ${reasons[code] ?? message}.`,
    "Give another local port; with 0 it is any that is free.",
    "cannot_listen",
  );
}
