// Where there are no TCP sockets, as in browsers.

import { SkerryInputError } from "../../errors/errors.ts";
import type { ForwardChannel } from "./forward-channel.ts";
import type { ListenOptions, TcpListener } from "./tcp-listener.ts";

export async function listenTcp(_channel: ForwardChannel, _options: ListenOptions): Promise<TcpListener> {
  throw new SkerryInputError(
    "A browser cannot listen on a port.",
    "Forward ports from Node, or use requests to `…/ports/{port}/`.",
  );
}
