// Checks a chain of the audit log in the database, some rows at a time, so that others are served in between.
import { ChainCheck, type ChainHead, type ChainReport, CHAIN_START } from "./audit-chain.ts";
import type { ChainReader } from "../reader.ts";

const LINKS_AT_ONCE = 500;

/** `known` is a head that the reader has from an earlier time. What is written meanwhile is not looked at. */
export async function checkChain(
  reader: Pick<ChainReader, "auditHead" | "auditLinks">,
  chain: string,
  known: ChainHead | null = null,
): Promise<ChainReport> {
  const head = (await reader.auditHead(chain)) ?? CHAIN_START;
  const check = new ChainCheck(CHAIN_START, known);
  for (let after = 0; ;) {
    const links = await reader.auditLinks(chain, after, LINKS_AT_ONCE);
    for (const link of links) if (link.sequence <= head.sequence) check.add(link);
    const beyond = links.find(({ sequence }) => sequence > head.sequence);
    after = links.at(-1)?.sequence ?? after;
    if (beyond !== undefined && !(await isInChain(reader, chain, beyond))) check.add(beyond);
    if (links.length === 0 || beyond !== undefined) return check.end(head);
    await Bun.sleep(0);
  }
}

/** Whoever writes a row moves the head with it. */
async function isInChain(
  reader: Pick<ChainReader, "auditHead">,
  chain: string,
  { sequence }: ChainHead,
): Promise<boolean> {
  return ((await reader.auditHead(chain))?.sequence ?? 0) >= sequence;
}
