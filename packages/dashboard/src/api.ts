// The one way to the world: the client that other programs use. The browser sends the session's cookie by itself.

import { Skerry } from "@skerry/sdk";

export const skerry = new Skerry({ baseUrl: location.origin, token: null });
