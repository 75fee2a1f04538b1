// Goes through the console as somebody does who follows every link: from each start to what it links to, each page once.
import type { ConsolePage } from "./chromium.ts";

export interface CrawlOptions {
  /** Paths below `/console`. */
  readonly starts: readonly string[];
  /** What is done on each page when it is whole. */
  readonly visit: (path: string) => Promise<void>;
  /** How many pages of one kind are opened: pages are of one kind when they differ in their last part or their query only. */
  readonly mostOfAKind?: number;
}

/** Returns the paths that were visited. */
export async function crawl(
  made: ConsolePage,
  { starts, visit, mostOfAKind = 3 }: CrawlOptions,
): Promise<readonly string[]> {
  const waiting = [...starts];
  const visited = new Set<string>();
  const ofKind = new Map<string, number>();
  for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
    if (visited.has(path)) continue;
    const isStart = starts.includes(path);
    const kind = `${path.replace(/[?#].*/, "").replace(/\/[^/]*$/, "")}?${[...new URLSearchParams(path.split("?")[1]).keys()].join()}`;
    const before = ofKind.get(kind) ?? 0;
    if (!isStart && before >= mostOfAKind) continue;
    ofKind.set(kind, before + 1);
    visited.add(path);
    await made.go(path);
    await made.settled();
    await visit(path);
    if (!isStart) continue;
    const links = await made.page
      .locator("main a[href]")
      .evaluateAll((anchors) => anchors.map((anchor) => (anchor as unknown as { href: string }).href));
    for (const link of links) {
      const found = /\/console(\/[^#]*)/.exec(link)?.[1];
      if (found !== undefined && !found.startsWith("/api/") && !found.startsWith("/oidc/")) waiting.push(found);
    }
  }
  return [...visited];
}
