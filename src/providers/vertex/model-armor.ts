// Google Cloud's Model Armor, which judges a text by a template: attacks on the prompt, harmful content, addresses of
// malware, and personal data, whose places it names in code points.
// https://docs.cloud.google.com/model-armor/reference/rest/v1/projects.locations.templates/sanitizeUserPrompt
// https://docs.cloud.google.com/model-armor/reference/rest/v1/SanitizationResult
import { GatewayError } from "../../core/errors.ts";
import { isObject, type Json, type JsonObject, objectsIn } from "../../core/json.ts";
import type { Target } from "../../core/target.ts";
import {
  type CodePointSpan,
  jsonRequest,
  labelOf,
  NonsenseAnswer,
  type ProviderForm,
  type QuotedFindings,
  quotedIn,
  type ServiceFinding,
  codePointSpans,
  wholeText,
} from "../interface/judging-form.ts";

const FULL_NAME = /^projects\/[^/]+\/locations\/([a-z0-9-]+)\/templates\/[^/]+$/;
const FOUND = "MATCH_FOUND";

export const MODEL_ARMOR: ProviderForm = {
  docs: "https://docs.cloud.google.com/model-armor/reference/rest/v1/projects.locations.templates/sanitizeUserPrompt",
  maxTexts: 1,
  // filters take 10,000 tokens, of which a character may be one: https://docs.cloud.google.com/model-armor/quotas
  maxCharacters: 10_000,
  encode({ texts, place }, target, { vendorId }) {
    const { name, location } = templateOf(vendorId, target);
    const data = { text: texts[0] };
    const [method, body] =
      place === "output"
        ? ["sanitizeModelResponse", { modelResponseData: data }]
        : ["sanitizeUserPrompt", { userPromptData: data }];
    return jsonRequest(`https://modelarmor.${location}.rep.googleapis.com/v1/${name}:${method}`, target.headers, body);
  },
  decode(answer, texts) {
    const result = isObject(answer) ? answer["sanitizationResult"] : undefined;
    const { filterMatchState, filterResults, invocationResult } = isObject(result) ? result : {};
    if (invocationResult !== undefined && invocationResult !== "SUCCESS")
      throw new NonsenseAnswer("says that not all filters have run");
    if (filterMatchState === "NO_MATCH_FOUND") return [];
    if (filterMatchState !== FOUND) throw new NonsenseAnswer("does not say whether a filter has matched");
    const places: Places = { quoted: quotedIn(texts[0]!), span: codePointSpans(texts[0]!) };
    const findings = Object.entries(isObject(filterResults) ? filterResults : {}).flatMap(([filter, found]) =>
      isObject(found) ? Object.values(found).flatMap((one) => findingsOf(filter, one, places)) : [],
    );
    return findings.length > 0 ? findings : [wholeText("model_armor")];
  },
};

/** The template's full name, or its id in the project and location of the provider. */
function templateOf(
  id: string,
  { providerId, settings }: Target,
): { readonly name: string; readonly location: string } {
  const given = FULL_NAME.exec(id)?.[1];
  if (given !== undefined) return { name: id, location: given };
  const { project, location } = settings;
  // there are only regional addresses: https://docs.cloud.google.com/model-armor/data-residency
  if (project === undefined || location === undefined || location === "global")
    throw new GatewayError(
      "invalid_request",
      `Model Armor needs a project and a region: set template to the full name "projects/<project>/locations/<region>/templates/<id>", or project and location of providers.${providerId}.`,
    );
  return { name: `projects/${project}/locations/${location}/templates/${id}`, location };
}

/** How the findings in the text name their places. */
interface Places {
  readonly quoted: QuotedFindings;
  readonly span: CodePointSpan;
}

/** What one filter found; of personal data, the results of the inspection. */
function findingsOf(filter: string, found: Json | undefined, places: Places): readonly ServiceFinding[] {
  if (!isObject(found)) return [];
  const label = labelOf(filter);
  const inspected = found["inspectResult"] ?? found["deidentifyResult"];
  if (isObject(inspected)) {
    if (inspected["matchState"] !== FOUND) return [];
    const findings = objectsIn(inspected["findings"]);
    return findings.length === 0 ? [wholeText(label)] : findings.map((finding) => findingAt(finding, places));
  }
  if (found["matchState"] !== FOUND) return [];
  const addresses = objectsIn(found["maliciousUriMatchedItems"]);
  if (addresses.length > 0) return addresses.flatMap(({ uri }) => places.quoted(uri, label));
  const types = Object.entries(isObject(found["raiFilterTypeResults"]) ? found["raiFilterTypeResults"] : {}).filter(
    ([, one]) => isObject(one) && one["matchState"] === FOUND,
  );
  return types.length === 0 ? [wholeText(label)] : types.map(([type]) => wholeText(labelOf(type)));
}

/** Numbers are texts, and 0 is left out, as in all JSON of protocol buffers. */
function findingAt({ infoType, location }: JsonObject, { span }: Places): ServiceFinding {
  const range = isObject(location) ? location["codepointRange"] : undefined;
  if (!isObject(range)) return wholeText(labelOf(infoType));
  const { start = "0", end } = range;
  return { text: 0, span: span(numberOf(start), numberOf(end)), label: labelOf(infoType) };
}

function numberOf(value: Json | undefined): unknown {
  return typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : value;
}
