// A port of the loopback that no program listens on, for programs that cannot choose one themselves and report it. It is
// below the ports that systems give to outgoing connections (from 32768 on Linux, from 49152 elsewhere), any of which may
// be taken by a connection before the program listens.

/** Browsers refuse 10080. */
const FIRST = 11_000;
const LAST = 31_999;

export function freePort(): number {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST + 1));
    if (isFree(port)) return port;
  }
}

export function isFree(port: number): boolean {
  try {
    Bun.listen({ hostname: "127.0.0.1", port, socket: { data() {} } }).stop(true);
    return true;
  } catch {
    return false;
  }
}
