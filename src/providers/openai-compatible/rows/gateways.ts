// Services that pass calls on to providers of others, in OpenAI's form.
import { isObject } from "../../../core/json.ts";
import { ADDRESS, documentAsFile } from "../quirks.ts";
import type { BlockRewrite, OpenAICompatibleRow } from "../row.ts";

/** `file_data` may be an address: https://openrouter.ai/docs/features/multimodal/pdfs */
const openrouterFile: BlockRewrite = {
  note: "an address in file_id goes in file_data",
  write: (part) => {
    const { file } = part;
    if (!isObject(file) || typeof file["file_id"] !== "string" || !ADDRESS.test(file["file_id"])) return part;
    const { file_id: address, ...rest } = file;
    return { ...part, file: { filename: address.split(/[?#]/)[0]!.split("/").at(-1) || "document", ...rest, file_data: address } };
  },
};

const openrouter: OpenAICompatibleRow = {
  id: "openrouter",
  label: "OpenRouter",
  docs: "https://openrouter.ai/docs/api-reference/overview",
  baseUrl: "https://openrouter.ai/api/v1",
  keyVariables: ["OPENROUTER_API_KEY"],
  verified: { source: "https://openrouter.ai/docs/api-reference/overview", date: "2026-11-20" },
  cells: { reasoning_effort: { support: "native", note: "none to max; must agree with reasoning.effort" }, n: { support: "native", note: "not in the vendor's schema" } },
  blocks: { file: openrouterFile, document: documentAsFile },
  // server tools, and tools in the forms of other vendors, are translated there
  dialect: { tools: ["*"], toolChoices: ["*"] },
  privileged: ["models", "provider", "route", "preset", "plugins"],
  // reasoning_details have to come back unchanged: https://openrouter.ai/docs/use-cases/reasoning-tokens
  reasoningBack: { text: "reasoning", details: "kept" },
  causeAt: ["metadata", "raw"],
};

export const gateways: readonly OpenAICompatibleRow[] = [openrouter];
