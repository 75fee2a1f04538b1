// A chain of the audit log as a file: JSON Lines with a head, the links, and an end that is signed. The file can be checked
// without the gateway; docs/audit.md describes it for other programs.
import { createHash } from "node:crypto";
import { isObject, type Json, jsonIn, type JsonObject } from "../../core/json.ts";
import { CHAIN_START, ChainCheck, type ChainHead, type ChainLink } from "./audit-chain.ts";
import { type AuditSigner, isSignedBy } from "./audit-signature.ts";
import type { ChainReader } from "../reader.ts";

const FORMAT = 1;
const LINKS_AT_ONCE = 500;

export interface ExportedChain {
  /** Null for what concerns no tenant. */
  readonly tenantId: string | null;
  readonly chain: string;
  readonly nowMs: number;
  /** Times of rows; null for all. */
  readonly fromMs: number | null;
  readonly toMs: number | null;
}

type Reading = Pick<ChainReader, "auditHead" | "auditLinks" | "auditLinkAt">;

/** Some lines of an export, in UTF-8, and the last link among them. */
export interface ExportPage {
  readonly lines: Uint8Array;
  readonly end: ChainHead;
}

/** What an export is made of, which is read in another thread. */
export type ExportReads = ReturnType<typeof exportReads>;

export const exportReads = (reader: Reading) => ({
  exportBounds: (what: ExportedChain) => boundsOf(reader, what),
  /**
   * Returns the links after the number `after` and up to the number `last`, or the first of them where they are too many
   * for one page; `null` when there are none.
   */
  async exportPage(chain: string, after: number, last: number): Promise<ExportPage | null> {
    const links = await reader.auditLinks(chain, after, Math.min(LINKS_AT_ONCE, last - after));
    const some = links.filter(({ sequence }) => sequence <= last);
    if (some.length === 0) return null;
    const { sequence, hash } = some.at(-1)!;
    return { lines: Buffer.from(some.map((link) => textOf(lineOf(link))).join("")), end: { sequence, hash } };
  },
});

const textOf = (line: JsonObject): string => `${JSON.stringify(line)}\n`;

/** Yields some lines at a time. What is written meanwhile is not in it. */
export async function* exportedChain(
  reads: ExportReads,
  what: ExportedChain,
  signer: AuditSigner,
): AsyncGenerator<Uint8Array, void, void> {
  const { chain, tenantId, nowMs } = what;
  const { before, last } = await reads.exportBounds(what);
  const hash = createHash("sha256");
  const hashed = (lines: Uint8Array): Uint8Array => {
    hash.update(lines);
    return lines;
  };
  const head = textOf({
    dragoman_audit_export: FORMAT,
    tenant_id: tenantId,
    exported_at: new Date(nowMs).toISOString(),
    before: { ...before },
  });
  yield hashed(Buffer.from(head));
  let end: ChainHead = before;
  while (end.sequence < last) {
    const page = await reads.exportPage(chain, end.sequence, last);
    if (page === null) break;
    yield hashed(page.lines);
    ({ end } = page);
  }
  const sha256 = hash.digest("hex");
  const { publicKey } = signer;
  yield Buffer.from(
    textOf({ end: { ...end }, sha256, public_key: publicKey, signature: signer.sign(signedText(sha256)) }),
  );
}

/** What is signed: the hash of all lines before the last one, each with its line break. */
const signedText = (sha256: string): string => `dragoman audit export ${FORMAT}\n${sha256}\n`;

/** The links between which an export is: the one before its first, and the number of its last. */
async function boundsOf(reader: Reading, { chain, fromMs, toMs }: ExportedChain) {
  const head = (await reader.auditHead(chain)) ?? CHAIN_START;
  const last = toMs === null ? head : ((await reader.auditLinkAt(chain, toMs, "last_before")) ?? CHAIN_START);
  const first = fromMs === null ? null : await reader.auditLinkAt(chain, fromMs, "first_from");
  if (fromMs !== null && first === null) return { before: head, last: head.sequence };
  if (first === null || first.sequence <= 1) return { before: CHAIN_START, last: last.sequence };
  const [before] = await reader.auditLinks(chain, first.sequence - 2, 1);
  return {
    before: { sequence: first.sequence - 1, hash: before?.sequence === first.sequence - 1 ? before.hash : "" },
    last: last.sequence,
  };
}

const lineOf = ({ sequence, atMs, outcome, contentHash, hash, content }: ChainLink): JsonObject => ({
  sequence,
  at_ms: atMs,
  outcome,
  content_sha256: contentHash,
  hash,
  content,
});

/** Reads the lines of an export. Throws Error with what is wrong where they are none. */
export async function checkedExport(lines: AsyncIterable<string>) {
  const hash = createHash("sha256");
  let head: { readonly tenantId: string | null; readonly exportedAt: string; readonly before: ChainHead } | null = null;
  let check: ChainCheck | null = null;
  let waiting: string | null = null;
  let line = 0;
  for await (const text of lines) {
    if (text === "") continue;
    if (waiting !== null) {
      line++;
      hash.update(`${waiting}\n`);
      if (check === null) {
        head = headOf(waiting);
        check = new ChainCheck(head.before);
      } else check.add(linkOf(waiting, line));
    }
    waiting = text;
  }
  if (waiting === null || head === null || check === null)
    throw new Error("The file is no export of the audit log: it has no first line, or no end.");
  const { end, sha256, publicKey, signature } = endOf(waiting);
  const { head: _end, ...report } = check.end(end);
  const isSigned = hash.digest("hex") === sha256 && isSignedBy(publicKey, signedText(sha256), signature);
  return { ...head, ...report, end, publicKey, isSigned };
}

function objectIn(text: string, line: number | "last"): JsonObject {
  const value = jsonIn(text);
  if (isObject(value)) return value;
  throw new Error(`The ${line === "last" ? "last line" : `line ${line}`} of the export is no JSON object.`);
}

const chainHeadOf = (value: Json | undefined): ChainHead | null =>
  isObject(value) && typeof value["sequence"] === "number" && typeof value["hash"] === "string"
    ? { sequence: value["sequence"], hash: value["hash"] }
    : null;

function headOf(text: string) {
  const { dragoman_audit_export: format, tenant_id: tenantId, exported_at: exportedAt, before } = objectIn(text, 1);
  const start = chainHeadOf(before);
  if (format !== FORMAT || start === null || typeof exportedAt !== "string")
    throw new Error(`The file is no export of the audit log in the format ${FORMAT}, which this version knows.`);
  return { tenantId: typeof tenantId === "string" ? tenantId : null, exportedAt, before: start };
}

function linkOf(text: string, line: number): ChainLink {
  const { sequence, at_ms: atMs, outcome, content_sha256: contentHash, hash, content } = objectIn(text, line);
  if (
    typeof sequence !== "number" ||
    typeof atMs !== "number" ||
    typeof outcome !== "string" ||
    typeof contentHash !== "string" ||
    typeof hash !== "string" ||
    (content !== null && typeof content !== "string")
  )
    throw new Error(`Line ${line} of the export is no row of the audit log.`);
  return { sequence, atMs, outcome, contentHash, hash, content };
}

function endOf(text: string) {
  const { end, sha256, public_key: publicKey, signature } = objectIn(text, "last");
  const last = chainHeadOf(end);
  if (last === null || typeof sha256 !== "string" || typeof publicKey !== "string" || typeof signature !== "string")
    throw new Error("The export has no end: it was cut off, and what it lacks is unknown.");
  return { end: last, sha256, publicKey, signature };
}
