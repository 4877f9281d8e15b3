// A port of this machine that leads to one of a microVM.

import { ForwardChannel } from "./forward-channel.ts";
import type { CallOptions, HttpClient } from "../../http/http.ts";
import type { TcpListener } from "./tcp-listener.ts";
import { listenTcp } from "#listen-tcp";

export interface ForwardOptions extends CallOptions {
  /** Where to listen, 0 to 65535; 0: any port that is free. Default: the port of the guest. */
  readonly localPort?: number | undefined;
  /** Address to listen on. Default: `127.0.0.1`. Any other lets other machines in, without a token. */
  readonly localAddress?: string | undefined;
  /** Told why a connection did not come about or was cut off, such as `port_not_listening`. The forward goes on. */
  readonly onConnectionError?: ((error: unknown) => void) | undefined;
}

/** It lasts as long as its VM, which it does not extend, and no longer than this process. */
export class Forward implements AsyncDisposable {
  /** Rejects when the VM has ended for good, or the token may not go on; resolves after `close`. */
  readonly closed: Promise<void>;
  readonly #listener: TcpListener;
  readonly #close: () => Promise<void>;

  /** Use `forward()` of a sandbox or a machine. */
  constructor(listener: TcpListener, closed: Promise<void>, close: () => Promise<void>) {
    this.#listener = listener;
    this.closed = closed;
    this.#close = close;
  }

  /** Where it listens. */
  get localAddress(): string {
    return this.#listener.address;
  }

  get localPort(): number {
    return this.#listener.port;
  }

  /** Ends it with all its connections. */
  close(): Promise<void> {
    return this.#close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#close();
  }
}

/** `path`: of the VM in the API. */
export async function openForward(
  http: HttpClient,
  path: string,
  port: number,
  { localPort = port, localAddress = "127.0.0.1", signal, onConnectionError }: ForwardOptions,
): Promise<Forward> {
  signal?.throwIfAborted();
  let over = (_error: unknown): void => undefined;
  let finished = (): void => undefined;
  const closed = new Promise<void>((resolve, reject) => {
    finished = resolve;
    over = reject;
  });
  const channel = new ForwardChannel(http, { path, port }, (error) => over(error));
  await channel.connect();
  const listener = await listenTcp(channel, {
    ...{ port: localPort, address: localAddress },
    onConnectionError: (error) => onConnectionError?.(error),
  }).catch((error: unknown) => {
    channel.close();
    throw error;
  });
  const close = async (): Promise<void> => {
    signal?.removeEventListener("abort", onAbort);
    channel.close();
    await listener.close();
    finished();
  };
  const onAbort = (): void => void close();
  closed.catch(onAbort);
  signal?.addEventListener("abort", onAbort, { once: true });
  return new Forward(listener, closed, close);
}
