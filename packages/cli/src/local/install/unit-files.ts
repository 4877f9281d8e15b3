// The systemd units. What they start is this program's `unit` command, which runs the same programs with the same flags and settings as
// `skerry up` (`run-unit.ts`); here is what systemd does about them.
//
// QEMU processes are in the cgroup of a unit of their own, which nothing but a shutdown of the machine or an operator stops. The host can be
// restarted, upgraded and killed beside it. The host itself has no mount namespace: what it mounts for network namespaces must outlive it.

import { join } from "node:path";
import { SERVICE_FILES } from "@skerry/contract/connections/file-limit";
import { units } from "../servers/units.ts";
import { serviceNames } from "../servers/services.ts";
import { SYSTEM_USER, type Layout } from "../system/layout.ts";
import type { Installation } from "./installation.ts";

/** Below systemd's root in the cgroup tree. */
export const VM_CGROUP = `system.slice/${units.vms}`;

type Section = readonly (readonly [key: string, value: string])[];

/**
 * Not left to the defaults of the system, which its operator may have changed. A core file would have
 * secrets.
 */
const LIMITS: Section = [
  ["LimitNOFILE", String(SERVICE_FILES)],
  ["LimitCORE", "0"],
];

/** Of processes that only talk to sockets and, PostgreSQL, to its own folder. */
const CONFINED: Section = [
  ["NoNewPrivileges", "yes"],
  ["CapabilityBoundingSet", ""],
  ["ProtectSystem", "strict"],
  ["ProtectHome", "read-only"],
  ["PrivateTmp", "yes"],
  ["PrivateDevices", "yes"],
  ["ProtectKernelTunables", "yes"],
  ["ProtectKernelModules", "yes"],
  ["ProtectKernelLogs", "yes"],
  ["ProtectControlGroups", "yes"],
  ["ProtectClock", "yes"],
  ["ProtectHostname", "yes"],
  ["ProtectProc", "invisible"],
  ["RestrictNamespaces", "yes"],
  ["RestrictRealtime", "yes"],
  ["RestrictSUIDSGID", "yes"],
  ["RestrictAddressFamilies", "AF_UNIX AF_INET AF_INET6"],
  ["LockPersonality", "yes"],
  ["RemoveIPC", "yes"],
  ["SystemCallArchitectures", "native"],
  ["SystemCallFilter", "@system-service"],
  ["UMask", "0077"],
];

/** Of the host, which is root because it makes namespaces, TAP devices and cgroups, and builds templates. What its children inherit must not
 *  keep QEMU or a template's packages from working. */
const HOST_CONFINED: Section = [
  ["NoNewPrivileges", "yes"],
  ["SystemCallArchitectures", "native"],
  ["RestrictAddressFamilies", "AF_UNIX AF_INET AF_INET6 AF_NETLINK AF_PACKET"],
  [
    "CapabilityBoundingSet",
    "~CAP_SYS_BOOT CAP_SYS_TIME CAP_SYS_MODULE CAP_SYS_RAWIO CAP_SYS_PACCT CAP_SYS_TTY_CONFIG CAP_SYSLOG CAP_MAC_ADMIN CAP_MAC_OVERRIDE CAP_WAKE_ALARM CAP_BLOCK_SUSPEND CAP_AUDIT_CONTROL",
  ],
];

/** By name of the file. */
export function unitFiles(installation: Installation, layout: Layout): Readonly<Record<string, string>> {
  const names = serviceNames(layout);
  const isPrivate = names.includes("control") && layout.externalDatabaseUrl === undefined;
  const services = [...names.map((name) => units[name]), ...(isPrivate ? [units.postgres] : [])];
  return {
    [units.target]: file({
      Unit: [
        ["Description", "Skerry"],
        ["Wants", services.join(" ")],
      ],
      Install: [["WantedBy", "multi-user.target"]],
    }),
    [units.vms]: vmsUnit(installation),
    [units.host]: hostUnit(installation),
    ...(names.includes("control") ? { [units.control]: controlUnit(installation, isPrivate) } : {}),
    ...(isPrivate ? { [units.postgres]: postgresUnit(installation, layout) } : {}),
  };
}

function controlUnit(installation: Installation, isPrivate: boolean): string {
  return file({
    Unit: [
      ["Description", "Skerry: control plane"],
      ["PartOf", units.target],
      ["Wants", "network-online.target"],
      ["After", `network-online.target ${units.host}${isPrivate ? ` ${units.postgres}` : ""}`],
      ["StartLimitIntervalSec", "0"],
    ],
    Service: [
      ...common(installation, "run-control"),
      ["ExecStartPre", `+${program(installation, "prepare-folders")}`],
      ["User", SYSTEM_USER],
      ["Group", SYSTEM_USER],
      ["TimeoutStopSec", "30"],
      ...LIMITS,
      ...CONFINED,
    ],
  });
}

function hostUnit(installation: Installation): string {
  return file({
    Unit: [
      ["Description", "Skerry: host"],
      ["PartOf", units.target],
      ["Requires", units.vms],
      ["Wants", "network-online.target"],
      ["After", `${units.vms} network-online.target nftables.service ufw.service docker.service`],
      ["StartLimitIntervalSec", "0"],
    ],
    Service: [
      ...common(installation, "run-host"),
      ["Environment", `SKERRY_VM_CGROUP=${VM_CGROUP}`],
      // Where VMs have no cgroup of their own, they are in this unit's: they are not to end with the host.
      ["KillMode", "process"],
      ["OOMPolicy", "continue"],
      ["TasksMax", "infinity"],
      ["TimeoutStopSec", "30"],
      ...LIMITS,
      ...HOST_CONFINED,
    ],
  });
}

/** A cgroup, and no process of its own that could end: each VM's is made below it by the host. `systemctl stop` of it ends the host and then the
 *  VMs, in the way of `skerry down`; so does a shutdown. */
function vmsUnit(installation: Installation): string {
  return file({
    Unit: [
      ["Description", "Skerry: virtual machines"],
      ["After", "network-online.target"],
    ],
    Service: [
      ["Type", "oneshot"],
      ["RemainAfterExit", "yes"],
      ["EnvironmentFile", installation.settings],
      ["ExecStart", program(installation, "prepare-folders")],
      ["ExecStop", program(installation, "clear-vms")],
      ["Environment", `SKERRY_VM_CGROUP=${VM_CGROUP}`],
      ["Slice", "system.slice"],
      ["Delegate", "yes"],
      ["OOMPolicy", "continue"],
      ["TasksMax", "infinity"],
      ["TimeoutStopSec", "120"],
      ...HOST_CONFINED,
    ],
  });
}

function postgresUnit(installation: Installation, layout: Layout): string {
  return file({
    Unit: [
      ["Description", "Skerry: database"],
      ["PartOf", units.target],
      ["StartLimitIntervalSec", "0"],
    ],
    Service: [
      ...common(installation, "run-postgres").filter(([key]) => key !== "Type"),
      ["Type", "notify"],
      ["ExecStartPre", `+${program(installation, "prepare-postgres")}`],
      ["ExecStartPost", program(installation, "make-database")],
      ["User", SYSTEM_USER],
      ["Group", SYSTEM_USER],
      // As `pg_ctl stop -m fast`: its children end by themselves.
      ["KillMode", "mixed"],
      ["KillSignal", "SIGINT"],
      ["TimeoutStartSec", "600"],
      ["TimeoutStopSec", "300"],
      // Its workers may be sacrificed, and it goes on.
      ["OOMPolicy", "continue"],
      ...CONFINED,
      ["PrivateNetwork", "yes"],
      // Before the first start they are not there, and systemd looks for them in each command's view.
      ["ReadWritePaths", `-${layout.postgresData} -${layout.postgresSocketFolder}`],
    ],
  });
}

function common(installation: Installation, name: string): Section {
  return [
    ["Type", "exec"],
    ["EnvironmentFile", installation.settings],
    ["ExecStart", program(installation, name)],
    ["Restart", "always"],
    ["RestartSec", "1"],
    ["StandardOutput", "journal"],
    ["StandardError", "journal"],
  ];
}

function program({ lib }: Installation, name: string): string {
  return `${join(lib, "current/bin/skerry")} unit ${name}`;
}

function file(sections: Readonly<Record<string, Section>>): string {
  const texts = Object.entries(sections).map(([name, lines]) =>
    [`[${name}]`, ...lines.map(([key, value]) => `${key}=${value}`)].join("\n"),
  );
  return `# Written by skerry install. Changes belong into a drop-in: systemctl edit.\n${texts.join("\n\n")}\n`;
}
