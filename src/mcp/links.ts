// The open links, by the key of their server. When there are too many, the one that has been idle longest is closed.
// Servers that requests name do not displace configured ones, and the other way round.
import type { ServerLink } from "./server-link.ts";

export interface LinkBounds {
  readonly idleMs: number;
  /** Bounds the links to configured servers, and separately the links to servers that requests name. */
  readonly maxLinks: number;
  /** Bytes of all lists of tools of servers that requests name. */
  readonly maxRequestListBytes: number;
}

const SWEEP_MS = 30_000;

export interface Links {
  of(key: string): ServerLink | undefined;
  /** Makes room for a link; returns false when all links of its kind are in use. */
  makeRoom(key: string): boolean;
  add(key: string, link: ServerLink): void;
  /** Called after the server of `key` has been listed: lists of other servers are dropped to make room. */
  forgetLists(key: string): void;
  connected(): number;
  /** `keys` are those of all configured servers: links to servers that are no longer configured are retired. */
  configured(keys: ReadonlySet<string>): void;
  close(): Promise<void>;
}

export function openLinks({ idleMs, maxLinks, maxRequestListBytes }: LinkBounds): Links {
  const links = new Map<string, ServerLink>();
  let known: ReadonlySet<string> = new Set();
  let sweeping: ReturnType<typeof setInterval> | null = null;

  const end = (key: string, link: ServerLink): void => {
    links.delete(key);
    link.retire();
  };
  const sweep = (): void => {
    for (const [key, link] of links) if (link.idleMs() >= idleMs) end(key, link);
  };
  const linksLike = (key: string): [string, ServerLink][] =>
    [...links].filter(([other]) => known.has(other) === known.has(key));

  return {
    of: (key) => links.get(key),
    makeRoom(key) {
      const others = linksLike(key);
      if (others.length < maxLinks) return true;
      const [idle] = longestIdle(others);
      if (idle === undefined) return false;
      end(...idle);
      return true;
    },
    add(key, link) {
      links.set(key, link);
      sweeping ??= setInterval(sweep, Math.min(SWEEP_MS, idleMs)).unref();
    },
    forgetLists(key) {
      if (known.has(key)) return;
      const others = linksLike(key);
      let bytes = others.reduce((sum, [, link]) => sum + link.listBytes, 0);
      if (bytes <= maxRequestListBytes) return;
      for (const [other, link] of longestIdle(others)) {
        bytes -= link.listBytes;
        end(other, link);
        if (bytes <= maxRequestListBytes) return;
      }
    },
    connected: () => [...links.values()].filter((link) => link.isConnected).length,
    configured(keys) {
      for (const [key, link] of links) if (known.has(key) && !keys.has(key)) end(key, link);
      known = keys;
    },
    async close() {
      if (sweeping !== null) clearInterval(sweeping);
      await Promise.all([...links.values()].map((link) => link.close()));
      links.clear();
    },
  };
}

function longestIdle(links: readonly [string, ServerLink][]): [string, ServerLink][] {
  return links.filter(([, link]) => link.idleMs() > 0).toSorted(([, a], [, b]) => b.idleMs() - a.idleMs());
}
