// An authority of the operator's own, which guests trust: `SKERRY_EXTRA_CA`. The guest itself serves HTTPS with a certificate by it, because a
// guest reaches no server on its host.

import { mkdtemp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { VmSpec } from "@skerry/contract/host-api/vm";
import { LoneHost } from "./support/lone-host.ts";
import { nothingWaits, until } from "./support/platform.ts";
import { run } from "./support/run.ts";

const TEMPLATE = "trusting";
const ID = "sbx_trusting";
const EXECUTION = "exe_1";
let folder: string;
let host: LoneHost;

beforeAll(async () => {
  folder = await mkdtemp("/tmp/skerry-test-ca-");
  await mkdir(join(folder, "templates", TEMPLATE), { recursive: true });
  const description = {
    ...{ description: "Trusts us", suite: "bookworm", packages: ["curl", "python3"], disk_gib: 1 },
    ...{ warm_up: [], env: { OF_TEMPLATE: "template's", BOTH: "template's", PYTHONUNBUFFERED: "1" } },
  };
  await writeFile(join(folder, "templates", TEMPLATE, "template.json"), JSON.stringify(description));
  await makeCertificates();
  host = await LoneHost.open(inject("assets"), {
    SKERRY_TEMPLATES: join(folder, "templates"),
    SKERRY_EXTRA_CA: join(folder, "ca.crt"),
    ...nothingWaits,
  });
  const spec: VmSpec = {
    ...{ execution_id: EXECUTION, template: TEMPLATE, size: "shared-cpu-1x", hostname: "trusting" },
    ...{ env: { BOTH: "user's" }, egress_version: 1 },
    egress: { mode: "deny_all", allow_cidrs: [], deny_cidrs: [], allow_ports: [], dns: false },
  };
  await until(
    "the template is built and frozen",
    async () => (await host.call("PUT", `/vms/${ID}`, spec)).status === 200,
    300_000,
  );
  await put("/root/server.pem", `${await pem("server.key")}${await pem("server.crt")}`);
  await put("/root/serve.py", SERVER);
  await execute("setsid python3 /root/serve.py >/dev/null 2>&1 & sleep 1");
});

afterAll(async () => {
  await host?.close();
  await rm(folder, { recursive: true, force: true });
  // The authority is new in each run, and so is the template.
  for (const kind of ["images", "frozen"]) {
    const names = await readdir(join(inject("assets"), kind)).catch(() => [] as string[]);
    for (const name of names.filter((one) => one.startsWith(`${TEMPLATE}-`)))
      await rm(join(inject("assets"), kind, name), { recursive: true, force: true });
  }
});

const pem = (name: string) => readFile(join(folder, name), "utf8");
const execute = (command: string) => host.execute(ID, EXECUTION, command);

async function put(path: string, content: string): Promise<void> {
  await execute(`cat >${path} <<'END_OF_FILE'\n${content}\nEND_OF_FILE`);
}

/** An authority, and by it a certificate for `localhost`. */
async function makeCertificates(): Promise<void> {
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const file = (name: string) => join(folder, name);
  const subject = (name: string) => ["-subj", `/CN=${name}`];
  const [ca, caKey] = [file("ca.crt"), file("ca.key")];
  await run(
    "openssl",
    "req",
    "-x509",
    "-days",
    "1",
    ...curve,
    "-keyout",
    caKey,
    "-out",
    ca,
    ...subject("Ours"),
  );
  const request = file("server.csr");
  await run(
    "openssl",
    "req",
    "-new",
    ...curve,
    "-keyout",
    file("server.key"),
    "-out",
    request,
    ...subject("us"),
  );
  await writeFile(file("names"), "subjectAltName=DNS:localhost\n");
  const by = ["-CA", ca, "-CAkey", caKey, "-CAcreateserial", "-extfile", file("names")];
  await run("openssl", "x509", "-req", "-days", "1", "-in", request, "-out", file("server.crt"), ...by);
}

const SERVER = `
import http.server, ssl
server = http.server.HTTPServer(("127.0.0.1", 8443), http.server.SimpleHTTPRequestHandler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("/root/server.pem")
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
`;
const URL_IN_GUEST = "https://localhost:8443/serve.py";

test("curl in a guest trusts a server whose certificate is by the operator's authority", async () => {
  await until("the server in the guest answers", async () =>
    (await execute(`curl -sS ${URL_IN_GUEST} || true`)).includes("http.server"),
  );
  // The server is none that everybody trusts.
  expect(await execute(`curl -s --cacert /dev/null --capath /nowhere ${URL_IN_GUEST}; echo $?`)).not.toBe(
    "0\n",
  );
});

test("Python trusts it too, by itself and with nothing but the system's certificates", async () => {
  const fetch = `import urllib.request as r; print(r.urlopen("${URL_IN_GUEST}").status)`;
  expect(await execute(`python3 -c '${fetch}'`)).toBe("200\n");
  expect(await execute(`env -i python3 -c '${fetch}'`)).toBe("200\n");
});

test("programs with a list of their own are told where the system's is", async () => {
  const shown = await execute(
    "for file in $NODE_EXTRA_CA_CERTS $PIP_CERT $REQUESTS_CA_BUNDLE $SSL_CERT_FILE; do test -s $file && echo there; done",
  );
  expect(shown).toBe("there\n".repeat(4));
});

test("a template's environment is there, below the user's", async () => {
  expect(await execute('echo "$OF_TEMPLATE|$BOTH|$PYTHONUNBUFFERED"')).toBe("template's|user's|1\n");
});
