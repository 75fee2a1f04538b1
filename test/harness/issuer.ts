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
  /** Public half of a key, for those who would misuse it. */
  publicKey(kid: string): Pair["publicKey"];
  stop(): void;
}

export async function startIssuer(options: { readonly claimedIssuer?: string } = {}): Promise<Issuer> {
  const keys = new Map<string, { readonly pair: Pair; readonly algorithm: string }>();
  const asked: string[] = [];
  let offered: readonly string[] = ["one"];
  let failing: number | null = null;
  const addKey = async (kid: string, algorithm = "ES256"): Promise<void> => {
    keys.set(kid, { pair: await generateKeyPair(algorithm, { extractable: true }), algorithm });
  };
  await addKey("one");
  const server: ReturnType<typeof Bun.serve> = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request): Promise<Response> {
      const { pathname } = new URL(request.url);
      asked.push(pathname);
      if (failing !== null) return new Response("", { status: failing });
      if (pathname === "/.well-known/openid-configuration")
        return Response.json({ issuer: options.claimedIssuer ?? url, jwks_uri: `${url}/keys` });
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
  return {
    url,
    asked,
    async token(claims = {}, { nowMs = Date.now(), kid = "one", sign = kid } = {}) {
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
    },
    addKey,
    offer: (...kids) => (offered = kids),
    fail: (status) => (failing = status),
    publicKey: (kid) => keys.get(kid)!.pair.publicKey,
    stop: () => void server.stop(true),
  };
}
