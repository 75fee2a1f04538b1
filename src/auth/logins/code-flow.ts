// The code flow with which a person logs in to the console at a company's issuer (OpenID Connect Core 1.0, 3.1; PKCE, RFC
// 7636; RFC 9207): where the browser is sent, and what the code that it comes back with is exchanged for. The protocol is
// that of `openid-client`, whose requests are the gateway's own. The state of a login that has begun is in the browser only.
import type * as OpenId from "openid-client";
import type { ConsoleClient, LoginIssuer } from "../../core/configured/login.ts";
import { GatewayError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json.ts";
import type { UpstreamClient } from "../../wire/upstream.ts";
import { IssuerRefusal, issuerJson } from "./issuer-requests.ts";

/** What a login that has begun has to be finished with. */
export interface BegunLogin {
  readonly issuer: string;
  readonly state: string;
  readonly nonce: string;
  /** The PKCE code verifier, which shows that the browser that finishes the login is the one that began it. */
  readonly verifier: string;
}

/** An issuer at which people log in to the console. */
export type ConsoleIssuer = LoginIssuer & { readonly console: ConsoleClient };

/** The library's codes for what does not belong to the login that was begun. */
const FOREIGN: ReadonlySet<string> = new Set([
  "OAUTH_INVALID_RESPONSE",
  "OAUTH_JWT_CLAIM_COMPARISON_FAILED",
  "OAUTH_JWT_TIMESTAMP_CHECK_FAILED",
  "OAUTH_PARSE_ERROR",
]);

/** Returns where to send the browser. `document` is the issuer's discovery document. */
export async function beginLogin(
  issuer: ConsoleIssuer,
  document: JsonObject,
  redirectUri: string,
  upstream: UpstreamClient,
): Promise<{ readonly login: BegunLogin; readonly address: string }> {
  const openId = await import("openid-client");
  const configuration = configurationOf(issuer, document, upstream, openId);
  const login: BegunLogin = {
    issuer: issuer.name,
    state: openId.randomState(),
    nonce: openId.randomNonce(),
    verifier: openId.randomPKCECodeVerifier(),
  };
  const address = openId.buildAuthorizationUrl(configuration, {
    redirect_uri: redirectUri,
    scope: issuer.console.scopes.join(" "),
    state: login.state,
    nonce: login.nonce,
    code_challenge: await openId.calculatePKCECodeChallenge(login.verifier),
    code_challenge_method: "S256",
  });
  return { login, address: address.href };
}

/**
 * Exchanges what the browser brings back for the text of an ID token, whose signature is not verified yet. Throws
 * `invalid_token` when it does not belong to the login that was begun or the issuer refuses the code, and Error when the
 * issuer cannot be asked.
 */
export async function idTokenFor(
  broughtBack: URLSearchParams,
  { state, nonce, verifier }: BegunLogin,
  issuer: ConsoleIssuer,
  document: JsonObject,
  redirectUri: string,
  upstream: UpstreamClient,
): Promise<string> {
  const openId = await import("openid-client");
  const configuration = configurationOf(issuer, document, upstream, openId);
  const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier };
  try {
    const address = new URL(`${redirectUri}?${broughtBack.toString()}`);
    return (await openId.authorizationCodeGrant(configuration, address, checks)).id_token!;
  } catch (thrown) {
    if (!(thrown instanceof openId.ClientError)) throw thrown;
    // Without a code, it wraps what a request of ours has thrown.
    if (thrown.code === undefined) {
      // https://www.rfc-editor.org/rfc/rfc6749#section-5.2
      if (!(thrown.cause instanceof IssuerRefusal) || thrown.cause.status !== 400) throw thrown.cause;
      throw new GatewayError("invalid_token", "The login is not valid: its issuer refuses the code.", {
        cause: thrown,
      });
    }
    if (!FOREIGN.has(thrown.code)) throw thrown;
    throw new GatewayError("invalid_token", `The login is not valid: ${thrown.message}.`, { cause: thrown });
  }
}

function configurationOf(
  { issuer, algorithms, clockToleranceMs, console: client }: ConsoleIssuer,
  document: JsonObject,
  upstream: UpstreamClient,
  openId: typeof OpenId,
): OpenId.Configuration {
  const configuration = new openId.Configuration(
    { ...document, issuer, id_token_signing_alg_values_supported: [...algorithms] },
    client.clientId,
    { [openId.clockTolerance]: clockToleranceMs / 1000 },
    authentication(client, document, openId),
  );
  // The configuration of the gateway may name an issuer by an http address.
  // oxlint-disable-next-line typescript/no-deprecated
  openId.allowInsecureRequests(configuration);
  configuration[openId.customFetch] = async (url, { headers, body }) => {
    const form = (body as URLSearchParams).toString();
    return Response.json(await issuerJson({ method: "POST", url, headers, body: form }, issuer, upstream));
  };
  return configuration;
}

/** As the issuer takes it (OpenID Connect Core 1.0, 9); a client without a secret proves itself by PKCE alone. */
function authentication(
  { clientId, clientSecret }: ConsoleClient,
  document: JsonObject,
  openId: typeof OpenId,
): OpenId.ClientAuth {
  if (clientSecret === null) return openId.None();
  const methods = document["token_endpoint_auth_methods_supported"];
  if (Array.isArray(methods) && !methods.includes("client_secret_basic")) return openId.ClientSecretPost(clientSecret);
  // The library's own would write dashes and dots as %2D and %2E, which not every issuer decodes.
  const pair = `${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`;
  return (_issuer, _client, _body, headers) =>
    headers.set("authorization", `Basic ${Buffer.from(pair).toString("base64")}`);
}
