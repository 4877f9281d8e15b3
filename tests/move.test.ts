// VMs move to another host while they run, and nobody in them or around them can tell, whoever is killed meanwhile.

import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, expect, inject, test } from "vitest";
import { SkerryApiError, UnavailableError, type Host, type Sandbox } from "../packages/sdk/src/skerry.ts";
import { qemuProcesses } from "./support/leftovers.ts";
import {
  eagerServices,
  freePort,
  nothingWaits,
  serverPid,
  startPlatform,
  until,
  untilReplaced,
  type Platform,
} from "./support/platform.ts";
import { sampled } from "./support/sampling.ts";
import { joinHost, type SecondHost } from "./support/second-host.ts";

/** Beyond what a drain takes: whoever was killed comes back, and the lease of a dead replica lapses. */
const SETTLED_WITHIN_MS = 120_000;

let platform: Platform;
let second: SecondHost;
let first: Host;

beforeAll(async () => {
  // The other host sends VMs back to it.
  const listen = `127.0.0.1:${await freePort()}`;
  const env = { ...eagerServices, ...nothingWaits, SKERRY_HOST_LISTEN: listen };
  platform = await startPlatform({ assets: inject("assets"), env });
  second = await joinHost(platform);
  await until("both hosts are online", async () =>
    (await hosts()).every(({ status }) => status === "online"),
  );
  const found = (await hosts()).find(({ id }) => id !== second.id);
  if (found === undefined) throw new Error("there is no first host");
  first = found;
});

beforeEach(async () => {
  for (const { id, desired } of await hosts()) if (desired !== "active") await activate(id);
});

afterAll(async () => {
  await second?.stop();
  await platform.stop();
});

async function hosts(): Promise<Host[]> {
  const all: Host[] = [];
  for await (const host of platform.client.hosts.list()) all.push(host);
  return all;
}

/** One that has just been killed is refused until it is heard of again. */
function activate(id: string): Promise<void> {
  return until("the host takes VMs again", async () =>
    platform.client.hosts.activate(id).then(
      () => true,
      (error: unknown) => {
        if (error instanceof SkerryApiError && error.code === "host_silent") return false;
        throw error;
      },
    ),
  );
}

function statusIs(id: string, status: Host["status"]): Promise<void> {
  return until(
    `the host is in ${status}`,
    async () => (await platform.client.hosts.get(id)).status === status,
    SETTLED_WITHIN_MS,
  );
}

/** The number that this command prints grows. */
async function goesOn(sandbox: Sandbox, command: string): Promise<void> {
  const read = async () => Number((await sandbox.execute(command)).stdout);
  const before = await read();
  await until("it goes on counting", async () => (await read()) > before);
}

/** Where its QEMUs are: one is right. */
async function incarnations(id: string): Promise<string[]> {
  const everywhere = await Promise.all(
    [platform.instance, second.instance].map((instance) => qemuProcesses(instance)),
  );
  return everywhere.flat().flatMap(({ vm, name }) => (vm === id ? [name] : []));
}

/** Counts in the background. */
async function counting(): Promise<Sandbox> {
  const sandbox = await platform.client.sandboxes.create({
    ...{ template: "base", timeout: "1h", env: { CARRIED: "along" } },
    egress: { mode: "deny_all" },
  });
  await sandbox.execute("(while true; do echo >> /tmp/ticks; sleep 0.05; done) >/dev/null 2>&1 &");
  return sandbox;
}

/** Writes the same number into two places that lie in different pages, over and over, and says so where it finds two that differ: a page of
 *  its memory is older than another one. */
const WRITER = `
  my ($pages, $page, $n) = (2048, 4096, 0);
  my $one = "\\0" x ($pages * $page);
  my $other = $one;
  while (1) {
    for my $i (0 .. $pages - 1) {
      my $at = $i * $page;
      if (substr($one, $at, 8) ne substr($other, $at, 8)) { open(my $f, ">", "/tmp/torn"); print $f "$i\\n"; exit 1 }
      substr($one, $at, 8) = substr($other, $at, 8) = pack("Q", ++$n);
    }
    open(my $f, ">", "/tmp/rounds"); print $f "$n\\n"; close($f);
  }`;

async function hostOf({ id }: Sandbox): Promise<string | null> {
  return (await platform.client.sandboxes.get(id)).info.host_id;
}

/** Away from where it is, to the other host; resolves when nothing is left behind. */
async function moveAway(sandbox: Sandbox): Promise<{ readonly from: string }> {
  const from = (await hostOf(sandbox)) ?? "";
  await platform.client.hosts.drain(from);
  await statusIs(from, "maintenance");
  await platform.client.hosts.activate(from);
  expect(await hostOf(sandbox)).toBe(from === first.id ? second.id : first.id);
  return { from };
}

test("a sandbox moves there and back: what runs in it goes on, its files, variables, clock and policy are the same", async () => {
  await using sandbox = await counting();
  // Files of its own, and some of its template: an emulated guest reads few of them in the time.
  const sums = "sha256sum /root/blob; cat /usr/bin/python3* | sha256sum";
  const write = `head -c 5000000 /dev/urandom > /root/blob; rm -r /usr/share/perl5; sync; ${sums}`;
  const read = `echo 3 > /proc/sys/vm/drop_caches; ${sums}; ls /usr/share/perl5 2>&1`;
  const before = (await sandbox.execute(write, { timeout: "5m" })).stdout;
  await sandbox.execute(`perl -e '${WRITER}' >/dev/null 2>&1 &`);
  for (let way = 0; way < 2; way += 1) {
    let asked = 0;
    let done = false;
    const calls = (async () => {
      for (; !done; asked += 1) expect((await sandbox.execute("echo here")).stdout).toBe("here\n");
    })();
    await moveAway(sandbox);
    done = true;
    await calls;
    expect(asked).toBeGreaterThan(0);
    await goesOn(sandbox, "cat /tmp/rounds");
    expect((await sandbox.execute("cat /tmp/torn")).stderr).toContain("No such file");
    expect((await sandbox.execute(read, { timeout: "5m" })).stdout).toContain(before);
    expect((await sandbox.execute("echo $CARRIED")).stdout).toBe("along\n");
    // The call may take long on a busy machine: the guest's clock is read some time between its beginning and end.
    const askedAtMs = Date.now();
    const guestMs = Number((await sandbox.execute("date +%s%3N")).stdout);
    expect(guestMs).toBeGreaterThan(askedAtMs - 2_000);
    expect(guestMs).toBeLessThan(Date.now() + 2_000);
    const probe = await sandbox.execute("timeout 3 bash -c 'exec 3<>/dev/tcp/203.0.113.9/80'");
    expect(probe.exit_code).not.toBe(0);
    const { mode, denied } = await sandbox.egress();
    expect([mode, denied.map(({ address }) => address)]).toEqual(["deny_all", ["203.0.113.9"]]);
    expect(await incarnations(sandbox.id)).toHaveLength(1);
  }
}, 900_000);

const ECHO = `
import socketserver as s
class Echo(s.StreamRequestHandler):
    def handle(self):
        for line in self.rfile: self.wfile.write(line)
s.ThreadingTCPServer(("127.0.0.1", 9000), Echo).serve_forever()
`;

/** What the echo in the guest says; undefined where the connection ends before it says anything. */
async function echoed(port: number, line: string): Promise<string | undefined> {
  const socket = connect({ host: "127.0.0.1", port });
  try {
    socket.write(line);
    const [said] = await Promise.race([once(socket, "data"), once(socket, "close")]);
    return Buffer.isBuffer(said) ? said.toString() : undefined;
  } catch {
    return undefined;
  } finally {
    socket.destroy();
  }
}

test("a stream that is followed while its sandbox moves has each byte once, and connections end and can be made again", async () => {
  await using sandbox = await counting();
  await sandbox.execute(`setsid python3 -c '${ECHO}' > /dev/null 2>&1 < /dev/null &`);
  await using forward = await platform.client.sandboxes.forward(sandbox.id, 9_000, { localPort: 0 });
  await until("the echo answers", async () => (await echoed(forward.localPort, "one\n")) === "one\n");
  let text = "";
  const command = "i=0; while [ ! -e /tmp/enough ]; do echo $i; i=$((i+1)); sleep 0.05; done";
  const following = (async () => {
    for await (const event of sandbox.executeStream(command, { reattach: "60s", timeout: "5m" }))
      if (event.type === "stdout") text += Buffer.from(event.data).toString();
  })();
  following.catch(() => undefined); // heard of when it is awaited
  await until("it counts", async () => text !== "");
  const open = connect({ host: "127.0.0.1", port: forward.localPort });
  open.on("error", () => undefined);
  open.resume();
  await once(open, "connect");
  await moveAway(sandbox);
  await until("the connection has ended", async () => open.destroyed);
  await until("another one can be made", async () => (await echoed(forward.localPort, "two\n")) === "two\n");
  const moved = text.length;
  await until("it goes on counting", async () => text.length > moved);
  await sandbox.execute("touch /tmp/enough");
  await following;
  const lines = text.trimEnd().split("\n");
  expect(lines).toEqual(lines.map((_line, index) => String(index)));
}, 600_000);

test("a drain without room says what it waits for, goes on when there is room, and can be taken back", async () => {
  await using sandbox = await counting();
  const at = (await hostOf(sandbox)) ?? "";
  const other = at === first.id ? second.id : first.id;
  await platform.client.hosts.drain(other);
  await statusIs(other, "maintenance");
  await platform.client.hosts.drain(at);
  await until("the drain waits", async () => (await platform.client.hosts.get(at)).waits_for !== null);
  expect((await platform.client.hosts.get(at)).waits_for).toContain(`${sandbox.id} (256 MiB, 1 vCPUs)`);
  await platform.client.hosts.activate(at);
  expect(await platform.client.hosts.get(at)).toMatchObject({ status: "online", waits_for: null });
  expect(await hostOf(sandbox)).toBe(at);
  await platform.client.hosts.drain(at);
  await platform.client.hosts.activate(other);
  await statusIs(at, "maintenance");
  expect(await hostOf(sandbox)).toBe(other);
});

test("a machine moves with its main process, and later boots from the disk that it brought along", async () => {
  const command = "while true; do echo tick >> /root/ticks; sync; sleep 0.1; done";
  const { id } = await platform.client.machines.create({ template: "base", command });
  const { machines } = platform.client;
  const ticks = async () => Number((await machines.execute(id, "wc -l < /root/ticks")).stdout);
  const from = (await machines.get(id)).host_id ?? "";
  const before = await ticks();
  await platform.client.hosts.drain(from);
  await statusIs(from, "maintenance");
  expect((await machines.get(id)).host_id).not.toBe(from);
  await until("its main process goes on", async () => (await ticks()) > before + 3);
  expect((await machines.get(id)).restarts).toBe(0);
  await machines.stop(id);
  expect((await machines.start(id)).status).toBe("running");
  expect(await ticks()).toBeGreaterThan(before);
  await machines.destroy(id);
});

const victims = ["source", "target", "control", "postgres"] as const;
/** From the first words between the hosts to about the end of the move. */
const delaysMs = [150, 700, 1_400];

for (const victim of victims) {
  test(`a sandbox runs once, and runs on, when its ${victim} is killed while it moves`, async () => {
    await using sandbox = await counting();
    for (const delayMs of sampled(`move, ${victim} is killed`, delaysMs)) {
      const from = (await hostOf(sandbox)) ?? "";
      await platform.client.hosts.drain(from);
      await sleep(delayMs);
      const pid = await pidOf(victim, from);
      process.kill(pid, "SIGKILL");
      if (victim === "control" || victim === "postgres") await untilReplaced(platform, victim, pid);
      await until(
        `the sandbox has moved after ${delayMs} ms`,
        async () => (await platform.client.hosts.get(from).catch(() => undefined))?.status === "maintenance",
        SETTLED_WITHIN_MS,
      );
      await until("nothing is left behind", async () => (await incarnations(sandbox.id)).length === 1);
      // The host that it is on may be the one that was killed, and takes a moment to come back.
      await until("it answers", () => answers(sandbox), SETTLED_WITHIN_MS);
      await goesOn(sandbox, "wc -l < /tmp/ticks");
      await activate(from);
      await until("both hosts are online", async () =>
        (await hosts()).every(({ status }) => status === "online"),
      );
    }
  });
}

for (const end of ["source", "target"] as const) {
  test(`a sandbox whose QEMU is killed at its ${end} while it moves runs once or fails with a reason, and the drain ends`, async () => {
    for (const delayMs of sampled(`move, QEMU at its ${end} is killed`, delaysMs)) {
      await using sandbox = await counting();
      const from = (await hostOf(sandbox)) ?? "";
      const instance = (end === "source") === (from === first.id) ? platform.instance : second.instance;
      await platform.client.hosts.drain(from);
      await sleep(delayMs);
      const qemus = (await qemuProcesses(instance)).filter(({ vm }) => vm === sandbox.id);
      for (const { pid } of qemus) process.kill(pid, "SIGKILL");
      await statusIs(from, "maintenance");
      await until("the sandbox is where its row says", async () => {
        const { status, reason } = (await platform.client.sandboxes.get(sandbox.id)).info;
        const running = await incarnations(sandbox.id);
        if (status === "failed") return running.length === 0 && reason !== null;
        return running.length === 1 && (await answers(sandbox));
      });
      await activate(from);
    }
  });
}

/** False while its host is being restarted. */
function answers(sandbox: Sandbox): Promise<boolean> {
  return sandbox.execute("true").then(
    () => true,
    (error: unknown) => {
      if (error instanceof UnavailableError) return false;
      throw error;
    },
  );
}

function pidOf(victim: (typeof victims)[number], from: string): Promise<number> {
  if (victim !== "source" && victim !== "target") return serverPid(platform, victim);
  const isFirst = (victim === "source") === (from === first.id);
  return isFirst ? serverPid(platform, "host") : second.pid();
}
