/** Why a VM ended by itself, in words for its owner, from QEMU's own. */
export function endOf(shutdownReason: string | undefined): string {
  switch (shutdownReason) {
    case undefined:
      return "the microVM's QEMU process was killed or crashed";
    case "guest-reset":
      return "the guest rebooted or its kernel panicked";
    case "guest-shutdown":
      return "the guest shut down";
    default:
      return `QEMU ended with the reason ${shutdownReason}`;
  }
}
