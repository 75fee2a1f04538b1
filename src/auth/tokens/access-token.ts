// The text of an access token: dgm_pt_<id>_<secret> (project) or dgm_ut_<id>_<secret> (personal). The secret is 256
// random bits in 43 base62 characters, followed by 6 characters with the CRC-32 of everything before them, so that a
// mistyped token is refused without a look-up and a secret scanner can tell a token from random text. The secret has
// enough entropy that one SHA-256 suffices to store it. Also how long a token is valid by default.
// https://github.blog/engineering/platform-security/behind-githubs-new-authentication-token-formats/

// Decides (who may call, and with what): What is a valid access token? By: `parseTokenText`. Also:
// `auth/identify.ts` (`authenticate`). Rule: Length, shape and checksum are in the text; then the id is looked up
// in the snapshot and the hash compared. A text of another form may be an imported key of another gateway, which is
// found by its hash. The database is not asked.
import { timingSafeEqual } from "node:crypto";
import type { AccessToken } from "../../core/identity.ts";

export type TokenKind = AccessToken["kind"];

/** How long a new token is valid unless a request or the tenant sets another time. */
export const DEFAULT_LIFETIME_MS: Readonly<Record<TokenKind, number>> = {
  personal: 90 * 86_400_000,
  project: 365 * 86_400_000,
};

export interface ParsedToken {
  readonly kind: TokenKind;
  readonly id: string;
  readonly sha256: Uint8Array;
}

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const PREFIX: Readonly<Record<TokenKind, string>> = { project: "dgm_pt_", personal: "dgm_ut_" };
const ID_START = 7;
const ID_LENGTH = 12;
const SECRET_LENGTH = 43;
const CHECKSUM_LENGTH = 6;
const CHECKSUM_START = ID_START + ID_LENGTH + 1 + SECRET_LENGTH;
export const TOKEN_TEXT_LENGTH = CHECKSUM_START + CHECKSUM_LENGTH;

const SHAPE = new RegExp(`^dgm_[pu]t_[0-9A-Za-z]{${ID_LENGTH}}_[0-9A-Za-z]{${SECRET_LENGTH + CHECKSUM_LENGTH}}$`);

/** Makes a token with a new id. */
export function newAccessToken(kind: TokenKind) {
  return newTokenText(kind, newId());
}

/**
 * Makes a new secret for the token with this id. The text is shown once and not stored; of it, the SHA-256 of the whole
 * text is kept.
 */
export function newTokenText(kind: TokenKind, id: string) {
  const secret = crypto.getRandomValues(new Uint8Array(32));
  const body = `${PREFIX[kind]}${id}_${base62(BigInt(`0x${secret.toHex()}`), SECRET_LENGTH)}`;
  const text = body + checksum(body);
  return { id, text, sha256: secretSha256(text) };
}

/** Whether a text looks like a token of the gateway, with or without typing errors. */
export function hasTokenForm(text: string): boolean {
  return text.startsWith(PREFIX.project) || text.startsWith(PREFIX.personal);
}

/** `null` when the text is not a token or contains a typing error. Needs no look-up. */
export function parseTokenText(text: string): ParsedToken | null {
  if (text.length !== TOKEN_TEXT_LENGTH || !SHAPE.test(text)) return null;
  if (!hasChecksum(text)) return null;
  return {
    kind: text.startsWith(PREFIX.project) ? "project" : "personal",
    id: text.slice(ID_START, ID_START + ID_LENGTH),
    sha256: secretSha256(text),
  };
}

/** Compares in constant time. */
export function isSameSecret(stored: Uint8Array, given: Uint8Array): boolean {
  return stored.byteLength === given.byteLength && timingSafeEqual(stored, given);
}

/** 32 bytes. */
export function secretSha256(text: string): Uint8Array {
  return Bun.SHA256.hash(text, new Uint8Array(32)) as Uint8Array;
}

function hasChecksum(text: string): boolean {
  let rest = Bun.hash.crc32(text.slice(0, CHECKSUM_START));
  for (let at = TOKEN_TEXT_LENGTH - 1; at >= CHECKSUM_START; at--) {
    if (text[at] !== ALPHABET[rest % 62]) return false;
    rest = Math.floor(rest / 62);
  }
  return true;
}

function checksum(body: string): string {
  let rest = Bun.hash.crc32(body);
  let digits = "";
  for (let place = 0; place < CHECKSUM_LENGTH; place++) {
    digits = ALPHABET[rest % 62]! + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}

function base62(value: bigint, length: number): string {
  let rest = value;
  let digits = "";
  for (let place = 0; place < length; place++) {
    digits = ALPHABET[Number(rest % 62n)]! + digits;
    rest /= 62n;
  }
  return digits;
}

/** 12 characters with equal probability each: bytes that would favour the beginning of the alphabet are skipped. */
function newId(): string {
  let id = "";
  while (id.length < ID_LENGTH) {
    for (const byte of crypto.getRandomValues(new Uint8Array(16))) {
      if (byte < 248 && id.length < ID_LENGTH) id += ALPHABET[byte % 62]!;
    }
  }
  return id;
}
