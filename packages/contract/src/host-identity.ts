// Who is who between control and its hosts.

/** What a host may be called: what a machine's name may hold. */
export const HOST_NAME = /^[A-Za-z0-9][A-Za-z0-9.-]{0,62}$/;
