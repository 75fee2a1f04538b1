// Takes over the configuration of LiteLLM's proxy. https://docs.litellm.ai/docs/proxy/config_settings
import { ConfigurationError, type ConfigurationProblem } from "../../config/problem.ts";
import { isUnset, textOf } from "../figures.ts";
import { type ForeignNode, NO_MEMBERS, problemAt } from "../foreign-file.ts";
import type { GatewayImport, ImportContext } from "../gateway-import.ts";
import type { Settings } from "./deployment-account.ts";
import { CREDENTIAL, readDeployment } from "./deployment.ts";
import { importGuardrails } from "./guardrails.ts";
import { importIntegrations } from "./integrations.ts";
import { isKeptByLiteLlm } from "./kept-parameters.ts";
import { importRoutes } from "./routes.ts";
import { importSettings } from "./settings.ts";
import { importToolServers } from "./tool-servers.ts";

/** One of these has to be in the file. */
const SECTIONS = ["model_list", "litellm_settings", "router_settings", "general_settings", "mcp_servers", "guardrails"];

/** What a program fills in before LiteLLM reads the file, such as envsubst. */
const TEMPLATE = /^\$\{[A-Za-z_][A-Za-z0-9_]*(?::?-[^}]*)?\}$/;
const NOT_EXPANDED =
  "LiteLLM does not fill in such a text, and neither does the import: write os.environ/<name> for a variable and import again";

const KEPT = "LiteLLM acts on it itself and sends it to no provider; there is nothing of this kind here";

export const litellm: GatewayImport = {
  // PyYAML reads its files
  yaml: "1.1",
  environment: ({ members }) => ({
    prefix: "os.environ/",
    takesWords: true,
    template: { pattern: TEMPLATE, note: NOT_EXPANDED },
    own: members.get("environment_variables")?.members ?? NO_MEMBERS,
  }),
  run: (context) => {
    const { foreign, claims } = context;
    const problems = problemsOf(context);
    if (problems.length > 0) throw new ConfigurationError(problems);
    const { members } = foreign.root;
    const credentials = credentialsOf(members.get("credential_list"));
    const entries = members.get("model_list")?.items ?? [];
    const deployments = entries.flatMap((node) => readDeployment(node, credentials, context) ?? []);
    importRoutes(deployments, context);
    importSettings(deployments, context);
    importIntegrations(context);
    importGuardrails(members.get("guardrails"), context);
    importToolServers(members.get("mcp_servers"), context);
    for (const { members: credential } of members.get("credential_list")?.items ?? []) {
      const name = credential.get("credential_name");
      const using = deployments.filter(({ settings }) => textOf(settings.get(CREDENTIAL)) === textOf(name));
      claims.taken(name, () => using.map(({ providerId }) => `providers.${providerId}`));
    }
    for (const { settings } of deployments)
      for (const [name, node] of settings) if (isKeptByLiteLlm(name)) claims.without(node, KEPT);
    claims.without(
      members.get("environment_variables"),
      "nothing that was taken over refers to it; variables are set in the environment of the gateway",
    );
    claims.without(members.get("include"), "included files are not read; import each of them too");
  },
};

function problemsOf({ foreign: { file, root } }: ImportContext): readonly ConfigurationProblem[] {
  const problem = (node: ForeignNode, message: string): ConfigurationProblem => problemAt(file, node, message);
  if (root.kind !== "mapping")
    return [problem(root, "expected the configuration of LiteLLM, a mapping with model_list")];
  if (!SECTIONS.some((key) => root.members.has(key)))
    return [problem(root, `this is no configuration of LiteLLM: it has none of ${SECTIONS.join(", ")}`)];
  const list = root.members.get("model_list");
  const sections = SECTIONS.slice(1, 4).flatMap((key): readonly ConfigurationProblem[] => {
    const node = root.members.get(key);
    return node === undefined || isUnset(node) || node.kind === "mapping" ? [] : [problem(node, "expected a mapping")];
  });
  if (list === undefined || isUnset(list)) return sections;
  if (list.kind !== "list") return [...sections, problem(list, "expected a list of models")];
  return [
    ...sections,
    ...list.items.flatMap((item): readonly ConfigurationProblem[] => {
      if (item.kind !== "mapping") return [problem(item, "expected a mapping with model_name and litellm_params")];
      const params = item.members.get("litellm_params");
      if (textOf(item.members.get("model_name")) === null)
        return [problem(item.members.get("model_name") ?? item, "expected model_name, a text")];
      if (params?.kind !== "mapping") return [problem(params ?? item, "expected litellm_params, a mapping with model")];
      return textOf(params.members.get("model")) === null
        ? [problem(params.members.get("model") ?? params, "expected model, a text such as <provider>/<model>")]
        : [];
    }),
  ];
}

function credentialsOf(list: ForeignNode | undefined): ReadonlyMap<string, Settings> {
  return new Map(
    (list?.items ?? []).flatMap((item): readonly (readonly [string, Settings])[] => {
      const name = textOf(item.members.get("credential_name"));
      const values = item.members.get("credential_values")?.members;
      return name === null || values === undefined ? [] : [[name, values]];
    }),
  );
}
