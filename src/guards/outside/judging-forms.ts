// The forms of the requests to guard services that have an address of their own. Those of a provider's services are in
// its folder.
import type { AddressServiceType } from "../../core/configured/outside-guard.ts";
import {
  type ServiceAddress,
  type ServiceForm,
  jsonRequest,
  labelOf,
  NonsenseAnswer,
  codePointSpans,
  pathUnder,
  quotedIn,
  wholeText,
} from "../../providers/interface/judging-form.ts";
import { isObject, type Json, objectsIn, listIn } from "../../core/json.ts";

/**
 * Lakera Guard, which judges a message by the policy of a project: attacks on the prompt, personal data, harmful content,
 * unknown links. It quotes personal data and words, and says of the rest only that it is there.
 * https://docs.lakera.ai/api-reference/lakera-api/guard/screen-content
 */
const LAKERA: ServiceForm<ServiceAddress> = {
  docs: "https://docs.lakera.ai/api-reference/lakera-api/guard/screen-content",
  maxTexts: 1,
  maxCharacters: 100_000,
  encode({ texts, place }, { url, headers }, { vendorId }) {
    return jsonRequest(pathUnder(url, "/v2/guard"), headers, {
      messages: [{ role: place === "output" ? "assistant" : "user", content: texts[0] }],
      ...(vendorId !== "" && { project_id: vendorId }),
      payload: true,
      breakdown: true,
    });
  },
  decode(answer, texts) {
    const { flagged, payload, breakdown } = isObject(answer) ? answer : {};
    if (typeof flagged !== "boolean") throw new NonsenseAnswer("does not say whether the text is flagged");
    if (!flagged) return [];
    const findingsOf = quotedIn(texts[0]!);
    const quotes = objectsIn(payload);
    const quoted = new Set(quotes.map(({ detector_type: type }) => type));
    const findings = [
      ...quotes.flatMap(({ text, detector_type: type }) => findingsOf(text, labelOf(type))),
      ...objectsIn(breakdown).flatMap(({ detected, detector_type: type }) =>
        detected === true && !quoted.has(type) ? [wholeText(labelOf(type))] : [],
      ),
    ];
    return findings.length > 0 ? findings : [wholeText("flagged")];
  },
};

const CONTENT_SAFETY_VERSION = "2024-09-01";
/**
 * Azure AI Content Safety, which gives each text a severity in four categories of harm, and looks for the words of lists.
 * https://learn.microsoft.com/en-us/rest/api/contentsafety/text-operations/analyze-text
 */
const CONTENT_SAFETY: ServiceForm<ServiceAddress> = {
  docs: "https://learn.microsoft.com/en-us/rest/api/contentsafety/text-operations/analyze-text",
  maxTexts: 1,
  maxCharacters: 10_000,
  encode({ texts }, { url, headers }, { blocklists }) {
    return jsonRequest(pathUnder(url, `/contentsafety/text:analyze?api-version=${CONTENT_SAFETY_VERSION}`), headers, {
      text: texts[0],
      ...(blocklists.length > 0 && { blocklistNames: blocklists, haltOnBlocklistHit: false }),
    });
  },
  decode(answer, texts, { leastSeverity }) {
    const { categoriesAnalysis, blocklistsMatch } = isObject(answer) ? answer : {};
    if (!Array.isArray(categoriesAnalysis)) throw new NonsenseAnswer("has no list `categoriesAnalysis`");
    const findingsOf = quotedIn(texts[0]!);
    return [
      ...(categoriesAnalysis as readonly Json[]).flatMap((one) => {
        const { category, severity } = isObject(one) ? one : {};
        if (typeof severity !== "number") throw new NonsenseAnswer("has a category without a severity");
        return severity >= leastSeverity ? [wholeText(labelOf(category))] : [];
      }),
      ...listIn(blocklistsMatch).flatMap((match) => {
        const { blocklistName, blocklistItemText } = isObject(match) ? match : {};
        return findingsOf(blocklistItemText, labelOf(blocklistName));
      }),
    ];
  },
};

/**
 * Presidio's analyzer, which finds personal data and names the stretches. It takes a list of texts and answers with a list
 * of findings for each; places are counted in code points, as Python does.
 * https://microsoft.github.io/presidio/api-docs/api-docs.html#tag/Analyzer
 */
const PRESIDIO: ServiceForm<ServiceAddress> = {
  docs: "https://microsoft.github.io/presidio/api-docs/api-docs.html#tag/Analyzer",
  maxTexts: 500,
  // The analyzer takes seconds for so many, and longer for each of more; its workers share only requests.
  maxCharacters: 20_000,
  encode({ texts }, { url, headers }, { language, entities, scoreThreshold }) {
    return jsonRequest(pathUnder(url, "/analyze"), headers, {
      text: texts,
      language,
      ...(entities.length > 0 && { entities }),
      ...(scoreThreshold !== null && { score_threshold: scoreThreshold }),
    });
  },
  decode(answer, texts) {
    if (!Array.isArray(answer) || answer.length !== texts.length)
      throw new NonsenseAnswer("is not a list with findings for each text");
    return (answer as readonly Json[]).flatMap((findings, text) => {
      if (!Array.isArray(findings)) throw new NonsenseAnswer("is not a list with findings for each text");
      const span = codePointSpans(texts[text]!);
      return (findings as readonly Json[]).map((finding) => {
        const { start, end, entity_type: type } = isObject(finding) ? finding : {};
        return { text, span: span(start, end), label: labelOf(type) };
      });
    });
  },
};

/**
 * The gateway's own request to a guard service: docs/guard-services.md. All texts go in one list, and the findings name
 * the index of their text.
 */
export const OWN_REQUEST: ServiceForm<ServiceAddress> = {
  docs: "docs/guard-services.md",
  maxTexts: 1000,
  maxCharacters: 262_144,
  encode: ({ texts, place, policy }, { url, headers }) => jsonRequest(url, headers, { policy, place, texts }),
  decode(answer, texts) {
    const findings = isObject(answer) ? answer["findings"] : undefined;
    if (!Array.isArray(findings)) throw new NonsenseAnswer("has no list `findings`");
    const spans = texts.map(codePointSpans);
    return (findings as readonly Json[]).map((finding) => {
      const { text: index, start, end, label } = isObject(finding) ? finding : {};
      const text = typeof index === "number" ? texts[index] : undefined;
      if (text === undefined) throw new NonsenseAnswer("has a finding in a text that was not sent");
      const isWhole = start === undefined && end === undefined;
      return {
        text: index as number,
        span: isWhole ? null : spans[index as number]!(start, end),
        label: labelOf(label),
      };
    });
  },
};

export const SERVICE_FORMS: Readonly<Record<AddressServiceType, ServiceForm<ServiceAddress>>> = {
  request: OWN_REQUEST,
  presidio: PRESIDIO,
  content_safety: CONTENT_SAFETY,
  lakera: LAKERA,
};
