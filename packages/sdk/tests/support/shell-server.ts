import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { WebSocketServer } from "ws";
import { sendJson } from "./scripted-server.ts";

/** A server at which a command is started, and whose terminal says hello and ends with 7. */
export async function shellServer() {
  const execution = { id: "exe_01kb3x5w7y9zt5c7r2m8n4p6w1", kept_from: 0, position: 0 };
  const server = createServer((request, response) => {
    request.resume().once("end", () => sendJson(response, 201, execution));
  });
  const offered: string[] = [];
  const sockets = new WebSocketServer({ server, handleProtocols: () => "v5.channel.k8s.io" });
  sockets.on("connection", (socket, request) => {
    offered.push(String(request.headers["sec-websocket-protocol"]));
    socket.send(Buffer.from("\x01hello\n", "latin1"));
    const causes = [{ reason: "ExitCode", message: "7" }];
    socket.send(Buffer.from(`\x03${JSON.stringify({ status: "Failure", details: { causes } })}`, "latin1"));
    socket.close();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    offered,
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
