// Exchanges Google's credentials for a bearer token: the key of a service account signs an assertion
// (https://developers.google.com/identity/protocols/oauth2/service-account), a developer's login is a refresh token,
// and google-auth-library handles everything else, for operators only. Addresses in a credentials file are ignored.
import { createPrivateKey, type KeyObject } from "node:crypto";
import { googleServiceAccount, type StoredCredential } from "../core/configured/credential.ts";
import { isObject, type JsonObject, jsonIn } from "../core/json.ts";
import { readCredentialFile } from "./credential-file.ts";
import { ExchangeFault, type Issued, type TokenRequest } from "./token-exchange.ts";

type Of<Kind extends StoredCredential["kind"]> = Extract<StoredCredential, { readonly kind: Kind }>;
type ServiceAccount = Pick<Of<"google_service_account">, "clientEmail" | "privateKey" | "privateKeyId" | "tokenUrl">;

const SCOPE = "https://www.googleapis.com/auth/cloud-platform";
/** The audience of an assertion, wherever it is sent. */
const AUDIENCE = "https://oauth2.googleapis.com/token";
const LIFE_S = 3600;
/** The time to sign grows with the cube of the key length, so a key from a caller is limited. */
const MAX_KEY_BITS = 4096;

export async function serviceAccountRequest(
  { clientEmail, privateKey, privateKeyId, tokenUrl }: ServiceAccount,
  nowMs: number,
): Promise<TokenRequest> {
  const issuedAtS = Math.floor(nowMs / 1000);
  const { importPKCS8, SignJWT } = await import("jose");
  const assertion = await new SignJWT({ scope: SCOPE })
    .setProtectedHeader({ alg: "RS256", typ: "JWT", ...(privateKeyId !== null && { kid: privateKeyId }) })
    .setIssuer(clientEmail)
    .setAudience(AUDIENCE)
    .setIssuedAt(issuedAtS)
    .setExpirationTime(issuedAtS + LIFE_S)
    .sign(await importPKCS8(readablePkcs8(privateKey), "RS256"));
  return {
    url: tokenUrl,
    form: { grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer", assertion },
    secrets: [assertion, privateKey],
  };
}

function readablePkcs8(pem: string): string {
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch {
    // The library's message may quote the text of the key.
    throw new ExchangeFault("unusable", "the private_key of the service account cannot be read");
  }
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
  if (key.asymmetricKeyType !== "rsa" || bits > MAX_KEY_BITS || bits < 2048)
    throw new ExchangeFault(
      "unusable",
      `the private_key of the service account is not an RSA key of 2048 to ${MAX_KEY_BITS} bits`,
    );
  return key.export({ type: "pkcs8", format: "pem" });
}

/** The request for a credentials file; `library` for types that only google-auth-library understands. */
export async function fileRequest(
  { path, tokenUrl }: Pick<Of<"google_file">, "path" | "tokenUrl">,
  nowMs: number,
): Promise<TokenRequest | "library"> {
  const file = parsedFile(await readCredentialFile(path), path);
  if (file["type"] === "authorized_user") return refreshRequest(file, path, tokenUrl);
  if (file["type"] !== "service_account") return "library";
  const account = googleServiceAccount(file);
  if (typeof account === "string")
    throw new ExchangeFault("unusable", `the file ${path} cannot be used: expected ${account}`);
  return serviceAccountRequest({ ...account, tokenUrl }, nowMs);
}

function parsedFile(text: string, path: string): JsonObject {
  const file = jsonIn(text);
  if (isObject(file) && typeof file["type"] === "string") return file;
  throw new ExchangeFault(
    "unusable",
    `the file ${path} cannot be used: expected a JSON object with a type, such as service_account`,
  );
}

function refreshRequest(file: JsonObject, path: string, url: string): TokenRequest {
  const { client_id, client_secret, refresh_token } = file;
  if (typeof client_id !== "string" || typeof client_secret !== "string" || typeof refresh_token !== "string")
    throw new ExchangeFault(
      "unusable",
      `the file ${path} cannot be used: an authorized_user needs client_id, client_secret and refresh_token`,
    );
  return {
    url,
    form: { grant_type: "refresh_token", client_id, client_secret, refresh_token },
    secrets: [client_secret, refresh_token],
  };
}

/** The part of google-auth-library that is used. */
export interface GoogleAuthLibrary {
  readonly GoogleAuth: new (options: { readonly scopes: readonly string[]; readonly keyFilename?: string }) => {
    getClient(): Promise<{
      getAccessToken(): Promise<{ readonly token?: string | null }>;
      readonly credentials: { readonly expiry_date?: number | null };
    }>;
  };
}

/** A separate package, large and rarely needed, which operators install themselves. */
export async function importGoogleAuth(): Promise<GoogleAuthLibrary> {
  return (await import("google-auth-library")) as unknown as GoogleAuthLibrary;
}

export const GOOGLE_AUTH_MISSING =
  "Application default credentials need the package google-auth-library: npm install google-auth-library";
/** The assumed life of a token when the library does not state one. */
const LIBRARY_LIFE_MS = 300_000;

/** Application default credentials, or those of a file of any type. */
export async function libraryToken(
  path: string | null,
  nowMs: number,
  load: () => Promise<GoogleAuthLibrary>,
): Promise<Issued> {
  let library: GoogleAuthLibrary;
  try {
    library = await load();
  } catch (thrown) {
    throw new ExchangeFault("unusable", GOOGLE_AUTH_MISSING, thrown);
  }
  // A new client each time, because the library caches tokens, even refused ones.
  const client = await new library.GoogleAuth({
    scopes: [SCOPE],
    ...(path !== null && { keyFilename: path }),
  }).getClient();
  const { token } = await client.getAccessToken();
  if (typeof token !== "string" || token === "") throw new ExchangeFault("failed", "google-auth-library gave no token");
  return {
    kind: "token",
    secret: token,
    issuedAtMs: nowMs,
    expiresAtMs: client.credentials.expiry_date ?? nowMs + LIBRARY_LIFE_MS,
  };
}
