// Azure AI Content Safety, which gives each text a severity in four categories of harm, and looks for the words of lists.
// https://learn.microsoft.com/en-us/rest/api/contentsafety/text-operations/analyze-text
import { isObject, type Json } from "../../core/json.ts";
import {
  jsonRequest,
  labelOf,
  NonsenseAnswer,
  pathUnder,
  quotedIn,
  type ServiceAddress,
  type ServiceForm,
  wholeText,
} from "../../providers/judging-form.ts";

const API_VERSION = "2024-09-01";

export const CONTENT_SAFETY: ServiceForm<ServiceAddress> = {
  docs: "https://learn.microsoft.com/en-us/rest/api/contentsafety/text-operations/analyze-text",
  maxTexts: 1,
  maxCharacters: 10_000,
  encode({ texts }, { url, headers }, { blocklists }) {
    return jsonRequest(pathUnder(url, `/contentsafety/text:analyze?api-version=${API_VERSION}`), headers, {
      text: texts[0],
      ...(blocklists.length > 0 && { blocklistNames: blocklists, haltOnBlocklistHit: false }),
    });
  },
  decode(answer, texts, { leastSeverity }) {
    const { categoriesAnalysis, blocklistsMatch } = isObject(answer) ? answer : {};
    if (!Array.isArray(categoriesAnalysis)) throw new NonsenseAnswer("has no list `categoriesAnalysis`");
    const findingsOf = quotedIn(texts[0]!);
    const matches = Array.isArray(blocklistsMatch) ? (blocklistsMatch as readonly Json[]) : [];
    return [
      ...(categoriesAnalysis as readonly Json[]).flatMap((one) => {
        const { category, severity } = isObject(one) ? one : {};
        if (typeof severity !== "number") throw new NonsenseAnswer("has a category without a severity");
        return severity >= leastSeverity ? [wholeText(labelOf(category))] : [];
      }),
      ...matches.flatMap((match) => {
        const { blocklistName, blocklistItemText } = isObject(match) ? match : {};
        return findingsOf(blocklistItemText, labelOf(blocklistName));
      }),
    ];
  },
};
