// A row's models that do not speak chat completions: their requests and answers have the form of the Responses API, and
// are sent with the row's blocks, ids of tool calls and headers.
import type { ChatParams } from "../../core/chat.ts";
import { type Dialect, PLAIN_DIALECT } from "../interface/dialect.ts";
import type { Provider } from "../interface/provider.ts";
import { decodeResponse } from "../responses/decode-response.ts";
import { openStream } from "../responses/decode-stream.ts";
import { type JoinedText, jsonPost } from "../interface/encoded-request.ts";
import { encodeItems } from "../responses/encode-items.ts";
import { encodeBody } from "../responses/encode-request.ts";
import type { ResponsesRules } from "../responses/rules.ts";
import { wireMessages } from "./encode-messages.ts";
import { baseOf } from "./encode-request.ts";
import type { ErrorClassifier } from "./errors.ts";
import { reasoningBack } from "./responses-members.ts";
import type { OpenAICompatibleRow, ResponsesModels } from "./row.ts";
import type { WirePlan } from "./wire-plan.ts";

/** What depends on the form in which a model is asked. */
export type ModelForm = Pick<Provider, "encodeRequest" | "decodeResponse" | "openStream"> &
  Required<Pick<Provider, "joinedTexts">>;

/** https://platform.openai.com/docs/guides/tools: of the vendor's own tools, those that need nothing stored there. */
export const RESPONSES_DIALECT: Dialect = {
  ...PLAIN_DIALECT,
  tools: ["custom", "web_search*"],
  toolChoices: ["custom", "allowed_tools", "web_search*"],
  blocks: ["refusal"],
};

export function responsesModels(
  row: OpenAICompatibleRow,
  models: ResponsesModels,
  planFor: (model: string) => WirePlan,
  errors: ErrorClassifier,
): ModelForm {
  const back = reasoningBack(row, models);
  const rules: ResponsesRules = {
    reasoningFormat: models.reasoningFormat,
    carriedAs: back.carriedAs,
    failureOf: (parsed, text) => errors.classifyParsed(200, parsed, text),
  };
  return {
    encodeRequest(request, target) {
      const plan = planFor(target.model);
      const { body, mapped } = encodeBody(
        { ...request, params: present(request.params, plan) },
        wireMessages(row, plan, request, target),
        request.params.deployment_id ?? target.model,
        back,
      );
      const url = models.address?.(target) ?? baseOf(row, target) + (models.path ?? "/responses");
      const headers = { ...row.hooks?.headers?.(request), ...target.headers };
      return { request: jsonPost(url, headers, body), memo: null, ...(mapped.length > 0 && { mapped }) };
    },
    // guards have searched the text parts of a message as one text, so only documents that become texts add to it
    joinedTexts(request, target) {
      const joins: JoinedText[] = [];
      if (request.blocks.has("document"))
        encodeItems(wireMessages(row, planFor(target.model), request, target, joins), back, joins);
      return joins;
    },
    decodeResponse: (body, _context, value) => decodeResponse(body, rules, value),
    openStream: () => openStream(rules),
  };
}

/** Parameters that the gateway serves at every provider are sent where the row has a place for them. */
function present(params: ChatParams, { members }: WirePlan): ChatParams {
  return Object.fromEntries(Object.entries(params).filter(([name]) => members.get(name)?.kind !== "absent"));
}
