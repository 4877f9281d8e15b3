import { expect, test } from "vitest";
import {
  cpuArgument,
  kernelCommandLine,
  qemuArguments,
  type Machine,
  type QemuOptions,
} from "../src/vm/qemu/qemu-arguments.ts";

const tcg: Machine = { accelerator: "tcg", vcpus: 2, memoryMib: 512, tscKhz: 2_600_000 };
const kvm: Machine = { accelerator: "kvm", vcpus: 2, memoryMib: 512, tscKhz: undefined };

const template: QemuOptions = {
  name: "skerry-test:template:base:",
  machine: tcg,
  purpose: "template",
  isMachine: false,
  hasSandbox: true,
  files: {
    kernel: "/assets/vmlinuz",
    initramfs: "/assets/initramfs.cpio",
    memory: "/frozen/memory",
    rootImage: "/images/base.ext4",
    frozenDisk: undefined,
  },
};
const clone: QemuOptions = {
  ...template,
  purpose: "clone",
  files: { ...template.files, frozenDisk: "/frozen/disk.qcow2" },
};

/** Every option with its value; one that is given several times has several values. */
function options(of: QemuOptions): Map<string, string[]> {
  const found = new Map<string, string[]>();
  const args = qemuArguments(of);
  for (const [at, arg] of args.entries()) {
    if (!arg.startsWith("-")) continue;
    const next = args[at + 1];
    const value = next === undefined || next.startsWith("-") ? "" : next;
    found.set(arg, [...(found.get(arg) ?? []), value]);
  }
  return found;
}

function differing(one: QemuOptions, other: QemuOptions): string[] {
  const [left, right] = [options(one), options(other)];
  const names = new Set([...left.keys(), ...right.keys()]);
  return [...names].filter((name) => JSON.stringify(left.get(name)) !== JSON.stringify(right.get(name)));
}

interface Layer {
  readonly driver?: string;
  readonly "read-only"?: boolean;
  readonly file?: Layer | string;
  readonly filename?: string;
  readonly backing?: Layer;
}

function disk(of: QemuOptions): Layer {
  return JSON.parse(options(of).get("-blockdev")?.[0] ?? "") as Layer;
}

function layers(top: Layer): Layer[] {
  return top.backing === undefined ? [top] : [top, ...layers(top.backing)];
}

test("a clone's machine is its template's: only disk and the wait for the frozen state differ", () => {
  const boot = ["-kernel", "-initrd", "-append"];
  expect(differing(template, clone)).toEqual(["-blockdev", "-S", ...boot, "-incoming"]);
  expect(options(clone).get("-incoming")).toEqual(["defer"]);
  // Also of a clone, or QEMU would save its memory with its state; private-memory.so keeps it private.
  expect(options(clone).get("-object")).toEqual([
    "memory-backend-file,id=mem,size=512M,mem-path=/frozen/memory,share=on",
  ]);
});

test("a machine that boots from its own disk has its clone's devices, memory of its own, and waits to be told", () => {
  const machine = { ...clone, isMachine: true };
  const files = { ...clone.files, memory: "/empty-memory/512M" };
  const booted: QemuOptions = { ...machine, files, purpose: "boot" };
  expect(differing(machine, booted)).toEqual(["-object", "-incoming", "-S", "-kernel", "-initrd", "-append"]);
  expect(options(booted).get("-object")).toEqual([
    "memory-backend-file,id=mem,size=512M,mem-path=/empty-memory/512M,share=on",
  ]);
  expect(options(booted).get("-append")).toEqual(options(template).get("-append"));
});

test("what a machine's programs have synced is on the platter, and its console in a file", () => {
  const machine = { ...clone, isMachine: true };
  expect(differing(clone, machine).toSorted()).toEqual(["-add-fd", "-blockdev", "-chardev"]);
  expect(disk(machine)).toMatchObject({
    cache: { "no-flush": false },
    file: { cache: { "no-flush": false } },
  });
  expect(disk(clone)).toMatchObject({ cache: { "no-flush": true }, file: { cache: { "no-flush": true } } });
});

test("a guest tells the host which memory is free, on every version of QEMU", () => {
  for (const purpose of ["template", "clone", "arrival", "boot"] as const) {
    const reporting = "virtio-balloon-device,free-page-reporting=on";
    expect(options({ ...clone, purpose }).get("-device")).toContain(reporting);
  }
});

test("every layer of the disk names its driver, so no format is guessed, and only the overlay is writable", () => {
  const chain = layers(disk(clone)).map((layer) => [layer.driver, layer["read-only"] ?? false]);
  expect(chain).toEqual([
    ["qcow2", false],
    ["qcow2", true],
    ["raw", true],
  ]);
  expect(layers(disk(template)).map(({ driver }) => driver)).toEqual(["qcow2", "raw"]);
  for (const layer of layers(disk(clone))) expect(layer.file).toMatchObject({ driver: "file" });
  expect(qemuArguments(clone).join(" ")).not.toMatch(/-drive|-hda|if=|detect-zeroes/);
});

test("a comma in a path stays part of the path", () => {
  const files = { ...clone.files, memory: "/a,share=on,b/memory", rootImage: '/a,b/"x".ext4' };
  const [memory] = options({ ...clone, files }).get("-object") ?? [];
  expect(memory).toBe("memory-backend-file,id=mem,size=512M,mem-path=/a,,share=on,,b/memory,share=on");
  expect(layers(disk({ ...clone, files })).at(-1)?.file).toMatchObject({ filename: '/a,b/"x".ext4' });
});

test("an emulated guest is told the rate of the clock, and one on KVM measures its own", () => {
  expect(kernelCommandLine(tcg)).toContain(" tsc_early_khz=2600000 tsc=reliable");
  expect(kernelCommandLine(kvm)).not.toContain("tsc");
  expect(differing(template, { ...template, machine: kvm })).toEqual(["-accel", "-cpu", "-append"]);
  expect(options(template).get("-accel")).toEqual(["tcg,tb-size=32"]);
  expect(options(template).get("-cpu")).toEqual(["max"]);
  expect(options({ ...template, machine: kvm }).get("-accel")).toEqual(["kvm"]);
  expect(options({ ...template, machine: kvm }).get("-cpu")).toEqual([cpuArgument("kvm")]);
});

test("a guest does not see what is Intel's on an AMD, where QEMU may end because of it", () => {
  const hidden = "host,vmx=off,svm=off,pmu=off";
  expect(cpuArgument("kvm", "GenuineIntel")).toBe(hidden);
  expect(cpuArgument("kvm", "")).toBe(hidden);
  for (const vendor of ["AuthenticAMD", "HygonGenuine"])
    expect(cpuArgument("kvm", vendor)).toBe(`${hidden},arch-capabilities=off`);
  expect(cpuArgument("tcg", "AuthenticAMD")).toBe("max");
});

test("a QEMU without a filter of its own is not asked for one", () => {
  expect(differing(clone, { ...clone, hasSandbox: false })).toEqual(["-sandbox"]);
  expect(options({ ...clone, hasSandbox: false }).has("-sandbox")).toBe(false);
});

test("no pages are shared between guests, and none are in a core dump", () => {
  for (const of of [template, clone, { ...template, machine: kvm }])
    expect(options(of).get("-M")?.[0]).toMatch(/,mem-merge=off,dump-guest-core=off,/);
});

test("every QEMU is confined, has no default devices, and ends when its guest reboots", () => {
  for (const of of [template, clone]) {
    const found = options(of);
    expect(found.get("-sandbox")).toEqual([
      "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny",
    ]);
    for (const flag of ["-nodefaults", "-no-user-config", "-no-reboot"]) expect(found.has(flag)).toBe(true);
    expect(found.get("-netdev")).toEqual(["tap,id=net,fd=10"]);
  }
  expect(options(template).get("-append")?.[0]).toContain("panic=-1");
});

test("size and processors of the guest are those of its machine", () => {
  const of = { ...template, machine: { ...tcg, vcpus: 8, memoryMib: 2_048 } };
  expect(options(of).get("-smp")).toEqual(["8"]);
  expect(options(of).get("-m")).toEqual(["2048"]);
  expect(options(of).get("-object")?.[0]).toContain("size=2048M");
  expect(options(of).get("-name")).toEqual([template.name]);
});

test("the firmware is named: the default of newer packages starts no kernel here", () => {
  for (const one of [template, clone]) expect(options(one).get("-bios")).toEqual(["qboot.rom"]);
});
