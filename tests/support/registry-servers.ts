// Registries of the world for tests of images: Debian's docker-registry with a login, and one of our own that asks for a token, or does what a
// hostile one may. Prints "ready", then a line of JSON for each connection to a private address. The argument is a folder with key.pem, cert.pem
// and htpasswd.
/* oxlint-disable no-console */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer as createPlain } from "node:http";
import { createServer, request as send } from "node:https";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Arrival } from "./world.ts";
import { busyboxImage, MANIFEST_TYPE, type Blob } from "./test-image.ts";

const [folder = ""] = process.argv.slice(2);
const ADDRESS = "203.0.113.20";
const LOGIN = readFileSync(join(folder, "login"), "utf8");
const basic = `Basic ${Buffer.from(LOGIN).toString("base64")}`;
const TOKEN = "a-token-of-the-test";
const tls = { key: readFileSync(join(folder, "key.pem")), cert: readFileSync(join(folder, "cert.pem")) };
const image = busyboxImage("pulled\n");
const blobs = new Map([image.layer, image.config].map((blob) => [blob.digest, blob.bytes]));

/** By the name of a repository, what is done instead of sending the layer. */
const attacks: Readonly<Record<string, (response: ServerResponse) => void>> = {
  lies: (response) => void response.end(Buffer.alloc(image.layer.bytes.length, "x")),
  redirects: (response) => void response.writeHead(307, { location: "http://10.77.0.5/layer" }).end(),
  hangs: () => undefined,
  floods: (response) => flood(response),
};

function flood(response: ServerResponse): void {
  const chunk = Buffer.alloc(1 << 16);
  response.on("error", () => undefined);
  const more = (): void => {
    while (!response.destroyed && response.write(chunk));
    if (!response.destroyed) response.once("drain", more);
  };
  more();
}

function answer(request: IncomingMessage, response: ServerResponse): void {
  const { authorization } = request.headers;
  const url = request.url ?? "";
  if (url.startsWith("/token")) {
    if (authorization !== basic) return void response.writeHead(401).end();
    return void response.end(JSON.stringify({ token: TOKEN }));
  }
  if (authorization === `Bearer ${TOKEN}`) return serve(url, response);
  const realm = `Bearer realm="https://${ADDRESS}:5001/token",service="test"`;
  response.writeHead(401, { "www-authenticate": realm }).end();
}

function serve(url: string, response: ServerResponse): void {
  const [, repository = "", kind, reference = ""] =
    /^\/v2\/([a-z]+)\/(manifests|blobs)\/(.*)$/.exec(url) ?? [];
  if (repository === "") return void response.end("{}");
  if (kind === "manifests") return sendManifest(response);
  const attack = attacks[repository];
  if (attack !== undefined && reference === image.layer.digest) return attack(response);
  const bytes = blobs.get(reference);
  if (bytes === undefined) return void response.writeHead(404).end();
  response.end(bytes);
}

function sendManifest(response: ServerResponse): void {
  const { digest, bytes } = image.manifest;
  response.setHeader("content-type", MANIFEST_TYPE).setHeader("docker-content-digest", digest);
  response.end(bytes);
}

/** Puts the image into the registry that asks for a name and a password. */
async function fill(): Promise<void> {
  for (const blob of [image.layer, image.config]) {
    const { location } = await put("POST", "/v2/team/app/blobs/uploads/", Buffer.of());
    const { pathname, search } = new URL(location ?? "", `https://${ADDRESS}:5000`);
    await put("PUT", `${pathname}${search}&digest=${blob.digest}`, blob.bytes);
  }
  await put("PUT", "/v2/team/app/manifests/1", image.manifest.bytes, MANIFEST_TYPE);
}

async function put(
  method: string,
  path: string,
  body: Blob["bytes"],
  type = "application/octet-stream",
): Promise<{ readonly location: string | undefined }> {
  const headers = { authorization: basic, "content-type": type, "content-length": body.length };
  const call = send({ host: ADDRESS, port: 5000, method, path, headers, rejectUnauthorized: false });
  call.end(body);
  const [response] = (await once(call, "response")) as [IncomingMessage];
  response.resume();
  if ((response.statusCode ?? 500) >= 300) throw new Error(`${method} ${path}: ${response.statusCode}`);
  return { location: response.headers.location };
}

const settings = join(folder, "registry.yml");
writeFileSync(
  settings,
  `version: 0.1
log: {level: error, accesslog: {disabled: true}}
storage: {filesystem: {rootdirectory: ${folder}/data}}
auth: {htpasswd: {realm: test, path: ${folder}/htpasswd}}
http: {addr: "${ADDRESS}:5000", secret: test, tls: {certificate: ${folder}/cert.pem, key: ${folder}/key.pem}}
`,
);
spawn("docker-registry", ["serve", settings], { stdio: "ignore" });
const privateWeb = createPlain((request, response) => {
  const { localAddress = "", remoteAddress = "" } = request.socket;
  const arrival: Arrival = { protocol: "tcp", from: remoteAddress, to: localAddress, port: 80, text: "" };
  console.log(JSON.stringify(arrival));
  response.end(image.layer.bytes);
});
privateWeb.listen(80, "10.77.0.5");
createServer(tls, answer).listen(5001, ADDRESS);
for (let tries = 0; ; tries += 1) {
  try {
    await fill();
    break;
  } catch (error) {
    if (tries > 100) throw error;
    await sleep(100);
  }
}
console.log("ready");
