// Lakera Guard, which judges a message by the policy of a project: attacks on the prompt, personal data, harmful content,
// unknown links. It quotes personal data and words, and says of the rest only that it is there.
// https://docs.lakera.ai/api-reference/lakera-api/guard/screen-content
import { isObject } from "../../core/json.ts";
import { objectsIn } from "../../providers/answers/sent-json.ts";
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

export const LAKERA: ServiceForm<ServiceAddress> = {
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
