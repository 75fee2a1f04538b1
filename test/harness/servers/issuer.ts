// An issuer of OpenID Connect on this machine: a discovery document, a key set, and tokens signed with its keys, which
// rotate and fail as a test asks.
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose";

type Pair = Awaited<ReturnType<typeof generateKeyPair>>;

export interface Issuer {
  readonly url: string;
  /** Paths that were asked for, in order. */
  readonly asked: readonly string[];
  /** A token of `ann` for the audience `gateway`, good for five minutes after `nowMs`; undefined takes a claim away. */
  token(
    claims?: Readonly<Record<string, unknown>>,
    how?: { readonly nowMs?: number; readonly kid?: string; readonly sign?: string },
  ): Promise<string>;
  /** Makes another key, by its kid, and offers these from now on. */
  addKey(kid: string, algorithm?: string): Promise<void>;
  offer(...kids: readonly string[]): void;
  /** What is answered in place of documents; null: nothing is wrong. */
  fail(status: number | null): void;
  /** Where browsers log in, and what gives tokens for codes: for one client, with PKCE. */
  readonly codeFlow: CodeFlow;
  /** Public half of a key, for those who would misuse it. */
  publicKey(kid: string): Pair["publicKey"];
  stop(): void;
}

export interface CodeFlow {
  readonly clientId: string;
  readonly clientSecret: string;
  /** Claims of the next ID tokens, beside `nonce`. */
  claims: Readonly<Record<string, unknown>>;
  /** What was sent with each request for a token. */
  readonly exchanged: readonly URLSearchParams[];
}

export async function startIssuer(options: { readonly claimedIssuer?: string } = {}): Promise<Issuer> {
  const keys = new Map<string, { readonly pair: Pair; readonly algorithm: string }>();
  const asked: string[] = [];
  let offered: readonly string[] = ["one"];
  let failing: number | null = null;
  const exchanged: URLSearchParams[] = [];
  const codes = new Map<string, URLSearchParams>();
  const codeFlow: CodeFlow = { clientId: "web-console", clientSecret: "top secret+", claims: {}, exchanged };
  const addKey = async (kid: string, algorithm = "ES256"): Promise<void> => {
    keys.set(kid, { pair: await generateKeyPair(algorithm, { extractable: true }), algorithm });
  };
  await addKey("one");
  const server: ReturnType<typeof Bun.serve> = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request): Promise<Response> {
      const { pathname, searchParams } = new URL(request.url);
      asked.push(pathname);
      if (pathname === "/authorize") {
        const code = crypto.randomUUID();
        codes.set(code, searchParams);
        const back = new URL(searchParams.get("redirect_uri")!);
        for (const [name, value] of [
          ["code", code],
          ["state", searchParams.get("state")!],
          ["iss", url],
        ] as const)
          back.searchParams.set(name, value);
        return Response.redirect(back.href);
      }
      if (pathname === "/token") return await exchange(request);
      if (failing !== null) return new Response("", { status: failing });
      if (pathname === "/.well-known/openid-configuration")
        return Response.json({
          issuer: options.claimedIssuer ?? url,
          jwks_uri: `${url}/keys`,
          authorization_endpoint: `${url}/authorize`,
          token_endpoint: `${url}/token`,
        });
      const set = await Promise.all(
        offered.map(async (kid) => ({
          ...(await exportJWK(keys.get(kid)!.pair.publicKey)),
          kid,
          alg: keys.get(kid)!.algorithm,
          use: "sig",
        })),
      );
      return Response.json({ keys: set });
    },
  });
  const url: string = `http://127.0.0.1:${server.port}`;
  /** As RFC 6749 and RFC 7636 ask of it. */
  const exchange = async (request: Request): Promise<Response> => {
    const sent = new URLSearchParams(await request.text());
    exchanged.push(sent);
    const begun = codes.get(sent.get("code") ?? "");
    codes.delete(sent.get("code") ?? "");
    const challenge = new Bun.CryptoHasher("sha256").update(sent.get("code_verifier") ?? "").digest("base64url");
    const pair = `${encodeURIComponent(codeFlow.clientId)}:${encodeURIComponent(codeFlow.clientSecret)}`;
    if (
      begun === undefined ||
      challenge !== begun.get("code_challenge") ||
      sent.get("redirect_uri") !== begun.get("redirect_uri") ||
      request.headers.get("authorization") !== `Basic ${Buffer.from(pair).toString("base64")}`
    )
      return Response.json({ error: "invalid_grant" }, { status: 400 });
    const claims = { aud: codeFlow.clientId, nonce: begun.get("nonce"), ...codeFlow.claims };
    return Response.json({ token_type: "Bearer", access_token: "unused", id_token: await token(claims) });
  };
  const token: Issuer["token"] = async (claims = {}, { nowMs = Date.now(), kid = "one", sign = kid } = {}) => {
    const { pair, algorithm } = keys.get(sign)!;
    const nowS = Math.floor(nowMs / 1000);
    const payload = {
      iss: url,
      aud: "gateway",
      sub: "ann",
      email: "ann@example.com",
      iat: nowS,
      exp: nowS + 300,
      ...claims,
    };
    const said = Object.fromEntries(Object.entries(payload).filter(([, value]) => value !== undefined)) as JWTPayload;
    return new SignJWT(said).setProtectedHeader({ alg: algorithm, kid, typ: "JWT" }).sign(pair.privateKey);
  };
  return {
    url,
    asked,
    codeFlow,
    token,
    addKey,
    offer: (...kids) => (offered = kids),
    fail: (status) => (failing = status),
    publicKey: (kid) => keys.get(kid)!.pair.publicKey,
    stop: () => void server.stop(true),
  };
}
