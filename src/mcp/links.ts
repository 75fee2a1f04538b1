// The open links, by the key of their server. When there are too many, the one that has been idle longest is closed.
// Servers that requests name do not displace configured ones, and the other way round; of each, those of one tenant may
// be half.
import { mostOfTenant } from "../core/concurrency/open-count.ts";
import type { ToolServer } from "../core/configured/tool.ts";
import type { ServerLink } from "./server-link.ts";

export interface LinkBounds {
  readonly idleMs: number;
  /**
   * Bounds the links to configured servers, and separately the links to servers that requests name. Half of each may be
   * those of one tenant.
   */
  readonly maxLinks: number;
  /** Bytes of all lists of tools of servers that requests name. Half of them may be those of one tenant. */
  readonly maxRequestListBytes: number;
  /** The same of configured servers. */
  readonly maxListBytes: number;
}

const SWEEP_MS = 30_000;

export function openLinks({ idleMs, maxLinks, maxRequestListBytes, maxListBytes }: LinkBounds) {
  const links = new Map<string, ServerLink>();
  let known: ReadonlySet<string> = new Set();
  let sweeping: ReturnType<typeof setInterval> | null = null;

  const end = (link: ServerLink): void => {
    links.delete(link.server.key);
    link.retire();
  };
  const sweep = (): void => {
    for (const link of links.values()) if (link.idleMs() >= idleMs) end(link);
  };
  /** The links that share a bound with one, and what of a bound they may have together. */
  function* boundsOf({ key, tenantId }: ToolServer): Generator<readonly [readonly ServerLink[], typeof mostOfTenant]> {
    const like = (): ServerLink[] =>
      [...links.values()].filter(({ server }) => known.has(server.key) === known.has(key));
    if (tenantId !== null) yield [like().filter(({ server }) => server.tenantId === tenantId), mostOfTenant];
    yield [like(), (most) => most];
  }

  return {
    of: (key: string) => links.get(key),
    /** Makes room for a link; returns false when all links of its kind, or those of its tenant, are in use. */
    makeRoom(server: ToolServer): boolean {
      for (const [others, boundOf] of boundsOf(server)) {
        if (others.length < boundOf(maxLinks)) continue;
        const [idle] = longestIdle(others);
        if (idle === undefined) return false;
        end(idle);
      }
      return true;
    },
    add(link: ServerLink): void {
      links.set(link.server.key, link);
      sweeping ??= setInterval(sweep, Math.min(SWEEP_MS, idleMs)).unref();
    },
    /** Called after this server has been listed: lists of other servers are dropped to make room. */
    forgetLists(server: ToolServer): void {
      const most = known.has(server.key) ? maxListBytes : maxRequestListBytes;
      for (const [others, boundOf] of boundsOf(server)) {
        let bytes = others.reduce((sum, link) => sum + link.listBytes, 0);
        for (const link of longestIdle(others)) {
          if (bytes <= boundOf(most)) break;
          bytes -= link.listBytes;
          end(link);
        }
      }
    },
    connected: () => [...links.values()].filter((link) => link.isConnected).length,
    /** `keys` are those of all configured servers: links to servers that are no longer configured are retired. */
    configured(keys: ReadonlySet<string>): void {
      for (const [key, link] of links) if (known.has(key) && !keys.has(key)) end(link);
      known = keys;
    },
    async close(): Promise<void> {
      if (sweeping !== null) clearInterval(sweeping);
      await Promise.all([...links.values()].map((link) => link.close()));
      links.clear();
    },
  };
}

function longestIdle(links: readonly ServerLink[]): readonly ServerLink[] {
  return links.filter((link) => link.idleMs() > 0).toSorted((a, b) => b.idleMs() - a.idleMs());
}
