/** Where a command runs where neither its request nor its template names a folder: the guest's agent begins there. */
export const DEFAULT_WORKDIR = "/root";
