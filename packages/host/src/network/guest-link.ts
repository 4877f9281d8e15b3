// The link between a guest and its slot. Its addresses are the same in every slot, because each slot is a
// namespace of its own.

export const TAP = "tap0";
/** The slot's end of the link to this machine. */
export const UPLINK = "up0";
export const GUEST_ADDRESS = "169.254.0.21";
/** The slot's end: the guest's gateway and name server. */
export const GATEWAY_ADDRESS = "169.254.0.22";
export const GATEWAY_CIDR = `${GATEWAY_ADDRESS}/30`;
/** The same in every slot as well: a guest that moves goes on sending to the one that it knows. */
export const GATEWAY_MAC = "02:fc:00:00:00:06";
/** Every clone sees its template's MAC. */
export const GUEST_MAC = "02:fc:00:00:00:05";
export const DNS_PORT = 53;
