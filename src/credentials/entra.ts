// Exchanges client credentials of Microsoft Entra ID for a bearer token, with a secret or with an assertion of another
// issuer from a file (workload identity):
// https://learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow
import type { StoredCredential } from "../core/configured/credential.ts";
import { readCredentialFile } from "./credential-file.ts";
import { ExchangeFault, type TokenRequest } from "./token-exchange.ts";

type Of<Kind extends StoredCredential["kind"]> = Extract<StoredCredential, { readonly kind: Kind }>;

export function clientRequest({ tokenUrl, clientId, clientSecret, scope }: Of<"entra_client">): TokenRequest {
  return {
    url: tokenUrl,
    form: { grant_type: "client_credentials", client_id: clientId, client_secret: clientSecret, scope },
    secrets: [clientSecret],
  };
}

export async function federatedRequest({
  tokenUrl,
  clientId,
  tokenFile,
  scope,
}: Of<"entra_federated">): Promise<TokenRequest> {
  const assertion = (await readCredentialFile(tokenFile)).trim();
  if (assertion === "") throw new ExchangeFault("unusable", `the file ${tokenFile} is empty`);
  const form = {
    grant_type: "client_credentials",
    client_id: clientId,
    client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
    client_assertion: assertion,
    scope,
  };
  return { url: tokenUrl, form, secrets: [assertion] };
}
