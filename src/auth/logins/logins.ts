// Accepts tokens of a company login (OpenID Connect; RFC 7519, RFC 8725) as personal tokens. A token is verified once
// and cached by its hash until it expires, so that later calls with it cost one look-up. Users are not stored: their id
// is made of issuer and subject, so that the database may have roles for them, and the claims may grant more.
import { BoundedCache } from "../../core/bounded-cache.ts";
import type * as Jose from "jose";
import type { JWTPayload } from "jose";
import type { Clock } from "../../core/clock.ts";
import { GatewayError, retryLater } from "../../core/errors.ts";
import { compileGlob } from "../../core/text/glob.ts";
import { type AccessToken, type Membership, UNRESTRICTED, PERMISSIONS } from "../../core/identity.ts";
import type { LoginIssuer } from "../../core/configured/login.ts";
import type { JsonObject } from "../../core/json.ts";
import type { MaybePromise } from "../../core/maybe-promise.ts";
import type { UpstreamClient } from "../../wire/upstream.ts";
import { type IssuerKeys, KeysUnavailable, openIssuerKeys } from "./issuer-keys.ts";
import { discoveryDocument } from "./issuer-requests.ts";

const MAX_KNOWN = 10_000;
/** A subject that can be part of an id unchanged; every other subject is hashed. */
const PLAIN_SUBJECT = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,42}$/;

export interface Logins {
  /**
   * Returns the login as a personal token, synchronously when it is cached. Throws or rejects with `invalid_token`,
   * `expired_token` or `login_unavailable`.
   */
  identify(text: string, issuers: readonly LoginIssuer[], nowMs: number): MaybePromise<AccessToken>;
  /**
   * Returns the user of an ID token that the issuer has given to `clientId`; code-flow.ts checks for which login.
   * Rejects as identify() does.
   */
  identifyFor(clientId: string, text: string, issuer: LoginIssuer, nowMs: number): Promise<AccessToken>;
  /**
   * Returns the discovery document of an issuer. It is asked for one at a time, however many visitors begin a login that
   * they need not finish. Rejects with Error when it cannot be asked.
   */
  documentOf(issuer: LoginIssuer): Promise<JsonObject>;
}

interface Known {
  readonly token: AccessToken;
  readonly issuer: LoginIssuer;
  readonly generation: number;
}

export interface LoginsOptions {
  readonly upstream: UpstreamClient;
  readonly clock: Clock;
  readonly onFault: (message: string) => void;
}

export function openLogins({ upstream, clock, onFault }: LoginsOptions): Logins {
  const known = new BoundedCache<string, Known>(MAX_KNOWN);
  const verifying = new Map<
    string,
    { readonly issuers: readonly LoginIssuer[]; readonly fresh: Promise<AccessToken> }
  >();
  const keySets = new WeakMap<LoginIssuer, IssuerKeys>();
  /** The latest keys at each address, with which a configuration that was read again begins. */
  const latest = new Map<string, IssuerKeys>();
  const documents = new WeakMap<LoginIssuer, Promise<JsonObject>>();
  const keysOf = (issuer: LoginIssuer): IssuerKeys =>
    keySets.getOrInsertComputed(issuer, () => {
      const place = JSON.stringify([issuer.issuer, issuer.keysUrl]);
      const keys = openIssuerKeys({ issuer, upstream, clock, onFault, former: latest.get(place) ?? null });
      latest.set(place, keys);
      return keys;
    });

  const verify = async (
    text: string,
    hash: string,
    issuers: readonly LoginIssuer[],
    nowMs: number,
  ): Promise<AccessToken> => {
    const jose = await import("jose");
    const issuer = issuerOf(text, issuers, jose);
    const keys = keysOf(issuer);
    // keys that are fetched meanwhile may lack the one with which the token is checked
    const generation = keys.generation();
    const payload = await verified(text, issuer, keys, nowMs, jose);
    const token = asPersonalToken(payload, issuer, nowMs);
    known.set(hash, { token, issuer, generation });
    return token;
  };

  return {
    documentOf: (issuer) =>
      documents.getOrInsertComputed(issuer, () =>
        discoveryDocument(issuer.issuer, upstream).finally(() => documents.delete(issuer)),
      ),
    async identifyFor(clientId, text, issuer, nowMs) {
      const jose = await import("jose");
      const payload = await verified(text, { ...issuer, audiences: [clientId] }, keysOf(issuer), nowMs, jose);
      // the party to which it was issued, where it is named (OpenID Connect Core 1.0, 3.1.3.7)
      const { azp = clientId } = payload;
      if (azp !== clientId) throw invalid("it was issued to another client");
      return asPersonalToken(payload, issuer, nowMs);
    },
    identify(text, issuers, nowMs) {
      const hash = Bun.SHA256.hash(text, "base64");
      const earlier = known.get(hash);
      if (earlier !== undefined) {
        const keys = keysOf(earlier.issuer);
        keys.keepFresh();
        // The token may not be valid any more under a changed configuration or changed keys.
        if (issuers.includes(earlier.issuer) && earlier.generation === keys.generation()) {
          if (nowMs < earlier.token.expiresAtMs) return earlier.token;
          throw expired(earlier.token.expiresAtMs);
        }
        known.delete(hash);
      }
      const inFlight = verifying.get(hash);
      if (inFlight?.issuers === issuers) return inFlight.fresh;
      const fresh = verify(text, hash, issuers, nowMs).finally(() => {
        if (verifying.get(hash)?.fresh === fresh) verifying.delete(hash);
      });
      verifying.set(hash, { issuers, fresh });
      return fresh;
    },
  };
}

/** Selects the issuer by `iss` and `aud`, which are not verified yet. */
function issuerOf(
  text: string,
  issuers: readonly LoginIssuer[],
  { decodeJwt, decodeProtectedHeader }: typeof Jose,
): LoginIssuer {
  let payload: JWTPayload;
  let algorithm: string | undefined;
  try {
    payload = decodeJwt(text);
    algorithm = decodeProtectedHeader(text).alg;
  } catch (thrown) {
    throw invalid("it is not a JWT", thrown);
  }
  const ofIssuer = issuers.filter(({ issuer }) => issuer === payload.iss);
  if (ofIssuer.length === 0) throw invalid("its issuer is not configured here");
  const found = ofIssuer.find((issuer) => issuer.audiences.some((audience) => audiencesOf(payload).includes(audience)));
  if (found === undefined) throw invalid("it was issued for another audience");
  if (algorithm === undefined || !found.algorithms.includes(algorithm))
    throw invalid("its signature algorithm is not allowed here");
  return found;
}

/** The token is not verified yet, so the claim may have any type. */
function audiencesOf({ aud }: { readonly aud?: unknown }): readonly unknown[] {
  return Array.isArray(aud) ? (aud as readonly unknown[]) : [aud];
}

async function verified(
  text: string,
  { issuer, audiences, algorithms, clockToleranceMs }: LoginIssuer,
  keys: IssuerKeys,
  nowMs: number,
  { jwtVerify, errors }: typeof Jose,
): Promise<JWTPayload> {
  try {
    const { payload } = await jwtVerify(text, keys.find, {
      issuer,
      audience: [...audiences],
      algorithms: [...algorithms],
      clockTolerance: clockToleranceMs / 1000,
      currentDate: new Date(nowMs),
      requiredClaims: ["exp"],
    });
    return payload;
  } catch (thrown) {
    if (thrown instanceof KeysUnavailable)
      throw retryLater(
        "login_unavailable",
        "The token cannot be checked, because the keys of its issuer cannot be fetched now.",
        5,
      );
    if (thrown instanceof errors.JWTExpired) throw expired((thrown.payload.exp ?? 0) * 1000);
    if (thrown instanceof errors.JWTClaimValidationFailed && thrown.claim === "nbf")
      throw invalid("it is not valid yet", thrown);
    if (thrown instanceof errors.JWTClaimValidationFailed)
      throw invalid(`its claim ${thrown.claim} is missing or wrong`, thrown);
    if (thrown instanceof errors.JWKSNoMatchingKey || thrown instanceof errors.JWKSMultipleMatchingKeys)
      throw invalid("it is signed with a key that is not its issuer's", thrown);
    if (
      thrown instanceof errors.JOSEError ||
      thrown instanceof TypeError ||
      (thrown instanceof Error && thrown.name === "DataError")
    )
      throw invalid("its signature is invalid", thrown);
    throw thrown;
  }
}

/** The id of the user of a login that is linked to no user of the database. */
export function loginUserId({ name }: Pick<LoginIssuer, "name">, subject: string): string {
  return `${name}.${PLAIN_SUBJECT.test(subject) ? subject : `_${Bun.SHA256.hash(subject, "base64url")}`}`;
}

function asPersonalToken(payload: JWTPayload, issuer: LoginIssuer, nowMs: number): AccessToken {
  const subject = claimAt(payload, issuer.subjectClaim);
  if (typeof subject !== "string" || subject === "" || subject.length > 1024)
    throw invalid(`its claim ${issuer.subjectClaim} names no user`);
  const userId = loginUserId(issuer, subject);
  const name = claimAt(payload, issuer.nameClaim);
  const grants = issuer.grants.filter(
    ({ claim, value }) => value === null || valuesAt(payload, claim).some(compileGlob(value)),
  );
  const permissions = new Set(grants.flatMap((grant) => grant.permissions));
  return {
    id: userId,
    kind: "personal",
    name: typeof name === "string" && name !== "" ? name.slice(0, 100) : userId,
    tenantId: issuer.tenantId,
    projectId: null,
    userId,
    role: null,
    permissions: PERMISSIONS.filter((permission) => permissions.has(permission)),
    ...UNRESTRICTED,
    isOperator: grants.some((grant) => grant.isOperator === true),
    login: { issuer: issuer.issuer, subject },
    granted: grants.map(({ role, projectId }): Membership => ({ userId, tenantId: issuer.tenantId, projectId, role })),
    secrets: [],
    createdAtMs: typeof payload.iat === "number" ? payload.iat * 1000 : nowMs,
    expiresAtMs: payload.exp! * 1000 + issuer.clockToleranceMs,
    revokedAtMs: null,
  };
}

function claimAt(payload: JWTPayload, path: string): unknown {
  let value: unknown = payload;
  // The whole path is tried first, because the claims of some issuers are URLs that contain dots.
  if (Object.hasOwn(payload, path)) return payload[path];
  for (const name of path.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[name];
  }
  return value;
}

function valuesAt(payload: JWTPayload, path: string): readonly string[] {
  const value = claimAt(payload, path);
  return (Array.isArray(value) ? (value as readonly unknown[]) : [value]).filter((one) => typeof one === "string");
}

/** `why` is a fixed text of the gateway: nothing of the token is repeated. */
function invalid(why: string, cause?: unknown): GatewayError {
  return new GatewayError(
    "invalid_token",
    `The login token is not valid: ${why}.`,
    cause === undefined ? {} : { cause },
  );
}

function expired(atMs: number): GatewayError {
  const time = new Date(atMs);
  return new GatewayError(
    "expired_token",
    `The login token expired${Number.isNaN(time.getTime()) ? "" : ` at ${time.toISOString()}`}. Log in again.`,
  );
}
