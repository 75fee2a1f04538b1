// Hides secrets in what an explanation shows: the credentials that the gateway has, those that the request contains,
// and values under a name that indicates a secret. The last four characters of a secret are shown where it is long
// enough to remain secret.
import type { StoredCredential } from "../../core/configured/credential.ts";
import { isObject, type Json } from "../../core/json.ts";
import { COMMON_PARAMETERS } from "../../core/params.ts";
import type { Credential } from "../../core/target.ts";
import { SECRET_HEADER, SECRET_MEMBER, SECRET_QUERY } from "../../core/text/secret-names.ts";
import { parseBoundedJson } from "../../wire/json/json.ts";
import { yieldToLoop } from "../../core/concurrency/event-loop.ts";

const MASK = "****";
const ENDING = 4;
/** Nothing is shown of a shorter secret. */
const MIN_SHOWN = 12;
/** A shorter text is not a secret and may be any word. */
const MIN_SECRET = 8;

const NO_SECRETS: ReadonlySet<string> = new Set(COMMON_PARAMETERS);

export function masked(secret: string): string {
  return secret.length < MIN_SHOWN ? MASK : MASK + secret.slice(-ENDING);
}

/** Returns a credential to sign a shown request with: nothing is exchanged, and it contains no secret. */
export function maskedCredential(stored: StoredCredential): Credential {
  const { fromCaller } = stored;
  switch (stored.kind) {
    case "key":
    case "token":
      return { kind: stored.kind, secret: masked(stored.secret), fromCaller };
    case "aws_keys":
      return {
        kind: "aws",
        secret: MASK,
        accessKeyId: masked(stored.accessKeyId),
        ...(stored.sessionToken !== null && { sessionToken: masked(stored.sessionToken) }),
        fromCaller,
      };
    case "aws_chain":
      return { kind: "aws", secret: MASK, accessKeyId: MASK, fromCaller };
    default:
      return { kind: "token", secret: `${MASK} (a token, obtained when the call is made)`, fromCaller };
  }
}

/** Returns the parts of a stored credential that must not be shown. */
export function secretsOf(stored: StoredCredential): readonly string[] {
  switch (stored.kind) {
    case "key":
    case "token":
      return [stored.secret];
    case "aws_keys":
      return [
        stored.secretAccessKey,
        stored.accessKeyId,
        ...(stored.sessionToken === null ? [] : [stored.sessionToken]),
      ];
    case "google_service_account":
      return [stored.privateKey];
    case "entra_client":
      return [stored.clientSecret];
    case "ibm_iam":
      return [stored.apiKey];
    default:
      return [];
  }
}

/** Adds the strings of a body under a name that indicates a secret. */
export function addNamedSecrets(value: Json | undefined, secrets: Set<string>): void {
  if (Array.isArray(value)) for (const item of value) addNamedSecrets(item as Json, secrets);
  else if (isObject(value))
    for (const [name, member] of Object.entries(value))
      if (typeof member !== "string") addNamedSecrets(member, secrets);
      else if (SECRET_MEMBER.test(name) && !NO_SECRETS.has(name)) secrets.add(member);
}

/** A secret as a text may spell it, and its replacement. */
type Spelling = readonly [string, string];
const SPELLINGS_PER_TURN = 16;

export type Masker = ReturnType<typeof openMasker>;

export function openMasker(secrets: Iterable<string>) {
  // the longest come first, because one may be part of another
  const known = [...new Set(secrets)]
    .filter((secret) => secret.length >= MIN_SECRET)
    .toSorted((a, b) => b.length - a.length)
    .flatMap((secret) => spellings(secret).map((spelling) => [spelling, masked(secret)] as const));
  const text = (plain: string): string => withoutSpellings(plain, known);
  return {
    text,
    url: (url: string) => text(url).replaceAll(SECRET_QUERY, `$1${MASK}`),
    header(name: string, plain: string): string {
      // a value that is already masked has nothing left to hide
      const clean = text(plain);
      if (clean.includes(MASK) || !SECRET_HEADER.test(name)) return clean;
      return masked(clean);
    },
    /**
     * Masks the text of a body; JSON remains JSON. The work is done in several turns of the event loop, because the text
     * may be megabytes.
     */
    async body(plain: string): Promise<string> {
      const inTurns = async <T extends Json>(
        given: T,
        mask: (given: T, some: readonly Spelling[]) => T,
      ): Promise<T> => {
        let clean = given;
        for (let at = 0; at < known.length; at += SPELLINGS_PER_TURN) {
          await yieldToLoop();
          clean = mask(clean, known.slice(at, at + SPELLINGS_PER_TURN));
        }
        await yieldToLoop();
        return clean;
      };
      const clean = await inTurns(plain, withoutSpellings);
      const parsed = jsonOf(clean);
      // a text may spell a secret with JSON escapes
      if (parsed === undefined) {
        const whole = jsonOf(plain);
        return whole === undefined ? clean : JSON.stringify(await inTurns(whole, valueWithout));
      }
      const inside = JSON.stringify(await inTurns(parsed, valueWithout));
      return inside === JSON.stringify(parsed) ? clean : inside;
    },
  };
}

function withoutSpellings(plain: string, some: readonly Spelling[]): string {
  return some.reduce(
    (clean, [spelling, mask]) => (clean.includes(spelling) ? clean.replaceAll(spelling, () => mask) : clean),
    plain,
  );
}

function valueWithout(json: Json, some: readonly Spelling[]): Json {
  if (typeof json === "string") return withoutSpellings(json, some);
  if (Array.isArray(json)) return json.map((item: Json) => valueWithout(item, some));
  return isObject(json)
    ? Object.fromEntries(
        Object.entries(json).map(([name, member]) => [withoutSpellings(name, some), valueWithout(member!, some)]),
      )
    : json;
}

/** Returns the secret as it is, in an address, in JSON, and in JSON with escaped slashes. */
function spellings(secret: string): readonly string[] {
  return [
    ...new Set([
      secret,
      encodeURIComponent(secret),
      JSON.stringify(secret).slice(1, -1),
      JSON.stringify(secret).slice(1, -1).replaceAll("/", "\\/"),
    ]),
  ];
}

/** The value of a JSON text within the bounds of a body; undefined where the text is not such JSON. */
export function jsonOf(text: string): Json | undefined {
  try {
    return parseBoundedJson(text);
  } catch {
    return undefined;
  }
}
