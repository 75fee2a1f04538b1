// Compresses and encrypts the content of calls before it goes to the database: AES-256-GCM (NIST SP 800-38D) under a
// key of the tenant, which is stored encrypted under the master key. A new master key therefore re-encrypts a few keys
// and no contents, and removing its key destroys all content of a tenant.
import { randomBytes } from "node:crypto";
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import { openedBytes, SEALING_KEY_BYTES, sealedBytes } from "../../config/sealed-bytes.ts";
import type { SecretCipher } from "../../config/secret-cipher.ts";
import type { JsonObject } from "../../core/json.ts";
import { messageOf } from "../../core/thrown.ts";
import { parseOwnJson } from "../../wire/json/json.ts";
import type { CallStore, ContentKey, StoredContent } from "./calls.ts";
import type { ConfigurationScope } from "../records.ts";
import { StoreError } from "../store-error.ts";

const FORMAT = 1;
/** Keys that are older are forgotten with the next question for one, so that no key outlives its removed tenant for long. */
const KNOWN_MS = 60_000;
/** How often a batch is encrypted again with the key that its tenant has now. */
const MOST_TRIES = 3;
/** No text is longer: settings limit its characters, and JSON may escape each of them. */
const MAX_TEXT_BYTES = 64 * 1024 * 1024;

export interface ContentText extends Omit<StoredContent, "body"> {
  /** JSON of the content. */
  readonly text: string;
}

export interface OpenedContent extends Omit<StoredContent, "body"> {
  readonly content: JsonObject;
}

export type ContentStore = ReturnType<typeof openContentStore>;

export type ContentWriter = Pick<CallStore, "contentKey" | "keepContents">;

export interface ContentStoreOptions {
  readonly calls: Pick<CallStore, "findContents" | "countContents" | "removeContents"> & ContentWriter;
  /** Where another process writes to the database. */
  readonly writer?: ContentWriter | undefined;
  readonly cipher: SecretCipher;
  readonly now: () => number;
}

/** The place to which the encryption of a tenant's key is bound. */
export function contentKeyPlace(tenantId: string): string {
  return `content/${tenantId}`;
}

interface OpenedKey extends ContentKey {
  readonly key: Buffer;
}

export function openContentStore({ calls, writer = calls, cipher, now }: ContentStoreOptions) {
  const keys = new Map<string, { readonly key: Promise<OpenedKey | null>; readonly askedMs: number }>();
  const isFresh = ({ askedMs }: { readonly askedMs: number }): boolean => Math.abs(now() - askedMs) < KNOWN_MS;
  /** `null` when the tenant no longer exists. */
  const keyOf = (tenantId: string): Promise<OpenedKey | null> => {
    const known = keys.get(tenantId);
    if (known !== undefined && isFresh(known)) return known.key;
    for (const [id, one] of keys) if (!isFresh(one)) keys.delete(id);
    const key = askKey(tenantId);
    keys.set(tenantId, { key, askedMs: now() });
    // the tenant may be created again at any time
    key.then(
      (one) => one ?? keys.delete(tenantId),
      () => keys.delete(tenantId),
    );
    return key;
  };
  const askKey = async (tenantId: string): Promise<OpenedKey | null> => {
    const place = contentKeyPlace(tenantId);
    const sealed = await writer.contentKey(
      tenantId,
      cipher.encrypt(randomBytes(SEALING_KEY_BYTES).toString("base64"), place),
    );
    if (sealed === null) return null;
    try {
      return { tenantId, sealed, key: Buffer.from(cipher.decrypt(sealed, place), "base64") };
    } catch (error) {
      throw new StoreError(
        "encryption",
        `The content of calls that the tenant ${tenantId} keeps cannot be decrypted: ${messageOf(error)}. If its master key is lost, remove the content, and the tenant can keep content again: dragoman logs --purge-content --tenant ${tenantId}`,
        error,
      );
    }
  };
  const opened = async (row: StoredContent): Promise<Buffer> => {
    const known = await keyOf(row.tenantId);
    try {
      if (known !== null) return decrypted(known.key, row.body, boundTo(row));
    } catch {
      // the tenant may have been created again
    }
    keys.delete(row.tenantId);
    const asked = await keyOf(row.tenantId);
    if (asked === null) throw new StoreError("unknown", `The tenant ${row.tenantId} no longer exists.`);
    return decrypted(asked.key, row.body, boundTo(row));
  };
  const findKept = async (traceIds: readonly string[]): Promise<readonly StoredContent[]> =>
    (await calls.findContents(traceIds)).filter(({ expiresMs }) => expiresMs > now());
  const findAll = async (traceIds: readonly string[]): Promise<readonly OpenedContent[]> =>
    await Promise.all(
      (await findKept(traceIds)).map(async ({ body, ...row }) => {
        const text = await expanded(await opened({ ...row, body }), { maxOutputLength: MAX_TEXT_BYTES });
        return { ...row, content: parseOwnJson(text.toString("utf8")) as JsonObject };
      }),
    );
  return {
    /** Stores all of them, or rejects: with StoreError `encryption` when the key of a tenant cannot be decrypted. */
    async keep(contents: readonly ContentText[]): Promise<void> {
      const tenantIds = [...new Set(contents.map(({ tenantId }) => tenantId))];
      for (let tries = 0; tries < MOST_TRIES; tries++) {
        const asked = await Promise.all(tenantIds.map(keyOf));
        const used = new Map(asked.filter((one) => one !== null).map((one) => [one.tenantId, one]));
        const rows = await Promise.all(
          contents
            .filter(({ tenantId }) => used.has(tenantId))
            .map(async ({ text, ...one }): Promise<StoredContent> => ({
              ...one,
              body: encrypted(used.get(one.tenantId)!.key, await compressed(text), boundTo(one)),
            })),
        );
        const sealed = [...used.values()].map(({ tenantId, sealed: stored }) => ({ tenantId, sealed: stored }));
        if (await writer.keepContents(rows, sealed)) return;
        // a tenant was created again, or its key is under another master key now
        for (const tenantId of tenantIds) keys.delete(tenantId);
      }
      throw new StoreError("busy", "The keys of tenants change all the time.");
    },
    /**
     * `null` when nothing is stored or its retention has ended. Throws StoreError `encryption` when it cannot be decrypted
     * with its key.
     */
    find: async (traceId: string) => (await findAll([traceId]))[0] ?? null,
    /** The same of several ids, asked for at once. */
    findAll,
    /**
     * The time until which content is kept, in milliseconds since 1970, or `null` as for find(). Does not need the key.
     */
    keptUntilMs: async (traceId: string) => (await findKept([traceId]))[0]?.expiresMs ?? null,
    /** The number of calls in a place that have stored content. */
    count: (place: ConfigurationScope) => calls.countContents(place),
    /** Removes the contents of these ids. */
    async removeOnes(traceIds: readonly string[]): Promise<void> {
      while ((await calls.removeContents({ traceIds })) > 0);
    },
    /** Removes all content of a place. Returns how many calls had some. */
    async remove({ tenantId, projectId }: ConfigurationScope): Promise<number> {
      const removed = await calls.countContents({ tenantId, projectId });
      while ((await calls.removeContents({ tenantId, projectId })) > 0);
      return removed;
    },
  };
}

/** These run in the threads of the runtime. */
const compressed = promisify<string, Buffer>(gzip);
const expanded = promisify<Uint8Array, { readonly maxOutputLength: number }, Buffer>(gunzip);

/** Content that was moved to another call cannot be decrypted. */
function boundTo({ tenantId, projectId, traceId }: Pick<StoredContent, "tenantId" | "projectId" | "traceId">): Buffer {
  return Buffer.from(JSON.stringify(["content", tenantId, projectId, traceId]));
}

function encrypted(key: Buffer, text: Uint8Array, bound: Buffer): Uint8Array {
  return Buffer.concat([Buffer.of(FORMAT), sealedBytes(key, text, bound)]);
}

function decrypted(key: Buffer, body: Uint8Array, bound: Buffer): Buffer {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  try {
    if (bytes[0] !== FORMAT) throw new Error("it was written by a later version");
    return openedBytes(key, bytes.subarray(1), bound);
  } catch (error) {
    throw new StoreError(
      "encryption",
      `The content of the call cannot be decrypted: it was changed, or its key is a different one (${messageOf(error)}).`,
      error,
    );
  }
}
