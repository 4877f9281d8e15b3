// Ids that the examples of several schemas share, and what has the shape of a secret and is none.

export const exampleIds = {
  sandbox: "sbx_01kb3x0q9vt5c7r2m8n4p6w1yz",
  organization: "org_01kb3wz4d8f5h2j7k9m1n3p5qr",
  user: "usr_01kb3wz4d8a2c4e6g8j0m2p4rt",
  token: "tok_01kb3x2m4n6p8q0r2s4t6v8w0x",
  host: "hst_01kb3wyz7q8r9s0t1v2w3x4y5z",
  execution: "exe_01kb3x5w7y9z1a3c5e7g9j1m3p",
  snapshot: "snp_01kb3x5a7c9e1g3j5m7p9r1t3v",
  template: "tpl_01kb3wz0a1b2c3d4e5f6g7h8jk",
  build: "bld_01kb3x8b0d2f4h6k8n0q2s4u6w",
  move: "mov_01kb3x7a9c1e3g5j7m9p1r3t5v",
  app: "app_01kb3x8d2f4h6k8n0q2s4v6x8z",
  deploy: "dpl_01kb3x8f4h6k8n0q2s4v6x8z0b",
  route: "rte_01kb3x8g5j7m9p1r3t5v7x9z1c",
  event: "evt_01kb3x6k8m0n2p4q6r8s0t2v4w",
  joinToken: "jtk_01kb3x4v6x8z0b2d4f6h8j0m2n",
} as const;

/** Has the length of a digest. */
export const exampleDigest = "NEVERUSETHISEXAMPLEASADIGEST0123456789ABCDE";

export function examplePem(label: string): string {
  return `-----BEGIN ${label}-----\nMIIB…\n-----END ${label}-----\n`;
}
