// Metrics that a scrape reads from the database: the same on every replica.

import { Counter, familiesOf, Gauge, type Family } from "./families.ts";

/** Filled anew by each reading. */
export class DatabaseMetrics {
  readonly up = new Gauge("skerry_database_up", {
    help: "Whether the database answered this scrape. When it is 0, everything below that comes from it is left out.",
  });
  readonly vms = new Gauge("skerry_vms", {
    help: "Virtual machines that are not destroyed, by kind and status.",
    labels: ["kind", "status"],
  });
  readonly queueDepth = new Gauge("skerry_queue_depth", {
    help: "Work that waits: `destroy` for a host's word, `expire` for the reaper, `egress` for a host to confirm a policy, `restart` for a machine's next start, `build` for what a build cannot go on without, `database` for a connection of this process.",
    labels: ["queue"],
  });
  readonly crashLoops = new Gauge("skerry_machines_in_crash_loop", {
    help: "Machines that their policy has started again three times or more without ten healthy minutes in between.",
  });
  readonly unhealthy = new Gauge("skerry_machines_unhealthy", {
    help: "Machines that run and whose health check fails.",
  });
  readonly templates = new Gauge("skerry_templates", {
    help: "Images of built-in templates (`built_in`), counted on each host, and versions of organizations (`own`), by status.",
    labels: ["origin", "status"],
  });
  readonly lastBackup = new Gauge("skerry_last_backup_timestamp_seconds", {
    help: "When `skerry backup` last wrote one, in seconds since 1970. None where there never was one.",
  });
  readonly hosts = new Gauge("skerry_hosts", {
    help: "Hosts by status; one that was silent for 30 s counts as offline.",
    labels: ["status"],
  });
  readonly hostHeartbeat = new Gauge("skerry_host_last_heartbeat_timestamp_seconds", {
    help: "When a host was last heard of, in seconds since 1970.",
    labels: ["host"],
  });
  readonly hostCertificateExpiry = new Gauge("skerry_host_certificate_expiry_timestamp_seconds", {
    help: "End of the validity of the certificate of a host on another machine, in seconds since 1970. It is renewed by itself.",
    labels: ["host"],
  });
  readonly hostCpus = new Gauge("skerry_host_cpus", { help: "CPUs of a host.", labels: ["host"] });
  readonly hostVmMemory = new Gauge("skerry_host_vm_memory_bytes", {
    help: "Memory that virtual machines may use on a host.",
    labels: ["host"],
  });
  readonly hostReservedMemory = new Gauge("skerry_host_vm_memory_reserved_bytes", {
    help: "Memory of a host that is promised to its virtual machines.",
    labels: ["host"],
  });
  readonly hostReservedCpus = new Gauge("skerry_host_vm_cpus_reserved", {
    help: "Virtual CPUs of the virtual machines on a host.",
    labels: ["host"],
  });
  readonly hostCpu = new Counter("skerry_host_cpu_seconds_total", {
    help: "CPU time of a host since it was booted, by mode.",
    labels: ["host", "mode"],
  });
  readonly hostMemory = new Gauge("skerry_host_memory_bytes", {
    help: "Memory of a host.",
    labels: ["host"],
  });
  readonly hostMemoryAvailable = new Gauge("skerry_host_memory_available_bytes", {
    help: "Memory of a host that could be used without swapping.",
    labels: ["host"],
  });
  readonly hostDisk = new Gauge("skerry_host_disk_bytes", {
    help: "Size of the file system that a host keeps its virtual machines on.",
    labels: ["host"],
  });
  readonly hostDiskFree = new Gauge("skerry_host_disk_free_bytes", {
    help: "Free space of that file system.",
    labels: ["host"],
  });
  readonly hostReceived = new Counter("skerry_host_network_receive_bytes_total", {
    help: "Bytes received by a host on the links that its default routes use.",
    labels: ["host"],
  });
  readonly hostSent = new Counter("skerry_host_network_transmit_bytes_total", {
    help: "Bytes sent by a host on the links that its default routes use.",
    labels: ["host"],
  });

  readonly organizationVms = new Gauge("skerry_organization_vms", {
    help: "Virtual machines that count against the quotas of an organization, by kind.",
    labels: ["organization", "kind"],
  });
  readonly organizationCpus = new Gauge("skerry_organization_vm_cpus_reserved", {
    help: "Virtual CPUs of what an organization has running.",
    labels: ["organization"],
  });
  readonly organizationMemory = new Gauge("skerry_organization_vm_memory_reserved_bytes", {
    help: "Memory of what an organization has running.",
    labels: ["organization"],
  });
  readonly organizationDisk = new Gauge("skerry_organization_vm_disk_reserved_bytes", {
    help: "Disk of what an organization has, also of machines that are stopped.",
    labels: ["organization"],
  });

  readonly cacheBytes = new Gauge("skerry_build_cache_bytes", {
    help: "What the build cache takes on the disk of a host.",
    labels: ["host"],
  });
  readonly storedLayers = new Gauge("skerry_stored_layers", {
    help: "Layers of templates in the object store: those that are on their way there (`storing`), there (`ready`), and to be deleted (`deleting`).",
    labels: ["status"],
  });
  readonly storedBytes = new Gauge("skerry_stored_layer_bytes", {
    help: "What those take on the disk of a host.",
    labels: ["status"],
  });

  readonly clockSteps = new Counter("skerry_database_clock_steps_total", {
    help: "How often the clock of the database was set by more than a minute while control ran.",
  });
  readonly clockStep = new Gauge("skerry_database_clock_last_step_seconds", {
    help: "Size of the last of these steps; negative: back.",
  });

  readonly warmVms = new Gauge("skerry_host_warm_vms", {
    help: "Idle clones of templates on a host, ready for the next sandbox.",
    labels: ["host"],
  });
  readonly warmTakes = new Counter("skerry_host_warm_takes_total", {
    help: "Virtual machines of a host that were made of a waiting clone (`taken`), and those for which none waited (`missed`), since the host started.",
    labels: ["host", "result"],
  });

  families(): Family[] {
    return familiesOf(this);
  }
}
