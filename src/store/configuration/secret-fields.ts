// Which fields of documents are secrets, and the three forms of a document: as given, encrypted for storage, and masked
// for display. A masked secret (`*** ` and its handle) that is sent back in a change stands for the stored secret.

// Decides (records and configuration): Which stored values are encrypted, and with which key? By: `SECRET_FIELDS`.
// Also: `store/open-database.ts` (`openDatabase`), `config/master-key.ts` (`findMasterKeys`). Rule: SQLite makes a
// key file at the first start, and is refused where the key of stored secrets is missing; PostgreSQL is refused without a key.
import { handleOf, DecryptionError, type SecretCipher } from "../../config/secret-cipher.ts";
import type { ConfiguredKind } from "../../core/configured/configured.ts";
import { isObject, type Json, type JsonObject, withTexts } from "../../core/json.ts";
import { StoreError } from "../store-error.ts";

/**
 * Paths with `[]` for every entry of a list and `*` for every member. `?` after a field denotes what follows the first
 * `?` of the address in it. The forms of a provider's credentials are recognized by their secret members.
 */
const SECRET_FIELDS: Readonly<Record<ConfiguredKind, readonly string[]>> = {
  provider: [
    "api_key",
    "api_keys[]",
    "api_keys[].key",
    "*.secret_access_key",
    "*.session_token",
    "*.service_account",
    "*.client_secret",
  ],
  tool_server: ["headers.*", "url?", "oauth.client_secret"],
  webhook: ["secret", "previous_secret", "url?"],
  route: [],
  policy: ["guard.service.headers.*", "guard.service.url?"],
  limit: [],
  budget: [],
  price: [],
  setting: [],
};

/** Secrets that are never sent anywhere: they are kept when the address changes. */
const SIGNING_FIELDS: Readonly<Partial<Record<ConfiguredKind, readonly string[]>>> = {
  webhook: ["secret", "previous_secret"],
};

/**
 * Fields, by their paths, that do not determine where a secret is sent. A caller who may change the other fields without knowing the
 * secret could redirect it (promise 2.9).
 */
const HARMLESS_FIELDS: Readonly<Partial<Record<ConfiguredKind, readonly string[]>>> = {
  provider: ["api_key", "api_keys", "enabled", "models"],
  tool_server: [
    "headers",
    "enabled",
    "name",
    "description",
    "timeout_s",
    "max_result_bytes",
    "max_concurrent",
    "allowed_tools",
    "role",
    "require_approval",
  ],
  policy: [
    "name",
    "effect",
    "rule",
    "message",
    "scope",
    "mode",
    "guard.on",
    "guard.action",
    "guard.mask",
    "guard.on_error",
    "guard.service.headers",
    "guard.service.timeout_s",
    "guard.service.max_concurrent",
    "guard.service.window_characters",
    "guard.service.overlap_characters",
    "guard.service.price",
    "guard.service.language",
    "guard.service.entities",
    "guard.service.score_threshold",
    "guard.service.least_severity",
    "guard.service.blocklists",
    "guard.service.project",
  ],
  webhook: [
    "secret",
    "previous_secret",
    "previous_secret_until",
    "events",
    "enabled",
    "description",
    "timeout_s",
    "max_attempts",
  ],
};

const MASKED = /^\*\*\* ([0-9a-f]{12})$/;

/** Whether the text is a masked secret. */
export function isMasked(text: string): boolean {
  return MASKED.test(text);
}

/** The text with `instead` in place of a masked secret, which may be the whole text or the query of an address. */
export function withoutMasks(text: string, instead: string): string {
  const query = queryAt(text);
  return isMasked(text) ? instead : query > 0 && isMasked(text.slice(query)) ? text.slice(0, query) + instead : text;
}

/** Where the query of an address begins; 0 when it has none. */
function queryAt(text: string): number {
  return text.indexOf("?") + 1;
}

/** Whether the field at this path of a document is a secret. */
export function isSecretField(kind: ConfiguredKind, path: string): boolean {
  return SECRET_FIELDS[kind].some((pattern) => matches(pattern, path));
}

function matches(pattern: string, path: string): boolean {
  const generalised = path.replaceAll(/\[\d+\]/g, "[]");
  if (pattern.startsWith("*.")) return generalised.includes(".") && generalised.endsWith(pattern.slice(1));
  return pattern.endsWith(".*") ? generalised.startsWith(pattern.slice(0, -1)) : pattern === generalised;
}

/** Changes only the texts of secrets; everything else is passed on unchanged. */
function rewritten(
  kind: ConfiguredKind,
  document: JsonObject,
  change: (text: string, path: string) => string,
): JsonObject {
  return rewrittenAt(kind, "", document, change) as JsonObject;
}

/** The same for what stands at a path of a document. */
function rewrittenAt(
  kind: ConfiguredKind,
  place: string,
  found: Json | undefined,
  change: (text: string, path: string) => string,
): Json | undefined {
  const ofText = (value: string, path: string): string => {
    if (isSecretField(kind, path)) return value === "" ? value : change(value, path);
    const at = isSecretField(kind, `${path}?`) ? queryAt(value) : 0;
    return at === 0 || at === value.length ? value : value.slice(0, at) + change(value.slice(at), `${path}?`);
  };
  return found === undefined || SECRET_FIELDS[kind].length === 0 ? found : withTexts(found, ofText, place);
}

/** What is shown in place of a secret that a document has. */
export const HIDDEN = "***";

/** What stands at a path of a document, with `***` in place of each secret that is not masked. */
export function withoutSecrets(kind: ConfiguredKind, path: string, found: Json | undefined): Json | undefined {
  return rewrittenAt(kind, path, found, (text) => (isMasked(text) ? text : HIDDEN));
}

const placeOf = (kind: ConfiguredKind, id: string, path: string): string => `${kind}/${id}/${path}`;

export interface SecretContext {
  readonly kind: ConfiguredKind;
  readonly id: string;
  /** `null` when there is no master key. */
  readonly cipher: SecretCipher | null;
}

/** `kept` is the encrypted document that this one replaces. Throws StoreError `invalid` and `unusable`. */
export function encryptedDocument(
  { kind, id, cipher }: SecretContext,
  document: JsonObject,
  kept: JsonObject | null,
): JsonObject {
  const handles = new Map<string, { readonly encrypted: string; readonly path: string }>();
  if (kept !== null)
    rewritten(kind, kept, (encrypted, path) => {
      handles.set(handleOf(encrypted) ?? "", { encrypted, path });
      return encrypted;
    });
  const moved = kept !== null && addressOf(kind, kept) !== addressOf(kind, document);
  const requireCipher = (): SecretCipher => {
    if (cipher === null)
      throw new StoreError(
        "encryption",
        "There is no master key to encrypt secrets with. Set DRAGOMAN_MASTER_KEY to 32 random bytes in base64 (openssl rand -base64 32), and start again.",
      );
    return cipher;
  };
  return rewritten(kind, document, (text, path) => {
    const handle = MASKED.exec(text)?.[1];
    if (handle === undefined) return requireCipher().encrypt(text, placeOf(kind, id, path));
    const before = handles.get(handle);
    if (before === undefined)
      throw new StoreError("invalid", `${path} is a masked secret that is not stored here. Send the secret itself.`);
    if (moved && SIGNING_FIELDS[kind]?.includes(path) !== true)
      throw new StoreError(
        "invalid",
        `${path} is a masked secret, and the address to which it is sent changes. Send the secret itself.`,
      );
    return before.path === path
      ? before.encrypted
      : requireCipher().encrypt(
          decryptedText(requireCipher(), before.encrypted, placeOf(kind, id, before.path)),
          placeOf(kind, id, path),
        );
  });
}

function decryptedText(cipher: SecretCipher, encrypted: string, place: string): string {
  try {
    return cipher.decrypt(encrypted, place);
  } catch (error) {
    if (error instanceof DecryptionError)
      throw new StoreError("encryption", `The secret at ${place} cannot be decrypted: ${error.message}.`, error);
    throw error;
  }
}

/** Everything that determines where the secrets are sent, without the secrets themselves. */
function addressOf(kind: ConfiguredKind, document: JsonObject): string {
  const harmless = HARMLESS_FIELDS[kind] ?? [];
  const bare = rewritten(kind, document, () => "");
  return JSON.stringify(inOrder(bare, harmless, ""));
}

/** The members of objects by their names, without those whose paths are listed. */
function inOrder(value: Json | undefined, without: readonly string[], path: string): Json | undefined {
  if (Array.isArray(value)) return value.map((entry: Json) => inOrder(entry, without, `${path}[]`) ?? null);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, member]) => [path === "" ? name : `${path}.${name}`, name, member] as const)
      .filter(([place]) => !without.includes(place))
      .toSorted(([, a], [, b]) => (a < b ? -1 : 1))
      .map(([place, name, member]) => [name, inOrder(member, without, place)]),
  );
}

export function maskedDocument(kind: ConfiguredKind, encrypted: JsonObject): JsonObject {
  return rewritten(kind, encrypted, (text) => `*** ${handleOf(text) ?? ""}`);
}

/** The fault says why a secret could not be decrypted; it is `null` when all were. */
export function openedDocument({ kind, id, cipher }: SecretContext, encrypted: JsonObject) {
  let fault: string | null = null;
  const document = rewritten(kind, encrypted, (text, path) => {
    try {
      if (cipher === null) throw new DecryptionError("there is no master key");
      return cipher.decrypt(text, placeOf(kind, id, path));
    } catch (error) {
      if (!(error instanceof DecryptionError)) throw error;
      fault ??= `${path} cannot be decrypted: ${error.message}`;
      return "";
    }
  });
  return { document, fault };
}

/** Re-encrypts under the newest key. Throws DecryptionError. */
export function reencryptedDocument(
  kind: ConfiguredKind,
  id: string,
  encrypted: JsonObject,
  cipher: SecretCipher,
): JsonObject {
  return rewritten(kind, encrypted, (text, path) => cipher.reencrypt(text, placeOf(kind, id, path)));
}
