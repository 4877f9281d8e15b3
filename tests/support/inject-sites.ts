// Servers of the world for tests of secrets that requests get on their way: HTTPS on port 443 of every
// address, in HTTP/1.1 and HTTP/2, files and an echo for requests with the secret, and a name server that leads
// every name of `inject.example` to one address. Prints "ready", then a line of JSON for each request.
// Arguments: the name server's address, the address, and a folder with the authority's key (`authority.key`),
// the secret's values (`values`), and files (`site`).
/* oxlint-disable no-console */

import { createPrivateKey, createPublicKey, generateKeyPairSync } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { readFileSync, statSync } from "node:fs";
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import { join, normalize } from "node:path";
import { createSecureContext, type SecureContext } from "node:tls";
import { leafCertificate } from "@skerry/contract/certificates/x509";
import { answerTo, readQuestion } from "../../packages/host/src/names/dns-message.ts";
import type { Arrival } from "./world.ts";

const [nameServer = "", address = "", folder = ""] = process.argv.slice(2);
const LARGE_BYTES = 100 * 1_000_000;
const privateKey = createPrivateKey(readFileSync(join(folder, "authority.key")));
const authority = { privateKey, publicKey: createPublicKey(privateKey) };
const contexts = new Map<string, SecureContext>();

function contextOf(name: string): SecureContext {
  const known = contexts.get(name);
  if (known !== undefined) return known;
  const pair = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const cert = leafCertificate(authority, {
    ...{ issuer: "test sites", subject: name, name: { dns: name }, publicKey: pair.publicKey },
    ...{ purposes: ["server"], until: new Date(Date.now() + 86_400_000) },
  });
  const context = createSecureContext({
    key: pair.privateKey.export({ type: "pkcs8", format: "pem" }),
    cert,
  });
  contexts.set(name, context);
  return context;
}

/** Values that count now, read anew for each request. */
const values = (): string[] => readFileSync(join(folder, "values"), "utf8").split("\n");

function answer(request: Http2ServerRequest, response: Http2ServerResponse): void {
  const { authorization = "" } = request.headers;
  const name = request.headers.host ?? request.authority;
  const text = `${request.httpVersion} ${request.method} ${name}${request.url} ${authorization}`;
  const { localAddress = "", localPort = 0, remoteAddress = "" } = request.socket;
  console.log(
    JSON.stringify({
      ...{ protocol: "tcp", from: remoteAddress, to: localAddress, port: localPort, text },
    } satisfies Arrival),
  );
  request.resume();
  const known = values().some((value) =>
    [`Bearer ${value}`, `Basic ${Buffer.from(`x-token:${value}`).toString("base64")}`].includes(
      authorization,
    ),
  );
  if (request.url.startsWith("/large")) return void response.end(Buffer.alloc(LARGE_BYTES, "large"));
  if (request.url.startsWith("/echo")) return void response.end(`${known} ${authorization}\n`);
  if (!known) return void response.writeHead(401, { "www-authenticate": "Basic" }).end();
  serve(request.url, response);
}

function serve(url: string, response: Http2ServerResponse): void {
  const [path = "/"] = url.split("?");
  const file = join(folder, "site", normalize(path));
  try {
    const isFolder = statSync(file).isDirectory();
    const content = readFileSync(isFolder ? join(file, "index.html") : file);
    response.writeHead(200, { "content-type": isFolder ? "text/html" : "application/octet-stream" });
    response.end(content);
  } catch {
    response.writeHead(404).end();
  }
}

const sites = createSecureServer(
  { allowHTTP1: true, SNICallback: (name, done) => done(null, contextOf(name)) },
  answer,
);
sites.on("sessionError", () => undefined);

const names = createSocket("udp4");
names.on("message", (query, peer) => {
  const question = readQuestion(query);
  if (question === undefined) return;
  const isKnown = question.name.endsWith(".inject.example");
  const found = isKnown ? { addresses: [address], ttlS: 60 } : undefined;
  names.send(answerTo(question, isKnown ? 0 : 3, found), peer.port, peer.address);
});

sites.listen(443, "0.0.0.0");
names.bind(53, nameServer);
await Promise.all([sites, names].map((server) => once(server, "listening")));
console.log("ready");
