// Makes a row's capability table from the base table: every feature is native unless the row differs. A new common
// parameter does not compile here until the base table has a cell for it.
import {
  type CapabilityCells,
  type CapabilityTable,
  type Capability,
  emulated,
  type Feature,
  FIRST_CALL_ALONE,
  mapped,
  NATIVE,
  UNSUPPORTED,
  unsupported,
} from "../../core/capability.ts";
import { NOT_IN_MESSAGES } from "../conversation/prompt-parameters.ts";
import { RESPONSES_CELLS, RESPONSES_MODEL_CELLS } from "../responses/capabilities.ts";
import type { OpenAICompatibleRow, RowDifferences } from "./row.ts";

const BASE: CapabilityCells = {
  temperature: NATIVE,
  top_p: NATIVE,
  n: NATIVE,
  stream: NATIVE,
  stream_options: NATIVE,
  stop: NATIVE,
  max_tokens: NATIVE,
  max_completion_tokens: NATIVE,
  presence_penalty: NATIVE,
  frequency_penalty: NATIVE,
  logit_bias: NATIVE,
  user: NATIVE,
  safety_identifier: NATIVE,
  response_format: NATIVE,
  seed: NATIVE,
  tools: NATIVE,
  tool_choice: NATIVE,
  parallel_tool_calls: NATIVE,
  logprobs: NATIVE,
  top_logprobs: NATIVE,
  reasoning_effort: NATIVE,
  verbosity: NATIVE,
  modalities: NATIVE,
  audio: NATIVE,
  prediction: NATIVE,
  service_tier: NATIVE,
  store: NATIVE,
  prompt_cache_key: NATIVE,
  web_search_options: NATIVE,
  deployment_id: unsupported("Azure only"),
  ...NOT_IN_MESSAGES,
  text: NATIVE,
  image_url: NATIVE,
  input_audio: NATIVE,
  video_url: NATIVE,
  file: NATIVE,
  document: NATIVE,
};

export function capabilityTable(row: OpenAICompatibleRow): CapabilityTable {
  return {
    cells: { ...BASE, ...differingCells(row) },
    exceptions: [
      ...(row.responses === undefined ? [] : [{ models: row.responses.only, cells: RESPONSES_CELLS }]),
      ...(row.models ?? [])
        .map((some) => ({ models: some.models, cells: differingCells(some) }))
        .filter(({ cells }) => Object.keys(cells).length > 0),
      ...(row.responses === undefined ? [] : [{ models: row.responses.only, cells: RESPONSES_MODEL_CELLS }]),
    ],
    verified: row.verified === undefined ? "unverified" : { source: row.docs, ...row.verified },
  };
}

/** `cells` has precedence: it may restrict a rename or a rewrite to some values. */
function differingCells(differences: RowDifferences): Partial<Record<Feature, Capability>> {
  const cells: Partial<Record<Feature, Capability>> = {};
  const { lacks = [] } = differences;
  const hasTools = !lacks.includes("tools");
  for (const feature of lacks)
    cells[feature] = feature === "parallel_tool_calls" && hasTools ? FIRST_CALL_ALONE : UNSUPPORTED;
  if (!hasTools) cells.parallel_tool_calls = UNSUPPORTED;
  for (const [feature, name] of Object.entries(differences.renames ?? {})) cells[feature as Feature] = mapped(name);
  for (const [feature, rewrite] of Object.entries(differences.rewrites ?? {}))
    cells[feature as Feature] = rewrite.support === "emulated" ? emulated(rewrite.note) : mapped(rewrite.note);
  for (const [feature, rewrite] of Object.entries(differences.blocks ?? {}))
    cells[feature as Feature] = mapped(rewrite.note);
  return { ...cells, ...differences.cells };
}
