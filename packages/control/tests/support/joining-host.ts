// A machine that becomes a host: it has a key, it asks to be certified, and it serves the fake host of its world over TLS.

import { generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { once } from "node:events";
import { connect, type AddressInfo } from "node:net";
import { createServer, type Server, type TlsOptions } from "node:tls";
import {
  CERTIFICATE_REQUEST,
  type CertificateRequest,
  type HostCertificate,
} from "@skerry/contract/joining/host-certificate";
import {
  confirmationProof,
  joinProof,
  type JoinAnswer,
  type JoinConfirmation,
  type JoinRequest,
} from "@skerry/contract/joining/join-request";
import {
  readJoinToken,
  secretDigest,
  type JoinToken,
  type JoinTokenParts,
} from "@skerry/contract/joining/join-token";
import { FakeHost } from "./fake-host.ts";
import type { Answer, World } from "./world.ts";

export async function newJoinToken(world: World): Promise<JoinTokenParts> {
  const { body } = await world.call<JoinToken>("POST", "/v1/hosts/join-tokens", { body: {} });
  const token = readJoinToken(body.token);
  if (token === undefined) throw new Error(`${body.token} is no join token`);
  return token;
}

function newKeys() {
  return generateKeyPairSync("ec", { namedCurve: "prime256v1" });
}

function requestFor({ publicKey, privateKey }: ReturnType<typeof newKeys>): CertificateRequest {
  const public_key = publicKey.export({ type: "spki", format: "pem" }).toString();
  const signature = sign("sha256", Buffer.from(CERTIFICATE_REQUEST + public_key), privateKey);
  return { public_key, signature: signature.toString("base64") };
}

export class JoiningHost implements AsyncDisposable {
  readonly fake = new FakeHost();
  readonly name = `rack-${randomUUID().slice(0, 8)}`;
  readonly #world: World;
  /** The certificates that control brought. */
  readonly brought: HostCertificate[] = [];
  #keys = newKeys();
  readonly #server: Server;

  private constructor(world: World, options: TlsOptions) {
    this.#world = world;
    this.#server = createServer({ minVersion: "TLSv1.3", ...options }, (client) => {
      const host = connect(this.fake.socketPath);
      for (const socket of [client, host]) {
        socket
          .on("error", () => undefined)
          .once("close", () => {
            client.destroy();
            host.destroy();
          });
      }
      client.pipe(host).pipe(client);
    });
  }

  /** It listens, and nobody can talk to it before it has a certificate. It ends with the world. */
  static async open(world: World, options: TlsOptions = {}): Promise<JoiningHost> {
    const host = new JoiningHost(world, options);
    await host.fake.start();
    host.fake.identity = host.#renewal();
    host.#server.listen(0, "127.0.0.1");
    await once(host.#server, "listening");
    world.after(() => host[Symbol.asyncDispose]());
    return host;
  }

  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get privateKey(): string {
    return this.#keys.privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  }

  request(token: JoinTokenParts, changes: Partial<JoinRequest> = {}): JoinRequest {
    const asked = {
      ...{ token_id: token.id, name: this.name, address: this.address },
      ...requestFor(this.#keys),
      ...changes,
    };
    return { ...asked, proof: changes.proof ?? joinProof(secretDigest(token.secret), asked) };
  }

  ask(
    token: JoinTokenParts,
    changes: Partial<JoinRequest> = {},
  ): Promise<Answer<JoinAnswer & { code: string }>> {
    return this.#world.call("POST", "/v1/hosts/join", { body: this.request(token, changes), token: "" });
  }

  /** Is certified, serves with its certificate, and answers what to confirm it with. */
  async join(token: JoinTokenParts): Promise<JoinConfirmation> {
    const answer = await this.ask(token);
    if (answer.status !== 200) throw new Error(answer.text);
    this.serve(answer.body);
    const asked = { token_id: token.id, host_id: answer.body.host_id };
    return { ...asked, proof: confirmationProof(secretDigest(token.secret), asked) };
  }

  confirm(
    confirmation: JoinConfirmation,
  ): Promise<Answer<{ host_id: string; code: string; message: string }>> {
    return this.#world.call("POST", "/v1/hosts/join/confirm", { body: confirmation, token: "" });
  }

  serve(
    { certificate, authority }: Pick<JoinAnswer, "certificate" | "authority">,
    key = this.privateKey,
  ): void {
    this.#server.setSecureContext({ key, cert: certificate, ca: authority });
  }

  /** As a host takes its next certificate. */
  #renewal(): NonNullable<FakeHost["identity"]> {
    let next = this.#keys;
    return {
      request: () => requestFor((next = newKeys())),
      install: (certificate) => {
        this.#keys = next;
        this.brought.push(certificate);
        this.serve(certificate);
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.fake[Symbol.asyncDispose]();
    this.#server.close();
  }
}
