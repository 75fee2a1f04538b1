// The key that signs exports of the audit log: Ed25519 (RFC 8032). It is the one of the configuration, or one that is
// derived from the master key, so that all gateways of a database have the same without keeping another secret.
import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from "node:crypto";
import { derivedKey } from "../../config/derived-keys.ts";

const PUBLIC_BYTES = 32;
/** What stands before the seed of a private key, and before a public key (RFC 8410). */
const PRIVATE_PREFIX = Buffer.from("302e020100300506032b657004220420", "hex");
const PUBLIC_PREFIX = Buffer.from("302a300506032b6570032100", "hex");

export type AuditSigner = ReturnType<typeof auditSigner>;

/** Null when the text is no private key for Ed25519 in PEM. */
export function signingKeyOf(pem: string): KeyObject | null {
  try {
    const key = createPrivateKey(pem);
    return key.asymmetricKeyType === "ed25519" ? key : null;
  } catch {
    return null;
  }
}

/** `pem` is the key of the configuration; null derives one from the master key. */
export function auditSigner(pem: string | null, masterKey: Uint8Array) {
  const key = (pem === null ? null : signingKeyOf(pem)) ?? ownSigningKey(masterKey);
  const encoded = createPublicKey(key).export({ format: "der", type: "spki" });
  return {
    /** 32 bytes in base64. */
    publicKey: encoded.subarray(-PUBLIC_BYTES).toString("base64"),
    /** In base64. */
    sign: (text: string) => sign(null, Buffer.from(text), key).toString("base64"),
  };
}

function ownSigningKey(masterKey: Uint8Array): KeyObject {
  const seed = derivedKey(masterKey, "dragoman audit export\0signature");
  return createPrivateKey({ key: Buffer.concat([PRIVATE_PREFIX, seed]), format: "der", type: "pkcs8" });
}

/** Whether the holder of the private key has signed the text. A public key that is none has signed nothing. */
export function isSignedBy(publicKey: string, text: string, signature: string): boolean {
  const bytes = Buffer.from(publicKey, "base64");
  if (bytes.length !== PUBLIC_BYTES) return false;
  try {
    const key = createPublicKey({ key: Buffer.concat([PUBLIC_PREFIX, bytes]), format: "der", type: "spki" });
    return verify(null, Buffer.from(text), key, Buffer.from(signature, "base64"));
  } catch {
    return false;
  }
}
