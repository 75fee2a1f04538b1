// Makes a row's capability table from the base table: every feature is native unless the row differs. A new common
// parameter does not compile here until the base table has a cell for it.
import { BLOCK_TYPES } from "../../core/chat.ts";
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
  same,
} from "../../core/capability.ts";
import { NOT_IN_MESSAGES } from "../conversation/prompt-parameters.ts";
import { RESPONSES_CELLS, RESPONSES_MODEL_CELLS } from "../responses/capabilities.ts";
import type { OpenAICompatibleRow, RowDifferences } from "./row.ts";

const BASE: CapabilityCells = {
  ...same(NATIVE, "temperature", "top_p", "n", "stream", "stream_options", "stop", "max_tokens"),
  ...same(NATIVE, "max_completion_tokens", "presence_penalty", "frequency_penalty", "logit_bias", "user"),
  ...same(NATIVE, "safety_identifier", "response_format", "seed", "tools", "tool_choice", "parallel_tool_calls"),
  ...same(NATIVE, "logprobs", "top_logprobs", "reasoning_effort", "verbosity", "modalities", "audio", "prediction"),
  ...same(NATIVE, "service_tier", "store", "prompt_cache_key", "web_search_options"),
  deployment_id: unsupported("Azure only"),
  ...NOT_IN_MESSAGES,
  ...same(NATIVE, ...BLOCK_TYPES),
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
