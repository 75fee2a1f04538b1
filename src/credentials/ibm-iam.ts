// Exchanges an API key of IBM Cloud for a bearer token:
// https://cloud.ibm.com/docs/account?topic=account-iamtoken_from_apikey
import type { StoredCredential } from "../core/configured/credential.ts";
import type { TokenRequest } from "./token-exchange.ts";

export function apiKeyRequest({
  apiKey,
  tokenUrl,
}: Extract<StoredCredential, { readonly kind: "ibm_iam" }>): TokenRequest {
  return {
    url: tokenUrl,
    form: { grant_type: "urn:ibm:params:oauth:grant-type:apikey", apikey: apiKey },
    secrets: [apiKey],
  };
}
