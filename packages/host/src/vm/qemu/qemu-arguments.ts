// The command line of one QEMU, as data. A clone's must describe the same machine as its template's, or the
// frozen state does not fit: everything that may differ between the two is in `VmFiles` and `purpose`.

import { GUEST_MAC } from "../../network/guest-link.ts";
import { cpuVendor } from "./cpu-vendor.ts";

export type Accelerator = "kvm" | "tcg";

/** What a guest sees. Part of the identity of a frozen template. */
export interface Machine {
  readonly accelerator: Accelerator;
  readonly vcpus: number;
  readonly memoryMib: number;
  /** The host's TSC rate. Only an emulated guest needs it: see `tscKhz` in accelerator.ts. */
  readonly tscKhz: number | undefined;
}

/** Files of one VM. Sockets and disk are relative to the VM's folder, QEMU's working directory, because
 *  the path of a unix socket may have 107 characters only. */
export interface VmFiles {
  readonly kernel: string;
  readonly initramfs: string;
  /** What the guest's memory is a private copy of: the frozen template's, or a file that holds no data (`empty-memory.ts`). The template
   *  itself writes to it. */
  readonly memory: string;
  /** A raw, read-only image under the qcow2 chain. */
  readonly rootImage: string;
  /** What a build has laid over it, the lowest first. */
  readonly layers?: readonly string[];
  /** The frozen disk between the image and the overlay; undefined while the template itself is being made. */
  readonly frozenDisk: string | undefined;
  /** What the second disk of a VM in which a template is built stands on. */
  readonly target?: TargetFiles;
}

export interface TargetFiles {
  /** Raw. Undefined while the template of such VMs is being made: its target is empty. */
  readonly rootImage: string | undefined;
  readonly layers: readonly string[];
}

/** Of a block device: its front is the guest's, and its nodes are files. */
export const TARGET_DEVICE = "target";
/** What a target stands on in the end. */
export const LOWEST_NODE = "target-lowest";

export const vmPaths = {
  qmp: "qmp.sock",
  agent: "agent.sock",
  console: "console.log",
  disk: "disk.qcow2",
  target: "target.qcow2",
} as const;

/** The file descriptor that carries saved device state into QEMU. */
export const STATE_FD = 3;
/** That of the pages that lie over the template's memory; for private-memory.c. */
export const PAGES_FD = 4;
/** The file descriptors that launch.c hands over. */
const TAP_FD = 10;
const QMP_FD = 11;
const AGENT_FD = 12;
const CONSOLE_FD = 13;
/** In this order they get their descriptors. */
export const listenOn = [vmPaths.qmp, vmPaths.agent] as const;

/** A template is booted and keeps its memory in the file; a clone wakes from that file and writes to a
 *  private copy; what arrives brings its memory along, and a machine boots from its own disk; neither runs
 *  before it is told to. */
export type Purpose = "template" | "clone" | "arrival" | "boot";

export interface QemuOptions {
  readonly name: string;
  readonly machine: Machine;
  readonly files: VmFiles;
  readonly purpose: Purpose;
  /** Its disk and its console outlive this QEMU. */
  readonly isMachine: boolean;
  /** Whether this QEMU has a filter of system calls of its own. */
  readonly hasSandbox: boolean;
}

/** Named, because the default of a microvm is SeaBIOS in the packages of QEMU 8.0 and newer (Debian 13, Ubuntu 24.04), which does not start
 *  a kernel without option ROMs. Part of the frozen state. */
export const FIRMWARE = "qboot.rom";
/** PIT and PIC stay on: without them a kernel that is emulated hangs at "could not calculate TSC khz", and on KVM it is not tried on
 *  hardware. With KSM a guest could find out by timing which pages another one has. */
export const MACHINE_TYPE =
  "microvm,x-option-roms=off,rtc=on,isa-serial=on,mem-merge=off,dump-guest-core=off";
/** What a guest does not see of the host's CPU: hypervisor extensions and performance counters are much code of the host's kernel, and
 *  guests of guests have been a way out of KVM more than once. */
const HIDDEN_FROM_GUESTS = ["vmx", "svm", "pmu"] as const;
/** A register of Intel's that KVM makes up on AMD. There it says nothing a guest needs, newer QEMUs hide it themselves, and where KVM
 *  runs below another hypervisor QEMU ends with "failed to set MSR 0x10a". */
const HIDDEN_ON_AMD = ["arch-capabilities"] as const;
/** QEMU's own filter of system calls. */
export const SANDBOX = "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny";
/** Caps the memory of TCG's translated code, in MiB. More made nothing faster, less made it slower. */
const TCG_CODE_MIB = 32;
/** The kept end of a sandbox's console, for debugging; a guest that floods it costs no more than this. */
const CONSOLE_BYTES = 64 * 1024;

export function qemuArguments(options: QemuOptions): string[] {
  const { machine } = options;
  return [
    ...["-name", options.name],
    ...["-M", `${MACHINE_TYPE},memory-backend=mem`],
    ...["-bios", FIRMWARE],
    ...["-accel", machine.accelerator === "tcg" ? `tcg,tb-size=${TCG_CODE_MIB}` : "kvm"],
    ...["-cpu", cpuArgument(machine.accelerator)],
    ...["-smp", String(machine.vcpus), "-m", String(machine.memoryMib)],
    ...["-object", memoryObject(options)],
    ...["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"],
    ...consoleArguments(options),
    ...["-chardev", `socket,id=qmp,fd=${QMP_FD},server=on,wait=off`, "-mon", "chardev=qmp,mode=control"],
    ...["-device", "virtio-serial-device"],
    ...["-chardev", `socket,id=agent,fd=${AGENT_FD},server=on,wait=off`],
    ...["-device", "virtserialport,chardev=agent,name=agent"],
    ...diskArguments(options),
    ...["-netdev", `tap,id=net,fd=${TAP_FD}`, "-device", `virtio-net-device,netdev=net,mac=${GUEST_MAC}`],
    // What a guest has freed goes back to the host, in pieces of 2 MB.
    ...["-device", "virtio-balloon-device,free-page-reporting=on"],
    ...(options.hasSandbox ? ["-sandbox", SANDBOX] : []),
    ...startArguments(options),
  ];
}

/** `vendor` is that of this machine's CPU, in the words of /proc/cpuinfo. */
export function cpuArgument(accelerator: Accelerator, vendor: string = cpuVendor()): string {
  if (accelerator === "tcg") return "max";
  const isAmd = vendor === "AuthenticAMD" || vendor === "HygonGenuine";
  const hidden = [...HIDDEN_FROM_GUESTS, ...(isAmd ? HIDDEN_ON_AMD : [])];
  return ["host", ...hidden.map((name) => `${name}=off`)].join(",");
}

/** Where a console goes is no part of the machine's state: a clone may keep it elsewhere than its
 *  template. */
function consoleArguments({ isMachine }: QemuOptions): string[] {
  const backend = isMachine
    ? // Appending, because truncating is what QEMU would try otherwise, and a pipe has no length.
      ["-add-fd", `fd=${CONSOLE_FD},set=1`, "-chardev", "file,id=console,path=/dev/fdset/1,append=on"]
    : ["-chardev", `ringbuf,id=console,size=${CONSOLE_BYTES}`];
  return [...backend, "-serial", "chardev:console"];
}

function startArguments({ purpose, files, machine }: QemuOptions): string[] {
  switch (purpose) {
    case "clone":
      return ["-incoming", "defer"];
    case "arrival":
      return ["-S", "-incoming", "defer"];
    case "template":
    case "boot":
      return ["-S", ...bootArguments(files, machine)];
  }
}

/** A clone needs none of it: its kernel is in its memory, and QEMU would keep a copy of the file, 14 MB
 *  for each clone. */
function bootArguments({ kernel, initramfs }: VmFiles, machine: Machine): string[] {
  return ["-kernel", kernel, "-initrd", initramfs, "-append", kernelCommandLine(machine)];
}

/** What QEMU opens outside of the VM's folder because its command line names it. */
export function namedFiles({ files, purpose }: Pick<QemuOptions, "files" | "purpose">): string[] {
  const boots = purpose === "template" || purpose === "boot";
  return [
    ...(boots ? [files.kernel, files.initramfs] : []),
    ...(purpose === "template" ? [] : [files.memory]),
    files.rootImage,
    ...(files.layers ?? []),
    ...(files.frozenDisk === undefined ? [] : [files.frozenDisk]),
    ...(files.target?.rootImage === undefined ? [] : [files.target.rootImage, ...files.target.layers]),
  ].filter((file, index, all) => all.indexOf(file) === index);
}

/** Shared, for QEMU leaves only such memory out of what it saves; private-memory.so maps it privately all the same, but for a template. */
function memoryObject({ machine, files }: QemuOptions): string {
  return `memory-backend-file,id=mem,size=${machine.memoryMib}M,mem-path=${escape(files.memory)},share=on`;
}

/** Whether the guest's memory is anonymous, and no file of the template's. */
export function hasOwnMemory(purpose: Purpose): boolean {
  return purpose === "arrival" || purpose === "boot";
}

/** Each layer is named with its format, so that QEMU never guesses one from bytes that a guest wrote. */
function diskArguments({ files, isMachine }: QemuOptions): string[] {
  const frozen = files.frozenDisk === undefined ? [] : [files.frozenDisk];
  const below = chainOf(files.rootImage, [...(files.layers ?? []), ...frozen]);
  // The disk of a sandbox does not outlive a crash of its host, so waiting for the platter buys nothing. A
  // machine's does: what its programs have synced is there after a power failure.
  const cache = { "no-flush": !isMachine };
  const overlay = {
    "node-name": "root",
    driver: "qcow2",
    discard: "unmap",
    cache,
    file: { driver: "file", filename: vmPaths.disk, discard: "unmap", cache },
    backing: below,
  };
  return [
    ...["-blockdev", JSON.stringify(overlay), "-device", "virtio-blk-device,drive=root"],
    ...targetArguments(files.target),
  ];
}

function targetArguments(target: TargetFiles | undefined): string[] {
  if (target === undefined) return [];
  const { rootImage, layers } = target;
  const backing = rootImage === undefined ? null : chainOf(rootImage, layers, LOWEST_NODE);
  const node = targetNode(TARGET_DEVICE, vmPaths.target, backing);
  const device = `virtio-blk-device,id=${TARGET_DEVICE},drive=${TARGET_DEVICE}`;
  return ["-blockdev", JSON.stringify(node), "-device", device];
}

/** What a target is written to. What is sealed of it is flushed by the one who seals it. */
export function targetNode(name: string, filename: string, backing: object | null): object {
  const cache = { "no-flush": true };
  return {
    ...{ "node-name": name, driver: "qcow2", discard: "unmap", cache, backing },
    file: { driver: "file", filename, discard: "unmap", cache },
  };
}

/** A raw image and what lies over it, the lowest first; none of it is written to. */
function chainOf(rootImage: string, layers: readonly string[], lowest?: string): object {
  const name = lowest === undefined ? {} : { "node-name": lowest };
  const image = { ...name, driver: "raw", "read-only": true, file: { driver: "file", filename: rootImage } };
  return layers.reduce<object>(
    (backing, filename) => ({
      ...{ driver: "qcow2", "read-only": true, file: { driver: "file", filename } },
      backing,
    }),
    image,
  );
}

export function kernelCommandLine(machine: Machine): string {
  // Reliable: on a busy machine the kernel's watchdog blames the counter for ticks that came late, and a
  // template that was frozen after that would give all its clones a clock that loses 15 % (seen).
  const tsc = machine.tscKhz === undefined ? "" : ` tsc_early_khz=${machine.tscKhz} tsc=reliable`;
  // An emulator translates code for the address it lies at: with randomized addresses every program start
  // translates the C library anew, 40 ms for `true` where 10 do (measured). Emulation is for development and
  // no security boundary; KVM guests keep it.
  const addresses = machine.accelerator === "tcg" ? " norandmaps" : "";
  return `console=ttyS0 reboot=t panic=-1 quiet${tsc}${addresses}`;
}

/** Commas separate QEMU's options; a doubled one stands for itself. */
function escape(path: string): string {
  return path.replaceAll(",", ",,");
}
