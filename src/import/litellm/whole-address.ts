// What `api_base` of a deployment means where LiteLLM expects more in it than the address of a server: the path of an
// operation, or that of Google's publishers, with project, location and model.
// https://docs.litellm.ai/docs/providers/vertex, https://docs.litellm.ai/docs/providers/cohere
import { isPlainAddress } from "../../providers/credentials/credential-settings.ts";
import type { EnvironmentTexts, FoundText } from "../environment-texts.ts";
import { textOf } from "../figures.ts";
import type { ForeignNode } from "../foreign-file.ts";

interface MeantAddress {
  readonly family: string;
  /** `null` where the provider's own address is meant. */
  readonly found: FoundText | null;
  /** Settings of the provider that stand in the address. */
  readonly settings: Readonly<Record<string, string>>;
}

/** The end that Dragoman adds to the address of these providers, and LiteLLM accepts in it. */
const OPERATIONS: Readonly<Record<string, RegExp>> = {
  anthropic: /\/v1\/messages\/*$/,
  cohere: /\/v[12]\/(chat|embed|rerank)\/*$/,
};
/** https://docs.cloud.google.com/vertex-ai/generative-ai/docs/learn/locations */
const PUBLISHERS =
  /^(?<base>https?:\/\/.+)\/(?<version>v1(?:beta1)?)(?:\/projects\/(?<project>[\w.-]+)\/locations\/(?<location>[\w-]+))?\/publishers\/[\w-]+(?:\/models\/(?<named>[^/:]+))?\/*$/;
const GOOGLE = /^https:\/\/(?:[a-z0-9-]+-)?aiplatform\.(?:[a-z]+\.rep\.)?googleapis\.com$/;
/** Addresses of Google's APIs to which LiteLLM adds the same path as Dragoman. */
const SAME_PATH: Readonly<Record<string, RegExp>> = {
  gemini: /\/v1(?:alpha|beta)?\/*$/,
  vertex: /^https?:\/\/[^/]+(?:\/v1(?:beta1)?)?\/*$/,
};
const MORE_PATH = "Dragoman adds the version and the path of the API to this address, and LiteLLM adds less";
export const OF_THE_PATH = "the rest of the path is made of the project, the location and the model";

/** `family` is that of the provider that the deployment names, and `model` what it calls there. */
export function meantAddress(
  family: string,
  model: string,
  node: ForeignNode | undefined,
  texts: EnvironmentTexts,
): MeantAddress {
  if (node === undefined) return { family, found: null, settings: {} };
  const text = textOf(node) ?? "";
  const found = texts.address(node);
  if (!isPlainAddress(text)) return { family, found, settings: {} };
  const operation = OPERATIONS[family];
  if (operation?.test(text) === true) {
    const how = "the path of the operation is added to it";
    return { family, found: { value: text.replace(operation, ""), how }, settings: {} };
  }
  const { base, version, project, location, named = model } = PUBLISHERS.exec(text)?.groups ?? {};
  if (SAME_PATH[family]?.test(text) ?? true) return { family, found, settings: {} };
  if (base === undefined || named !== model) return { family, found: { ...found, how: MORE_PATH }, settings: {} };
  return {
    family: "vertex",
    found: GOOGLE.test(base) ? null : { value: base, how: OF_THE_PATH },
    settings: { ...(project !== undefined && { project, location: location! }), api_version: version! },
  };
}
