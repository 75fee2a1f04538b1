// The code flow with which a person logs in to the console at a company's issuer (OpenID Connect Core 1.0, 3.1; PKCE, RFC
// 7636; RFC 9207): where the browser is sent, and what the code that it comes back with is exchanged for. The state of a
// login that has begun is in the browser only.
import { timingSafeEqual } from "node:crypto";
import { isObject, type JsonObject } from "../../core/json.ts";
import type { ConsoleClient, LoginIssuer } from "../../core/configured/login.ts";
import type { UpstreamClient } from "../../wire/upstream.ts";
import { discoveryDocument, issuerJson } from "./issuer-requests.ts";

/** What a login that has begun has to be finished with. */
export interface BegunLogin {
  readonly issuer: string;
  readonly state: string;
  readonly nonce: string;
  /** Whoever finishes the login proves with it to be the one who began it. */
  readonly verifier: string;
}

/** What the browser brings back. */
export interface LoginCallback {
  readonly code: string | null;
  readonly state: string | null;
  /** The issuer, where it says so (RFC 9207). */
  readonly iss: string | null;
}

const secret = (): string =>
  crypto.getRandomValues(new Uint8Array(32)).toBase64({ alphabet: "base64url", omitPadding: true });

/** Returns where to send the browser. Throws Error when the issuer cannot be asked. */
export async function beginLogin(
  issuer: LoginIssuer,
  client: ConsoleClient,
  redirectUri: string,
  upstream: UpstreamClient,
): Promise<{ readonly login: BegunLogin; readonly address: string }> {
  const { endpoint } = endpointOf(await discoveryDocument(issuer.issuer, upstream), "authorization_endpoint");
  const login: BegunLogin = { issuer: issuer.name, state: secret(), nonce: secret(), verifier: secret() };
  const address = new URL(endpoint);
  const challenge = new Bun.CryptoHasher("sha256").update(login.verifier).digest("base64url");
  for (const [name, value] of Object.entries({
    response_type: "code",
    client_id: client.clientId,
    redirect_uri: redirectUri,
    scope: client.scopes.join(" "),
    state: login.state,
    nonce: login.nonce,
    code_challenge: challenge,
    code_challenge_method: "S256",
  }))
    address.searchParams.set(name, value);
  return { login, address: address.href };
}

/** Whether the browser comes back from the login that it began. */
export function isCallbackOf({ state }: BegunLogin, callback: LoginCallback, issuer: LoginIssuer): boolean {
  const [given, begun] = [Buffer.from(callback.state ?? ""), Buffer.from(state)];
  return (
    given.byteLength === begun.byteLength &&
    timingSafeEqual(given, begun) &&
    (callback.iss === null || callback.iss === issuer.issuer)
  );
}

/** Exchanges the code for the text of an ID token, which is not verified yet. Throws Error. */
export async function idTokenFor(
  code: string,
  { verifier }: BegunLogin,
  redirectUri: string,
  {
    issuer,
    client,
    upstream,
  }: { readonly issuer: LoginIssuer; readonly client: ConsoleClient; readonly upstream: UpstreamClient },
): Promise<string> {
  const document = await discoveryDocument(issuer.issuer, upstream);
  const { endpoint } = endpointOf(document, "token_endpoint");
  const { headers, fields } = authentication(client, document);
  const body = new URLSearchParams({
    grant_type: "authorization_code",
    code,
    redirect_uri: redirectUri,
    code_verifier: verifier,
    ...fields,
  }).toString();
  const answer = await issuerJson(
    {
      method: "POST",
      url: endpoint,
      headers: { "content-type": "application/x-www-form-urlencoded", accept: "application/json", ...headers },
      body,
    },
    issuer.issuer,
    upstream,
  );
  const token = isObject(answer) ? answer["id_token"] : undefined;
  if (typeof token !== "string") throw new Error("its token endpoint gave no ID token");
  return token;
}

function endpointOf(document: JsonObject, name: string): { readonly endpoint: string } {
  const endpoint = document[name];
  if (typeof endpoint !== "string" || !URL.canParse(endpoint)) throw new Error(`its discovery document has no ${name}`);
  return { endpoint };
}

/** As the issuer takes it (OpenID Connect Core 1.0, 9); a client without a secret proves itself by PKCE alone. */
function authentication(
  { clientId, clientSecret }: ConsoleClient,
  document: JsonObject,
): { readonly headers: Readonly<Record<string, string>>; readonly fields: Readonly<Record<string, string>> } {
  if (clientSecret === null) return { headers: {}, fields: { client_id: clientId } };
  const methods = document["token_endpoint_auth_methods_supported"];
  const takesBasic = !Array.isArray(methods) || methods.some((method) => method === "client_secret_basic");
  if (!takesBasic) return { headers: {}, fields: { client_id: clientId, client_secret: clientSecret } };
  const pair = `${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`;
  return { headers: { authorization: `Basic ${Buffer.from(pair).toString("base64")}` }, fields: {} };
}
