// Addresses and names that lead to this machine only.

const ADDRESS = /^(::1|(::ffff:)?127\.\d+\.\d+\.\d+)$/;
/** For example `localhost:8080`, `127.0.0.1` or `[::1]:8080`. */
const HOST = /^(?:(?:[a-z0-9-]+\.)*localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d{1,5})?$/i;

export const isLoopbackAddress = (address: string): boolean => ADDRESS.test(address);

/** Whether the host of a URL or of a `Host` header, with or without a port, names this machine. */
export const isLocalHost = (host: string): boolean => HOST.test(host);

/** Where a program on this machine calls what listens at this host: all addresses also means those of this machine. */
export const calledLocally = (host: string): string =>
  host === "0.0.0.0" ? "127.0.0.1" : host === "::" || host === "[::]" ? "[::1]" : host;

/** The same for the address of a gateway. */
export function calledUrl(url: string): string {
  const { protocol, hostname, port } = new URL(url);
  return `${protocol}//${calledLocally(hostname)}${port === "" ? "" : `:${port}`}`;
}

/** Whether a listener at this host, as the configuration writes it, can be reached from this machine only. */
export const listensLocally = (host: string): boolean => isLoopbackAddress(host) || isLocalHost(host);
