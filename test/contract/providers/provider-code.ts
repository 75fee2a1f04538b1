// Which providers run the same code. The rows of OpenAI-compatible providers and those of raw prompts share their
// engines, and nearly all that a row says is data for the same code. Random tests are run once for each code.
import type { answerRules } from "../../../src/providers/openai-compatible/answer-rules.ts";
import type { OpenAICompatibleRow } from "../../../src/providers/openai-compatible/row.ts";
import type { Provider } from "../../../src/providers/interface/provider.ts";
import { completionRows } from "../../../src/providers/raw-completions/rows.ts";
import { openaiCompatibleRows, providers } from "../../../src/providers/registry.ts";

/** Names what a provider runs; two of one name run the same code. */
export type CodeOf = (provider: Provider) => string;

/** The first provider of each code. */
export const oneOfEach = (codeOf: CodeOf): readonly Provider[] =>
  [...Map.groupBy(providers.values(), codeOf).values()].map(([first]) => first!);

type RuleFields = Parameters<typeof answerRules>[0];
/**
 * Whether a field chooses among the code that reads answers and errors. Total: a new field does not compile until this
 * is said of it. Finish reasons are looked up, and so are errors, but for their patterns.
 */
const CHOOSES: Readonly<Record<keyof RuleFields, boolean>> = {
  usageAt: true,
  billedBeside: true,
  reasoningField: true,
  lacksFinishReason: true,
  finishReasons: false,
  splitsAnswers: true,
  causeAt: true,
  statusAt: true,
  errors: false,
};

const ROWS = new Map(openaiCompatibleRows.map((row) => [row.id, row]));
/** The row of a provider in OpenAI's form; undefined for all others. */
export const rowOf = ({ id }: Provider): OpenAICompatibleRow | undefined => ROWS.get(id);
const COMPLETIONS = new Map(completionRows.map((row) => [row.id, row]));

/** The form of raw prompts, or the provider's own form. */
function ownForm({ id }: Provider): string {
  const form = COMPLETIONS.get(id)?.form;
  return form === undefined ? id : completionRows.find((row) => row.form === form)!.id;
}

export const answerCode: CodeOf = (provider) => {
  const row = rowOf(provider);
  if (row === undefined) return ownForm(provider);
  const chosen = Object.keys(CHOOSES) as (keyof RuleFields)[];
  return `compatible ${chosen.filter((name) => CHOOSES[name] && row[name] !== undefined).join(" ")}`;
};

/** A row's own patterns are code too: one can be slow. */
export const errorCode: CodeOf = (provider) => {
  const patterns = rowOf(provider)?.errors?.flatMap(({ text }) => (text === undefined ? [] : [String(text)]));
  return [answerCode(provider), ...(patterns ?? [])].join(" ");
};

/** The same for the address of a request and the name of the model in it. */
export const addressCode: CodeOf = (provider) => {
  const row = rowOf(provider);
  if (row === undefined) return ownForm(provider);
  const { path, barePath, hooks } = row;
  if (hooks?.address !== undefined || hooks?.model !== undefined) return row.id;
  return `compatible ${path?.includes("{model}") === true} ${barePath !== undefined}`;
};
