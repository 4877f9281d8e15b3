// Servers of the world for tests of egress by name: sites on ports 80 and 443 of every address, and a name server. Prints "ready", then a
// line of JSON for each thing that arrives. Arguments: the name server's address, and a file with the names, as JSON of lists of addresses,
// which is read anew for each query.
/* oxlint-disable no-console */

import { createSocket } from "node:dgram";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createServer, type Socket } from "node:net";
import { readClientHello } from "../../packages/host/src/names/client-hello.ts";
import type { Arrival } from "./world.ts";

const [nameServer = "", namesFile = ""] = process.argv.slice(2);

function tell(
  protocol: Arrival["protocol"],
  { localAddress, localPort, remoteAddress }: Socket,
  text: string,
) {
  const arrival: Arrival = {
    protocol,
    from: remoteAddress ?? "",
    to: localAddress ?? "",
    port: localPort ?? 0,
    text,
  };
  console.log(JSON.stringify(arrival));
}

const web = createHttpServer((request, response) => {
  tell("tcp", request.socket, request.headers.host ?? "");
  response.end(`[${request.socket.localAddress} ${request.headers.host}]`);
});

/** Says in plain text which server name it was asked for, and then what else it hears. */
const tls = createServer((client) => {
  client.on("error", () => client.destroy());
  client.once("data", (bytes: Buffer) => {
    const hello = readClientHello(bytes);
    const name = hello.kind === "name" ? hello.name : hello.kind;
    tell("tcp", client, name);
    client.write(`[${client.localAddress} ${name}]`);
    client.pipe(client);
  });
});

const names = createSocket("udp4");
names.on("message", (query, peer) => {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  const name = labels.join(".").toLowerCase();
  console.log(
    JSON.stringify({
      protocol: "dns",
      from: peer.address,
      to: nameServer,
      port: 53,
      text: name,
    } satisfies Arrival),
  );
  const known = (JSON.parse(readFileSync(namesFile, "utf8")) as Record<string, string[]>)[name];
  const addresses = query.readUInt16BE(at + 1) === 1 ? (known ?? []) : [];
  const flags = known === undefined ? [0x81, 0x83] : [0x81, 0x80];
  const records = addresses.map((address) =>
    Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split(".").map(Number)]),
  );
  const head = Buffer.from([...query.subarray(0, 2), ...flags, 0, 1, 0, addresses.length, 0, 0, 0, 0]);
  names.send(Buffer.concat([head, query.subarray(12, at + 5), ...records]), peer.port, peer.address);
});

web.listen(80, "0.0.0.0");
tls.listen(443, "0.0.0.0");
names.bind(53, nameServer);
await Promise.all([web, tls, names].map((server) => once(server, "listening")));
console.log("ready");
