// Servers of this machine in the place of guests behind the proxy of apps.

import { createServer, request, type IncomingMessage, type Server } from "node:http";
import { createServer as createTcpServer, type AddressInfo, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { EdgeInstance } from "@skerry/contract/host-api/edge";

const servers: Server[] = [];

export function endInstances(): void {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
}

export async function freePort(): Promise<number> {
  const server = createTcpServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/**
 * Answers its name, what it was asked, and how many requests it had when it came; `slow` after 600 ms, and
 * upgrades with an echo.
 */
export async function instance(vm: string): Promise<EdgeInstance> {
  let atOnce = 0;
  const server = createServer((asked, answer) => {
    atOnce += 1;
    const text = JSON.stringify({ vm, url: asked.url, headers: asked.headers, at_once: atOnce });
    const say = () => {
      atOnce -= 1;
      answer.end(text);
    };
    asked.resume().once("end", () => void setTimeout(say, asked.url?.endsWith("/slow") === true ? 600 : 0));
  });
  server.on("upgrade", (_asked, socket) => {
    socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n");
    socket.on("error", () => socket.destroy());
    socket.pipe(socket);
  });
  server.keepAliveTimeout = 60_000;
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { vm, execution_id: "exe_1", port: (server.address() as AddressInfo).port, state: "serving" };
}

/** A connection through the proxy that has become something other than HTTP. */
export async function upgraded(listen: string, host: string) {
  const [name, port] = listen.split(":");
  const headers = { host, connection: "upgrade", upgrade: "echo" };
  const call = request({ host: name, port, headers, agent: false }).end();
  const [, socket] = await new Promise<[IncomingMessage, Socket]>((resolve, reject) => {
    call.once("upgrade", (answer, opened) => resolve([answer, opened as Socket]));
    call.once("error", reject);
  });
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  socket.on("error", () => undefined);
  const echo = async (said: string) => {
    socket.write(said);
    return new Promise<string>((resolve) => socket.once("data", (data) => resolve(String(data))));
  };
  return { closed, echo };
}

export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await holds()); tries += 1) {
    if (tries === 200) throw new Error(`it never came true that ${what}`);
    await sleep(50);
  }
}
