// Bytes encrypted with AES-256-GCM (NIST SP 800-38D) and bound to a place: nonce, ciphertext and tag. What was moved to
// another place or changed cannot be opened.
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

export const SEALING_KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export function sealedBytes(key: Uint8Array, text: Uint8Array, place: Uint8Array): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(place);
  return Buffer.concat([nonce, cipher.update(text), cipher.final(), cipher.getAuthTag()]);
}

/** Throws an Error when the bytes were sealed with another key or for another place, or were changed. */
export function openedBytes(key: Uint8Array, sealed: Uint8Array, place: Uint8Array): Buffer {
  if (sealed.length < NONCE_BYTES + TAG_BYTES) throw new Error("it is too short");
  const decipher = createDecipheriv("aes-256-gcm", key, sealed.subarray(0, NONCE_BYTES))
    .setAAD(place)
    .setAuthTag(sealed.subarray(-TAG_BYTES));
  return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
}
