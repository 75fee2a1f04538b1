// The links that are there, by the key of their server, and which go when there are too many: the one that was idle longest. What requests name takes no place of
// what is configured, and the other way round.
import type { ServerLink } from "./server-link.ts";

export interface LinkBounds {
  readonly idleMs: number;
  /** To configured servers, and as many to those that requests name. */
  readonly maxLinks: number;
  /** Lists of tools of servers that requests name, all together. */
  readonly maxAskedListBytes: number;
}

const SWEEP_MS = 30_000;

export interface Links {
  of(key: string): ServerLink | undefined;
  /** False: all of its kind are in use. */
  makeRoom(key: string): boolean;
  add(key: string, link: ServerLink): void;
  /** After a list of that server: others' make room for it. */
  forgetLists(key: string): void;
  connected(): number;
  /** Of all configured servers: links to what no longer is are retired. */
  configured(keys: ReadonlySet<string>): void;
  close(): Promise<void>;
}

export function openLinks({ idleMs, maxLinks, maxAskedListBytes }: LinkBounds): Links {
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
  const likeIt = (key: string): [string, ServerLink][] =>
    [...links].filter(([other]) => known.has(other) === known.has(key));

  return {
    of: (key) => links.get(key),
    makeRoom(key) {
      const others = likeIt(key);
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
      const others = likeIt(key);
      let bytes = others.reduce((sum, [, link]) => sum + link.listBytes, 0);
      if (bytes <= maxAskedListBytes) return;
      for (const [other, link] of longestIdle(others)) {
        bytes -= link.listBytes;
        end(other, link);
        if (bytes <= maxAskedListBytes) return;
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
