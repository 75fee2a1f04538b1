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
import type { CallStore, StoredContent } from "./calls.ts";
import type { ConfigurationScope } from "../records.ts";
import { StoreError } from "../store.ts";

const FORMAT = 1;
/** A tenant may be removed and another one created under the same name, so a cached key expires after this time. */
const KNOWN_MS = 60_000;
/** No text is longer: settings limit its characters, and JSON may escape each of them. */
const MAX_TEXT_BYTES = 64 * 1024 * 1024;

export interface ContentText extends Omit<StoredContent, "body"> {
  /** JSON of the content. */
  readonly text: string;
}

export interface ContentStore {
  /** Stores all of them, or rejects. */
  keep(contents: readonly ContentText[]): Promise<void>;
  /**
   * `null` when nothing is stored or its retention has ended. Throws StoreError `encryption` when it cannot be decrypted
   * with its key.
   */
  find(
    traceId: string,
  ): Promise<(Pick<StoredContent, "tenantId" | "projectId" | "expiresMs"> & { readonly content: JsonObject }) | null>;
  /**
   * The time until which content is kept, in milliseconds since 1970, or `null` as for find(). Does not need the key.
   */
  keptUntilMs(traceId: string): Promise<number | null>;
  /** The number of calls in a place that have stored content. */
  count(place: ConfigurationScope): Promise<number>;
  /** Removes the contents of these ids. */
  removeOnes(traceIds: readonly string[]): Promise<void>;
  /** Removes all content of a place. Returns how many were removed. */
  remove(place: ConfigurationScope): Promise<number>;
}

export type ContentWriter = Pick<CallStore, "contentKey" | "keepContents">;

export interface ContentStoreOptions {
  readonly calls: Pick<CallStore, "findContent" | "countContents" | "removeContents"> & ContentWriter;
  /** Where another process writes to the database. */
  readonly writer?: ContentWriter | undefined;
  readonly cipher: SecretCipher;
  readonly now: () => number;
}

/** The place to which the encryption of a tenant's key is bound. */
export function contentKeyPlace(tenantId: string): string {
  return `content/${tenantId}`;
}

export function openContentStore({ calls, writer = calls, cipher, now }: ContentStoreOptions): ContentStore {
  const keys = new Map<string, { readonly key: Promise<Buffer>; readonly askedMs: number }>();
  const keyOf = (tenantId: string): Promise<Buffer> => {
    const known = keys.get(tenantId);
    if (known !== undefined && Math.abs(now() - known.askedMs) < KNOWN_MS) return known.key;
    const key = askKey(tenantId);
    keys.set(tenantId, { key, askedMs: now() });
    key.catch(() => keys.delete(tenantId));
    return key;
  };
  const askKey = async (tenantId: string): Promise<Buffer> => {
    const place = contentKeyPlace(tenantId);
    const encryptedKey = await writer.contentKey(
      tenantId,
      cipher.encrypt(randomBytes(SEALING_KEY_BYTES).toString("base64"), place),
    );
    try {
      return Buffer.from(cipher.decrypt(encryptedKey, place), "base64");
    } catch (error) {
      throw new StoreError(
        "encryption",
        `The content of calls that the tenant ${tenantId} keeps cannot be decrypted: ${messageOf(error)}.`,
        error,
      );
    }
  };
  const findKept = async (traceId: string): Promise<StoredContent | null> => {
    const row = await calls.findContent(traceId);
    return row === null || row.expiresMs <= now() ? null : row;
  };
  return {
    async keep(contents) {
      const rows = await Promise.all(
        contents.map(async ({ text, ...one }): Promise<StoredContent> => ({
          ...one,
          body: encrypted(await keyOf(one.tenantId), await compressed(text), boundTo(one)),
        })),
      );
      await writer.keepContents(rows);
    },
    async find(traceId) {
      const row = await findKept(traceId);
      if (row === null) return null;
      const text = await expanded(decrypted(await keyOf(row.tenantId), row.body, boundTo(row)), {
        maxOutputLength: MAX_TEXT_BYTES,
      });
      return {
        tenantId: row.tenantId,
        projectId: row.projectId,
        expiresMs: row.expiresMs,
        content: JSON.parse(text.toString("utf8")) as JsonObject,
      };
    },
    keptUntilMs: async (traceId) => (await findKept(traceId))?.expiresMs ?? null,
    count: (place) => calls.countContents(place),
    async removeOnes(traceIds) {
      while ((await calls.removeContents({ traceIds })) > 0);
    },
    async remove({ tenantId, projectId }) {
      let removed = 0;
      for (;;) {
        const gone = await calls.removeContents({ tenantId, projectId });
        if (gone === 0) return removed;
        removed += gone;
      }
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
