// Access tokens for tool servers by client credentials (RFC 6749, 4.4): kept until shortly before they expire, shared
// by all servers with the same credentials, and requested again when a server refuses one.

// Decides (targets and attempts): Where is the access token of a tool server, and when is it renewed? By: `openOauthTokens`. Also:
// `credentials/token-cache.ts`. Rule: In memory only, renewed before it expires or when a server refuses it. All
// servers with the same settings of OAuth share it, also those of two tenants.
import { openTokenCache, type TokenMaker } from "../credentials/token-cache.ts";
import { exchange } from "../credentials/token-exchange.ts";
import { BoundedCache } from "../core/bounded-cache.ts";
import type { CancelSignal } from "../core/concurrency/cancellation.ts";
import type { Clock } from "../core/clock.ts";
import type { Credential } from "../core/target.ts";
import type { ToolOauth } from "../core/configured/tool.ts";
import type { UpstreamClient } from "../wire/upstream.ts";
import { digestOf } from "../core/text/digest.ts";

const MAX_TOKENS = 1000;
/** A server that refuses every token must not cause a token request with every call. */
const REFUSAL_PAUSE_MS = 10_000;
/** The longest `timeout_s`: so long after a token was replaced, the answer to a call with it may arrive. */
const REPLACED_MS = 600_000;
const MOST_REPLACED = 64;

export type OauthTokens = ReturnType<typeof openOauthTokens>;

export function openOauthTokens(upstream: UpstreamClient, clock: Clock) {
  const cache = openTokenCache(clock, MAX_TOKENS);
  const refusals = new BoundedCache<string, number>(MAX_TOKENS);
  return {
    /** The tokens of one server. `pinned` returns the checked address of a URL, or undefined when it needs none. */
    of(oauth: ToolOauth, pinned: (url: string) => Promise<string | undefined>) {
      const key = digestOf(oauth);
      const { tokenUrl: url, clientId, clientSecret, clientAuth, scope, audience } = oauth;
      const isBasic = clientAuth === "basic";
      const form = {
        grant_type: "client_credentials",
        ...(!isBasic && { client_id: clientId, client_secret: clientSecret }),
        ...(scope !== null && { scope }),
        ...(audience !== null && { audience }),
      };
      const maker: TokenMaker = {
        issue: async () =>
          exchange(
            {
              url,
              form,
              ...(isBasic && { authorization: basic(clientId, clientSecret) }),
              secrets: [clientSecret],
              pinnedAddress: await pinned(url),
            },
            upstream,
            () => clock.now(),
          ),
        toCredential: ({ secret }) => ({ kind: "token", secret, fromCaller: false }),
      };
      let given: Credential | null = null;
      let replaced: readonly { readonly secret: string; readonly atMs: number }[] = [];
      const lately = (): typeof replaced =>
        replaced.filter(({ atMs }) => clock.monotonic() - atMs <= REPLACED_MS).slice(-MOST_REPLACED);
      return {
        /** Throws ExchangeFault, or the signal's reason. */
        async take(signal: CancelSignal): Promise<string> {
          const taken = await cache.take(key, maker, signal);
          if (given !== null && given.secret !== taken.secret)
            replaced = [...lately(), { secret: given.secret, atMs: clock.monotonic() }];
          given = taken;
          return taken.secret;
        },
        /** The token that was returned last, if there was one, and those before it with which a call may still be running. */
        given: (): readonly string[] => (given === null ? [] : [given.secret, ...lately().map(({ secret }) => secret)]),
        /** Called when the server refused the token that was returned last. */
        refused(): void {
          const nowMs = clock.monotonic();
          if (given === null || nowMs - (refusals.get(key) ?? Number.NEGATIVE_INFINITY) < REFUSAL_PAUSE_MS) return;
          cache.forget(key, given);
          refusals.set(key, nowMs);
        },
      };
    },
  };
}

/** RFC 6749 requires form encoding for both first: https://www.rfc-editor.org/rfc/rfc6749#section-2.3.1 */
function basic(clientId: string, clientSecret: string): string {
  const [id, secret] = [clientId, clientSecret].map((text) => new URLSearchParams([["", text]]).toString().slice(1));
  return `Basic ${Buffer.from(`${id}:${secret}`).toString("base64")}`;
}
