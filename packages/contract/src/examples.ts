// One example of everything that goes over the wire, by the name of its schema. They are in the OpenAPI document and on the API's
// page, and a test holds each against its schema.

const sandboxId = "sbx_01kb3x0q9vt5c7r2m8n4p6w1yz";
const organizationId = "org_01kb3wz4d8f5h2j7k9m1n3p5qr";
const userId = "usr_01kb3wz4d8a2c4e6g8j0m2p4rt";

const egress = {
  mode: "deny_all",
  allow_cidrs: ["203.0.113.0/24"],
  deny_cidrs: [],
  allow_ports: [443],
  dns: false,
};

const denial = {
  address: "203.0.113.9",
  port: 25,
  protocol: "tcp",
  rule: "port",
  count: 3,
  last_at: "2026-11-20T16:22:00.000Z",
};

const counters = { bytes_out: 1_200, packets_out: 10, bytes_in: 34_000, packets_in: 20 };

const sandbox = {
  id: sandboxId,
  name: "build 7",
  template: "base",
  mode: "ephemeral",
  size: "shared-cpu-1x",
  status: "running",
  timeout: "10m",
  env: { GREETING: "hello" },
  metadata: { job: "7" },
  egress,
  host_id: "hst_01kb3wyz7q8r9s0t1v2w3x4y5z",
  created_at: "2026-11-20T16:21:09.123Z",
  started_at: "2026-11-20T16:21:09.423Z",
  expires_at: "2026-11-20T16:31:09.423Z",
  destroyed_at: null,
  reason: null,
};

const machine = {
  id: "mch_01kb3x7q9vt5c7r2m8n4p6w1yz",
  name: "worker",
  template: "base",
  size: "shared-cpu-1x",
  status: "running",
  desired: "running",
  env: { QUEUE: "mail" },
  metadata: { service: "mail" },
  egress,
  command: "python3 /srv/worker.py",
  restart: { policy: "on-failure", max_retries: 10, disk: "keep" },
  stop_timeout: "10s",
  host_id: sandbox.host_id,
  restarts: 1,
  exit_code: 1,
  created_at: "2026-11-20T16:21:09.123Z",
  started_at: "2026-11-20T18:03:11.707Z",
  stopped_at: "2026-11-20T18:03:10.412Z",
  destroyed_at: null,
  reason: null,
  restart_at: null,
};

const exit = {
  exit_code: 0,
  duration_ms: 125,
  timed_out: false,
  signal: null,
  oom_killed: false,
  truncated: false,
  usage: { cpu_ms: 101, memory_peak_bytes: 622_592 },
};

const size = { name: "shared-cpu-1x", vcpus: 1, memory_mib: 256, cpu: "shared" };

const template = {
  id: "tpl_01kb3wz0a1b2c3d4e5f6g7h8jk",
  name: "base",
  description: "Debian with Python 3 and common tools",
  disk_gib: 8,
  status: "ready",
};

const token = {
  id: "tok_01kb3x2m4n6p8q0r2s4t6v8w0x",
  name: "ci",
  user_id: userId,
  organization_id: organizationId,
  scopes: ["sandboxes:read", "sandboxes:write", "sandboxes:execute"],
  bound: false,
  created_at: "2026-11-20T16:21:09.123Z",
  expires_at: "2026-12-20T16:21:09.123Z",
  last_used_at: null,
};

const organization = {
  id: organizationId,
  name: "Example Ltd",
  egress_default: "allow_all",
  allowed_private_cidrs: [],
  role: "owner",
  created_at: "2026-11-20T16:20:00.000Z",
};

const member = {
  user_id: userId,
  name: "Ada",
  email: "ada@example.org",
  role: "member",
  created_at: "2026-11-20T16:21:09.123Z",
};

const file = { name: "answer.py", size: 13, type: "file", modified: "2026-11-20T16:21:40.208Z" };

const auditEvent = {
  id: "aud_01kb3x2m4n6p8q0r2s4t6v8w0x",
  at: "2026-11-20T16:21:09.423Z",
  actor: {
    kind: "user",
    user_id: userId,
    token_id: token.id,
    service: null,
    address: "192.0.2.7",
  },
  action: "sandbox.create",
  resource: { kind: "sandbox", id: sandboxId },
  outcome: "success",
  code: null,
  count: 1,
  request_id: "req_01kb3x0q9v0a1b2c3d4e5f6g7h",
  organization_id: organizationId,
};

const hostId = "hst_01kb3wyz7q8r9s0t1v2w3x4y5z";
const joinTokenId = "jtk_01kb3x4v6x8z0b2d4f6h8j0m2n";
const pem = (kind: string) => `-----BEGIN ${kind}-----\nMIIB…\n-----END ${kind}-----\n`;
/** Of the shape of a digest, and of none. */
const digest = "NEVERUSETHISEXAMPLEASADIGEST0123456789ABCDE";

const host = {
  id: hostId,
  name: "rack-1",
  status: "online",
  status_since: "2026-11-01T08:00:00.000Z",
  desired: "active",
  waits_for: null,
  last_heartbeat: "2026-11-20T16:00:00.000Z",
  heartbeat_age_s: 3.2,
  capacity: { cpus: 16, vcpus: 256, memory_mib: 60_000 },
  used: { vcpus: 3, memory_mib: 768, vms: 3 },
  accelerator: "kvm",
  accelerator_reason: "/dev/kvm works",
  versions: { skerry: "0.1.0", qemu: "7.2.22", kernel: "6.1.158" },
  templates: [template],
  usage: null,
};

export const examples: Readonly<Record<string, unknown>> = {
  Error: {
    code: "unknown_field",
    message: 'There is no field "timout".',
    remediation: "Check the spelling; `GET /v1/openapi.json` lists the fields.",
    context: { field: "timout" },
    request_id: "req_01kb3x0q9v0a1b2c3d4e5f6g7h",
  },
  NoFields: {},
  Health: { status: "healthy" },
  Status: {
    apps: 0,
    machines: 0,
    databases: 0,
    sandboxes: { creating: 0, running: 3, pausing: 0, paused: 0, resuming: 0, failed: 0, destroying: 0 },
    hosts: { online: 1, offline: 0, draining: 0, maintenance: 0 },
  },
  Limits: {
    rates: {
      read: { per_minute: 3_000, burst: 1_500 },
      write: { per_minute: 600, burst: 300 },
      expensive: { per_minute: 120, burst: 60 },
    },
    quotas: {
      sandboxes: { limit: 100, used: 3 },
      machines: { limit: 100, used: 0 },
      vcpus: { limit: 400, used: 3 },
      memory_mib: { limit: 204_800, used: 768 },
      disk_gib: { limit: 2_000, used: 24 },
      tokens: { limit: 1_000, used: 5 },
    },
  },
  JoinToken: {
    id: joinTokenId,
    token: `${joinTokenId}.${digest}.${digest}`,
    expires_at: "2026-11-20T17:21:09.123Z",
  },
  JoinRequest: {
    token_id: joinTokenId,
    name: "rack-7",
    address: "192.0.2.7:7071",
    public_key: pem("PUBLIC KEY"),
    signature: "MEUCIQ…",
    proof: digest,
  },
  JoinAnswer: { host_id: hostId, certificate: pem("CERTIFICATE"), authority: pem("CERTIFICATE") },
  JoinConfirmation: { token_id: joinTokenId, host_id: hostId, proof: digest },
  HostJoined: { host_id: hostId, name: "rack-7" },
  AuditEvent: auditEvent,
  AuditList: { items: [auditEvent], next_cursor: null },
  Size: size,
  SizeList: { items: [size] },
  Template: template,
  TemplateList: { items: [template] },
  Host: host,
  HostList: { items: [host], next_cursor: null },
  Token: token,
  TokenCreateRequest: { name: "ci", scopes: token.scopes, expires_in: "720h" },
  TokenList: { items: [token], next_cursor: null },
  TokenCreated: { ...token, token: "sk_NEVERUSETHISEXAMPLEASATOKEN0123456789ABCDEF" },
  Organization: organization,
  OrganizationList: { items: [organization], next_cursor: null },
  OrganizationCreateRequest: { name: "Example Ltd" },
  OrganizationUpdateRequest: { egress_default: "deny_all" },
  Member: member,
  MemberList: { items: [member], next_cursor: null },
  MemberAddRequest: { name: "Ada", email: "ada@example.org", role: "member" },
  MemberAdded: {
    ...member,
    token: {
      ...token,
      name: "invitation",
      scopes: ["*"],
      bound: true,
      expires_at: null,
      token: "sk_NEVERUSETHISEXAMPLEASATOKEN0123456789ABCDEF",
    },
  },
  MemberUpdateRequest: { role: "admin" },
  Me: {
    user_id: userId,
    name: "Ada",
    email: "ada@example.org",
    organization_id: organizationId,
    organization_name: "Example Ltd",
    role: "member",
    token_id: token.id,
    token_name: "ci",
    scopes: token.scopes,
    expires_at: token.expires_at,
  },
  Egress: egress,
  EgressCounters: counters,
  EgressDenial: denial,
  EgressReport: { ...egress, counters, denied: [denial] },
  EgressRequest: { allow_cidrs: ["203.0.113.0/24"], allow_ports: [443] },
  Sandbox: sandbox,
  SandboxCreateRequest: {
    template: "base",
    timeout: "10m",
    env: { GREETING: "hello" },
    metadata: { job: "7" },
  },
  SandboxList: { items: [sandbox], next_cursor: "c2J4XzAxa2IzeDBxOXZ0NWM3cjJtOG40cDZ3MXl6" },
  Machine: machine,
  MachineCreateRequest: {
    template: "base",
    name: "worker",
    command: machine.command,
    env: machine.env,
    metadata: machine.metadata,
    restart: { policy: "always" },
  },
  MachineList: { items: [machine], next_cursor: "bWNoXzAxa2IzeDdxOXZ0NWM3cjJtOG40cDZ3MXl6" },
  MachineStartRequest: { new_disk: true },
  MachineLogs: { lines: ["worker: ready", "worker: 3 messages sent"] },
  KeepaliveRequest: { timeout: "10m" },
  ExecuteRequest: { command: "python3 answer.py", workdir: "/work", timeout: "1m" },
  ExecuteExit: exit,
  ExecuteResponse: { ...exit, stdout: "42\n", stderr: "" },
  FileWritten: { path: "/work/answer.py", size: 13 },
  DirectoryEntry: file,
  DirectoryListing: { entries: [file], truncated: false },
};
