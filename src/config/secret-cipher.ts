// Encrypts stored secrets with AES-256-GCM under a master key (NIST SP 800-38D), each with its own nonce and bound to
// its place, so that an encrypted text that is moved to another row or field cannot be decrypted. The text names its
// key, so that keys can be changed one after the other: `sealed:1:<key id>:<handle>:<base64url of nonce, ciphertext and
// tag>`. The handle is random and distinguishes secrets without revealing them.
import { createHash, randomBytes } from "node:crypto";
import { messageOf } from "../core/thrown.ts";
import { openedBytes, sealedBytes } from "./sealed-bytes.ts";

const PREFIX = "sealed:1:";
const ENCRYPTED = /^sealed:1:([0-9a-f]{8}):([0-9a-f]{12}):([A-Za-z0-9_-]{38,})$/;
/** The form as a pattern of SQLite's GLOB, for a text that contains an encrypted one. */
export const CONTAINS_ENCRYPTED = `*${PREFIX}${"[0-9a-f]".repeat(8)}:${"[0-9a-f]".repeat(12)}:*`;
export const MASTER_KEY_BYTES = 32;

export type SecretCipher = ReturnType<typeof openSecretCipher>;

/** An encrypted text that cannot be decrypted; the message names the key that it requires, never its content. */
export class DecryptionError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "DecryptionError";
  }
}

/**
 * The first key encrypts, all of them decrypt. Each has 32 bytes. `readAgain` reads the keys again before a secret is
 * encrypted, and when a text names an unknown key, because a new one may have been added.
 */
export function openSecretCipher(keys: readonly Uint8Array[], readAgain: (() => readonly Uint8Array[]) | null = null) {
  if (keys.length === 0) throw new Error("a cipher needs a key");
  let byId = new Map(keys.map((key) => [keyIdOf(key), key]));
  const newest = (): readonly [id: string, key: Uint8Array] => byId.entries().next().value!;
  const readKeys = (): void => {
    if (readAgain !== null) byId = new Map(keysAgain(readAgain).map((key) => [keyIdOf(key), key]));
  };
  const keyOf = (id: string): Uint8Array | undefined => {
    if (!byId.has(id)) readKeys();
    return byId.get(id);
  };
  const decrypt = (ciphertext: string, place: string): string => {
    const [, keyId = "", handle = "", text = ""] = ENCRYPTED.exec(ciphertext) ?? [];
    if (keyId === "") throw new DecryptionError("it is not encrypted in the form of this version");
    const key = keyOf(keyId);
    if (key === undefined)
      throw new DecryptionError(
        `it was encrypted with the master key ${keyId}, which is not among ${[...byId.keys()].join(", ")}`,
      );
    const bytes = Buffer.from(text, "base64url");
    // Several texts decode to the same bytes; only the one that was written is accepted.
    if (bytes.toString("base64url") !== text) throw new DecryptionError("it was changed after it was encrypted");
    return decrypted(key, bytes, boundTo(keyId, handle, place), keyId);
  };
  return {
    /**
     * `place` names where the secret is stored, such as `provider/prv_1/api_key`; it can be decrypted only with the same
     * place.
     */
    encrypt: (secret: string, place: string): string => {
      try {
        readKeys();
      } catch {
        // The keys that are known are still those of the other secrets.
      }
      return encrypted(newest(), randomBytes(6).toString("hex"), secret, place);
    },
    /** Throws DecryptionError. */
    decrypt,
    /**
     * Encrypts the same secret under the newest key, or returns the same text if it uses that key already. Keeps the
     * handle. Throws DecryptionError.
     */
    reencrypt: (text: string, place: string): string =>
      text.startsWith(`${PREFIX}${newest()[0]}:`)
        ? text
        : encrypted(newest(), handleOf(text) ?? "", decrypt(text, place), place),
  };
}

/** The message names a file and never a key. */
function keysAgain(readAgain: () => readonly Uint8Array[]): readonly Uint8Array[] {
  try {
    return readAgain();
  } catch (error) {
    throw new DecryptionError(`the master keys cannot be read: ${messageOf(error)}`);
  }
}

/** Identifies a key without revealing it. */
function keyIdOf(key: Uint8Array): string {
  return createHash("sha256").update("dragoman master key\0").update(key).digest("hex").slice(0, 8);
}

/** Null when the text is not an encrypted secret. */
export function handleOf(text: string): string | null {
  return ENCRYPTED.exec(text)?.[2] ?? null;
}

function boundTo(keyId: string, handle: string, place: string): Buffer {
  return Buffer.from(`${PREFIX}${keyId}:${handle}\0${place}`);
}

function encrypted([keyId, key]: readonly [string, Uint8Array], handle: string, secret: string, place: string): string {
  const bytes = sealedBytes(key, Buffer.from(secret), boundTo(keyId, handle, place));
  return `${PREFIX}${keyId}:${handle}:${bytes.toString("base64url")}`;
}

function decrypted(key: Uint8Array, bytes: Buffer, bound: Buffer, keyId: string): string {
  try {
    return openedBytes(key, bytes, bound).toString("utf8");
  } catch {
    throw new DecryptionError(`it was changed, or copied from another place (master key ${keyId})`);
  }
}
