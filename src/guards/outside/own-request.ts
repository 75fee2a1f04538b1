// The gateway's own request to a guard service: docs/guard-services.md. All texts go in one list, and the findings name
// the index of their text.
import { isObject, type Json } from "../../core/json.ts";
import {
  jsonRequest,
  labelOf,
  NonsenseAnswer,
  type ServiceAddress,
  type ServiceForm,
  codePointSpans,
} from "../../providers/judging-form.ts";

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
