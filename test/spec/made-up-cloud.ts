// A fictitious cloud, called with every form of credential: it writes what it receives into a header, so that tests see
// where it was sent.
import type { StoredCredential } from "../../src/core/configured/credential.ts";
import { openTable } from "../../src/providers/conversation/conversation-members.ts";
import { openAICompatibleProvider } from "../../src/providers/openai-compatible/provider.ts";
import type { Provider } from "../../src/providers/interface/provider.ts";
import { type Stub, stubGateway, type StubOptions } from "../harness/in-process.ts";
import { providerSettings } from "../harness/targets.ts";
import { answeringGateway } from "./chat-calls.ts";

export const OWN_ADDRESS = "https://{region}.cloud.example/v1";

function cloud(id: string, credentials: Provider["credentials"]): Provider {
  const provider = openAICompatibleProvider({
    id,
    label: "Cloud",
    docs: "https://cloud.example/docs",
    baseUrl: OWN_ADDRESS,
    keyVariables: ["CLOUD_KEY"],
    credentials,
    conversation: openTable("https://cloud.example/docs"),
    takesDeveloper: true,
    settings: [
      { name: "region", variables: ["CLOUD_REGION"], field: "aws_region_name", meaning: "Region.", default: "west" },
    ],
  });
  return {
    ...provider,
    sign: (request, credential) =>
      credential === null
        ? request
        : { ...request, headers: { ...request.headers, "x-called-with": JSON.stringify(credential) } },
  };
}

/** `cloud` takes everything; `exchanging` exchanges a bare key. */
export const CLOUDS: ReadonlyMap<string, Provider> = new Map([
  ["cloud", cloud("cloud", ["key", "aws", "google", "entra"])],
  ["exchanging", cloud("exchanging", ["ibm_iam"])],
]);

/** Both clouds with these stored credentials. Answers "Hello" unless an upstream is given. */
export function cloudGateway(credentials: readonly StoredCredential[], options: StubOptions = {}): Stub {
  const providers = [...CLOUDS.keys()].map((id) =>
    providerSettings({ id, baseUrl: OWN_ADDRESS, credentials, settings: { region: "west" } }),
  );
  return (options.upstream === undefined ? answeringGateway : stubGateway)({ families: CLOUDS, providers, ...options });
}
