// Guardrails of Amazon Bedrock without a model: ApplyGuardrail judges a text. It quotes personal data and words, and says
// of topics and harmful content only that they are there.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ApplyGuardrail.html
import { isObject, type Json, objectsIn } from "../../core/json.ts";
import {
  jsonRequest,
  labelOf,
  NonsenseAnswer,
  type ProviderForm,
  type QuotedFindings,
  quotedIn,
  type ServiceFinding,
  wholeText,
} from "../interface/judging-form.ts";
import { awsEncoded } from "../credentials/aws-signature.ts";

export const APPLY_GUARDRAIL: ProviderForm = {
  docs: "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ApplyGuardrail.html",
  // the assessment of several texts does not say which of them it concerns
  maxTexts: 1,
  // 25 text units of 1,000 characters: https://docs.aws.amazon.com/general/latest/gr/bedrock.html
  maxCharacters: 25_000,
  encode({ texts, place }, { baseUrl, headers }, { vendorId, version }) {
    return jsonRequest(`${baseUrl}/guardrail/${awsEncoded(vendorId)}/version/${version}/apply`, headers, {
      source: place === "output" ? "OUTPUT" : "INPUT",
      content: [{ text: { text: texts[0] } }],
    });
  },
  decode(answer, texts) {
    const { action, assessments } = isObject(answer) ? answer : {};
    if (action === "NONE") return [];
    if (action !== "GUARDRAIL_INTERVENED") throw new NonsenseAnswer("has no action of a guardrail");
    const quoted = quotedIn(texts[0]!);
    const findings = objectsIn(assessments).flatMap((assessment) =>
      Object.entries(assessment).flatMap(([policy, lists]) =>
        isObject(lists) ? Object.values(lists).flatMap((list) => findingsIn(list, policy, quoted)) : [],
      ),
    );
    return findings.length > 0 ? findings : [wholeText("guardrail")];
  },
};

/** `list` has what one policy of the guardrail found; what it only reports has the action `NONE`. */
function findingsIn(list: Json | undefined, policy: string, quoted: QuotedFindings): readonly ServiceFinding[] {
  return objectsIn(list).flatMap((one) => {
    if (one["action"] !== "BLOCKED" && one["action"] !== "ANONYMIZED") return [];
    // every topic has the type DENY: .../APIReference/API_runtime_GuardrailTopic.html
    const label = labelOf(one["name"] ?? one["type"] ?? policy);
    return one["match"] === undefined ? [wholeText(label)] : quoted(one["match"], label);
  });
}
