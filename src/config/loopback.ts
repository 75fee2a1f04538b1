// Addresses and names that lead to this machine only.

const ADDRESS = /^(::1|(::ffff:)?127\.\d+\.\d+\.\d+)$/;
/** For example `localhost:8080`, `127.0.0.1` or `[::1]:8080`. */
const HOST = /^(?:(?:[a-z0-9-]+\.)*localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d{1,5})?$/i;

/** Whether the address of a socket is one of this machine only. */
export const isLoopbackAddress = (address: string): boolean => ADDRESS.test(address);

/** Whether the host of a URL or of a `Host` header, with or without a port, names this machine. */
export const isLocalHost = (host: string): boolean => HOST.test(host);

/** Whether a listener at this host, as the configuration writes it, can be reached from this machine only. */
export const listensLocally = (host: string): boolean => isLoopbackAddress(host) || isLocalHost(host);
