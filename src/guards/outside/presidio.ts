// Presidio's analyzer, which finds personal data and names the stretches. It takes a list of texts and answers with a list
// of findings for each; places are counted in code points, as Python does.
// https://microsoft.github.io/presidio/api-docs/api-docs.html#tag/Analyzer
import { isObject, type Json } from "../../core/json.ts";
import {
  jsonRequest,
  labelOf,
  NonsenseAnswer,
  pathUnder,
  type ServiceAddress,
  type ServiceForm,
  codePointSpans,
} from "../../providers/judging-form.ts";

export const PRESIDIO: ServiceForm<ServiceAddress> = {
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
