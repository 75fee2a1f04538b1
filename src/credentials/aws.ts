// Uses the credentials that AWS's own chain finds: environment, shared files and profiles, web identity, container,
// instance. The chain is the vendor's library (@aws-sdk/credential-provider-node), loaded when a configuration asks for
// it: https://docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html
import { messageOf } from "../core/thrown.ts";
import { ExchangeFault, type Issued } from "./token-exchange.ts";

export interface AwsIdentity {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
  readonly expiration?: Date;
}
export type AwsChain = (profile: string | null) => Promise<AwsIdentity>;

/** Keys without an expiry may have been changed in their file: they are read again after this time. */
const LASTING_LIFE_MS = 900_000;

/** A new chain for each call, because it remembers nothing of what was refused before. */
export const nodeChain: AwsChain = async (profile) => {
  const { defaultProvider } = await import("@aws-sdk/credential-provider-node");
  return defaultProvider(profile === null ? {} : { profile })();
};

export async function chainKeys(profile: string | null, nowMs: number, chain: AwsChain): Promise<Issued> {
  let found: AwsIdentity;
  try {
    found = await chain(profile);
  } catch (thrown) {
    throw new ExchangeFault(
      "failed",
      `the AWS credential chain found no credentials${profile === null ? "" : ` for the profile ${profile}`}: ${messageOf(thrown).slice(0, 500)}`,
      thrown,
    );
  }
  const { accessKeyId, secretAccessKey, sessionToken, expiration } = found;
  return {
    kind: "aws",
    secret: secretAccessKey,
    accessKeyId,
    ...(sessionToken !== undefined && { sessionToken }),
    issuedAtMs: nowMs,
    expiresAtMs: expiration?.getTime() ?? nowMs + LASTING_LIFE_MS,
  };
}
