/* oxlint-disable no-console */
// Sites and a name server for the tests of egress by name. Prints "ready", then a JSON line for what arrives; reads a JSON line of names and
// their addresses from stdin, and prints "known". Arguments: name server's address and port, a folder with cert.pem and key.pem, sites.
const { createServer } = require("node:http");
const { createServer: createStreams } = require("node:net");
const tls = require("node:tls");
const { createSocket } = require("node:dgram");
const { readFileSync } = require("node:fs");
const { createInterface } = require("node:readline");
const [server, port, folder, ...sites] = process.argv.slice(2);
const tell = (line) => console.log(JSON.stringify(line));
const credentials = { cert: readFileSync(`${folder}/cert.pem`), key: readFileSync(`${folder}/key.pem`) };
let names = {};
let left = sites.length * 4 + 2;
/** Neither HTTP nor TLS: what comes goes back. */
const ECHO_PORT = 2222;
const ready = () => {
  left -= 1;
  if (left === 0) console.log("ready");
};
for (const site of sites) {
  const http = createServer((request, response) => {
    tell({ site, http: request.headers.host, url: request.url });
    const raw = /^\/raw\/(.*)$/.exec(request.url)?.[1];
    if (raw !== undefined) return void request.socket.end(Buffer.from(raw, "base64url"));
    const bytes = Number(/^\/bytes\/(\d+)$/.exec(request.url)?.[1] ?? 0);
    const text = bytes > 0 ? Buffer.alloc(bytes, "x") : `${site} ${request.headers.host}\n`;
    request.resume().once("end", () => response.end(text));
  });
  http.on("upgrade", (request, socket) => {
    tell({ site, upgrade: request.headers.host });
    const raw = /^\/raw\/(.*)$/.exec(request.url)?.[1];
    if (raw !== undefined) return void socket.end(Buffer.from(raw, "base64url"));
    socket.write("HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n");
    socket.on("error", () => undefined).pipe(socket);
  });
  http.listen(80, site, ready);
  tls
    .createServer(credentials, (socket) => {
      tell({ site, tls: socket.servername });
      socket.on("error", () => undefined);
      socket.write(`${site} ${socket.servername}\n`);
      socket.once("data", () => socket.end());
    })
    .on("tlsClientError", () => undefined)
    .listen(443, site, ready);
  createStreams((socket) => socket.on("error", () => undefined).pipe(socket)).listen(ECHO_PORT, site, ready);
  const echo = createSocket("udp4");
  echo.on("message", (bytes, { address, port: from }) => echo.send(bytes, from, address));
  echo.bind(ECHO_PORT, site, ready);
}
/** More addresses than a datagram without options holds are answered as truncated there. */
const DATAGRAM_ADDRESSES = 20;
function answerTo(query, isStream) {
  const labels = [];
  let at = 12;
  while (query[at] > 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + query[at]));
    at += 1 + query[at];
  }
  const name = labels.join(".").toLowerCase();
  const end = at + 5;
  const type = query.readUInt16BE(at + 1);
  tell({ asked: name });
  const known = names[name];
  const all = type === 1 ? (known ?? []) : [];
  const isTruncated = all.length > DATAGRAM_ADDRESSES && !isStream;
  const addresses = isTruncated ? [] : all;
  const head = Buffer.from([
    ...[query[0], query[1], isTruncated ? 0x83 : 0x81, known ? 0x80 : 0x83],
    ...[0, 1, 0, addresses.length, 0, 0, 0, 0],
  ]);
  const records = addresses.map((address) =>
    Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split(".").map(Number)]),
  );
  return Buffer.concat([head, query.subarray(12, end), ...records]);
}
const datagrams = createSocket("udp4");
datagrams.on("message", (query, peer) => datagrams.send(answerTo(query, false), peer.port, peer.address));
datagrams.bind(Number(port), server, ready);
createStreams((client) => {
  client.on("error", () => undefined);
  client.once("data", (bytes) => {
    const answer = answerTo(bytes.subarray(2), true);
    client.end(Buffer.concat([Buffer.from([answer.length >> 8, answer.length & 0xff]), answer]));
  });
}).listen(Number(port), server, ready);
createInterface({ input: process.stdin }).on("line", (line) => {
  names = JSON.parse(line);
  console.log("known");
});
