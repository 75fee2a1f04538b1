// Secrets as they are kept: AES-256-GCM under a master key (NIST SP 800-38D), each with a nonce of its own, and bound to its place, so that a sealed text
// that is moved to another row or field does not open. The text names its key, so that keys can be changed one after the other:
// `sealed:1:<key id>:<handle>:<base64url of nonce, ciphertext and tag>`. The handle is random and tells one secret from another without telling either.
import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";

const PREFIX = "sealed:1:";
const SEALED = /^sealed:1:([0-9a-f]{8}):([0-9a-f]{12}):([A-Za-z0-9_-]{38,})$/;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
export const MASTER_KEY_BYTES = 32;

export interface Sealer {
  /** `place` says where the secret stands, such as `provider/prv_1/api_key`; only there it opens. */
  seal(secret: string, place: string): string;
  /** Throws SealError. */
  open(sealed: string, place: string): string;
  /** The same secret under the newest key, or the very text where it is under that already. Keeps the handle. Throws SealError. */
  reseal(sealed: string, place: string): string;
}

/** A sealed text that does not open; the message names the key that it wants, and never what is in it. */
export class SealError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "SealError";
  }
}

/**
 * The first key seals, all of them open. Each has 32 bytes. `readAgain`: where the keys are, asked when a text names a key that is not known: somebody may
 * have put a new one there.
 */
export function openSealer(
  keys: readonly Uint8Array[],
  readAgain: (() => readonly Uint8Array[]) | null = null,
): Sealer {
  if (keys.length === 0) throw new Error("a sealer needs a key");
  let byId = new Map(keys.map((key) => [keyIdOf(key), key]));
  const newest = (): readonly [id: string, key: Uint8Array] => byId.entries().next().value!;
  const keyOf = (id: string): Uint8Array | undefined => {
    if (!byId.has(id) && readAgain !== null) byId = new Map(asked(readAgain).map((key) => [keyIdOf(key), key]));
    return byId.get(id);
  };
  const open = (sealed: string, place: string): string => {
    const [, keyId = "", handle = "", text = ""] = SEALED.exec(sealed) ?? [];
    if (keyId === "") throw new SealError("it is no sealed text of this version");
    const key = keyOf(keyId);
    if (key === undefined)
      throw new SealError(
        `it was sealed with the master key ${keyId}, which is not among ${[...byId.keys()].join(", ")}`,
      );
    const bytes = Buffer.from(text, "base64url");
    // several texts decode to the same bytes; only the one that was written is it
    if (bytes.toString("base64url") !== text) throw new SealError("it was changed since it was sealed");
    return decrypted(key, bytes, boundTo(keyId, handle, place), keyId);
  };
  return {
    seal: (secret, place) => encrypted(newest(), randomBytes(6).toString("hex"), secret, place),
    open,
    reseal: (text, place) =>
      text.startsWith(`${PREFIX}${newest()[0]}:`)
        ? text
        : encrypted(newest(), handleOf(text) ?? "", open(text, place), place),
  };
}

/** Its faults tell of a file and never of a key. */
function asked(readAgain: () => readonly Uint8Array[]): readonly Uint8Array[] {
  try {
    return readAgain();
  } catch (error) {
    throw new SealError(
      `the master keys cannot be read again: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

/** Names a key without telling it. */
function keyIdOf(key: Uint8Array): string {
  return createHash("sha256").update("dragoman master key\0").update(key).digest("hex").slice(0, 8);
}

/** Null: it is no sealed text. */
export function handleOf(text: string): string | null {
  return SEALED.exec(text)?.[2] ?? null;
}

function boundTo(keyId: string, handle: string, place: string): Buffer {
  return Buffer.from(`${PREFIX}${keyId}:${handle}\0${place}`);
}

function encrypted([keyId, key]: readonly [string, Uint8Array], handle: string, secret: string, place: string): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(boundTo(keyId, handle, place));
  const bytes = Buffer.concat([nonce, cipher.update(secret, "utf8"), cipher.final(), cipher.getAuthTag()]);
  return `${PREFIX}${keyId}:${handle}:${bytes.toString("base64url")}`;
}

function decrypted(key: Uint8Array, bytes: Buffer, bound: Buffer, keyId: string): string {
  const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, NONCE_BYTES))
    .setAAD(bound)
    .setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]).toString("utf8");
  } catch {
    throw new SealError(`it does not open with the master key ${keyId}: it was changed, or moved from another place`);
  }
}
