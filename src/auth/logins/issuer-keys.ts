// The public keys of one issuer of OpenID Connect (RFC 7517; OpenID Connect Discovery 1.0): fetched when they are first
// needed, and refreshed in the background. An unknown key is fetched at once, but at most every half minute, whatever
// external clients send. A failed fetch removes no known key.
import type { JSONWebKeySet, JWTVerifyGetKey } from "jose";
import type { Clock } from "../../core/clock.ts";
import { isObject } from "../../core/json.ts";
import type { LoginIssuer } from "../../core/configured/login.ts";
import { messageAbout, type UpstreamClient } from "../../wire/upstream.ts";
import { discoveryDocument, got, issuerJson } from "./issuer-requests.ts";

const COOLDOWN_MS = 30_000;
const MAX_KEYS = 100;

interface KnownKeys {
  readonly text: string;
  readonly find: JWTVerifyGetKey;
}

export interface IssuerKeys {
  /** `null` until keys were fetched. */
  known(): KnownKeys | null;
  /** Finds the key of a token. Throws jose's JWKSNoMatchingKey, or Error when no keys could be fetched yet. */
  readonly find: JWTVerifyGetKey;
  /** Increases when a fetch returned other keys than before. */
  generation(): number;
  /** Refreshes the keys in the background when they are due. */
  keepFresh(): void;
}

export class KeysUnavailable extends Error {}

export interface IssuerKeysOptions {
  readonly issuer: LoginIssuer;
  readonly upstream: UpstreamClient;
  readonly clock: Clock;
  /** Called when a fetch has failed. The message never contains a secret. */
  readonly onFault: (message: string) => void;
  /** Earlier keys of the same issuer, which serve until others were fetched; `null` when there are none. */
  readonly former: IssuerKeys | null;
}

export function openIssuerKeys({ issuer, upstream, clock, onFault, former }: IssuerKeysOptions): IssuerKeys {
  let known = former?.known() ?? null;
  let generation = 0;
  let askedAtMs = Number.NEGATIVE_INFINITY;
  let fetchedAtMs = Number.NEGATIVE_INFINITY;
  let refreshing: Promise<void> | null = null;

  const refresh = async (): Promise<void> => {
    try {
      const { keys } = await fetchKeys(issuer, upstream);
      const text = JSON.stringify(keys);
      if (known?.text !== text) {
        const find = (await import("jose")).createLocalJWKSet({ keys });
        if (known !== null) generation += 1;
        known = { text, find };
      }
      fetchedAtMs = clock.monotonic();
    } catch (thrown) {
      onFault(`the keys of the issuer ${issuer.name} could not be fetched: ${messageAbout("the issuer", thrown)}`);
    }
  };
  /** Runs one fetch at a time, and none within the cooldown after the last. */
  const ask = (): Promise<void> => {
    if (refreshing !== null) return refreshing;
    if (clock.monotonic() - askedAtMs < COOLDOWN_MS) return Promise.resolve();
    askedAtMs = clock.monotonic();
    refreshing = refresh().finally(() => (refreshing = null));
    return refreshing;
  };
  const keepFresh = (): void => {
    if (clock.monotonic() - fetchedAtMs > issuer.keysRefreshMs) void ask();
  };
  return {
    known: () => known,
    generation: () => generation,
    keepFresh,
    async find(header, token) {
      if (known === null) await ask();
      else keepFresh();
      if (known === null) throw new KeysUnavailable();
      try {
        return await known.find(header, token);
      } catch (thrown) {
        if (!(thrown instanceof (await import("jose")).errors.JWKSNoMatchingKey)) throw thrown;
        await ask();
        return await known.find(header, token);
      }
    },
  };
}

async function fetchKeys({ issuer, keysUrl }: LoginIssuer, upstream: UpstreamClient): Promise<JSONWebKeySet> {
  let url = keysUrl;
  if (url === null) {
    const found = await discoveryDocument(issuer, upstream);
    if (typeof found["jwks_uri"] !== "string") throw new Error("its discovery document has no jwks_uri");
    url = found["jwks_uri"];
  }
  const set = await issuerJson(got(url), issuer, upstream);
  if (!isObject(set) || !Array.isArray(set["keys"]) || set["keys"].length > MAX_KEYS || !set["keys"].every(isObject))
    throw new Error(`its key set is invalid or has more than ${MAX_KEYS} keys`);
  return { keys: set["keys"] };
}
