// The language of the filter, such as `status:429 route:chat model:openai:* cost>0.05 meta.team:core`, and the parameters of the admin API
// that its terms stand for. Chips, facets and links write the same text.
import { nanoUsd } from "../../format/money.ts";

export interface Term {
  /** As written. */
  readonly text: string;
  readonly name: string;
  readonly operator: ":" | ">" | "<";
  readonly value: string;
  /** Why it filters nothing; null when it does. */
  readonly problem: string | null;
  readonly parameters: readonly (readonly [string, string])[];
}

type Translate = (value: string) => readonly (readonly [string, string])[] | string;

const as =
  (parameter: string): Translate =>
  (value) => [[parameter, value]];
const flag =
  (parameter: string): Translate =>
  (value) =>
    value === "true" || value === "false" ? [[parameter, value]] : "takes true or false";

const EQUAL: Readonly<Record<string, Translate>> = {
  status: (value) => {
    if (/^[1-5]\d\d$/.test(value)) return [["status", value]];
    return /^[1-5]xx$/.test(value) ? [["status_class", value]] : "takes a status such as 429, or a class such as 4xx";
  },
  outcome: (value) => (value === "ok" || value === "failed" ? [["outcome", value]] : "takes ok or failed"),
  // a name that has a colon itself stands behind one: `model::ft:small`
  model: (value) => {
    const colon = value.indexOf(":");
    if (colon < 0) return [["model", value]];
    if (colon === 0) return [["model", value.slice(1)]];
    const [provider, model] = [value.slice(0, colon), value.slice(colon + 1)];
    return [["provider", provider], ...(model === "*" || model === "" ? [] : ([["model", model]] as const))];
  },
  trace: (value) => (/^[0-9a-f]{32}$/.test(value) ? [["trace_id", value]] : "takes 32 hex digits"),
  code: as("code"),
  route: as("route"),
  provider: as("provider"),
  asked: as("model_asked"),
  tenant: as("tenant_id"),
  project: as("project_id"),
  token: as("token_id"),
  user: as("user_id"),
  end_user: as("end_user"),
  request: as("client_request_id"),
  finish: as("finish_reason"),
  operation: as("operation"),
  tool: as("tool"),
  policy: as("policy"),
  limit: as("limit_id"),
  upstream: as("provider_request_id"),
  cache: (value) => (["hit", "miss", "bypass"].includes(value) ? [["cache", value]] : "takes hit, miss or bypass"),
  estimated: flag("estimated"),
  stream: flag("stream"),
  cancelled: flag("cancelled"),
  settled: flag("settled"),
  explained: flag("explained"),
  copy: flag("mirrored"),
};

const META = "meta.";

/** Numbers: the parameters for `>` and `<`, of which `null` is not asked for by the API. */
const BOUNDS: Readonly<Record<string, { readonly above: string; readonly below: string | null }>> = {
  ms: { above: "min_ms", below: "max_ms" },
  first: { above: "min_first_content_ms", below: "max_first_content_ms" },
  attempts: { above: "min_attempts", below: null },
  tokens: { above: "min_tokens", below: "max_tokens" },
  in: { above: "min_prompt_tokens", below: "max_prompt_tokens" },
  out: { above: "min_completion_tokens", below: "max_completion_tokens" },
  cost: { above: "min_cost_usd", below: "max_cost_usd" },
};

export const FILTER_NAMES: readonly string[] = [...Object.keys(EQUAL), "meta.<name>", ...Object.keys(BOUNDS)];

/** Values with spaces or quotes stand in double quotes, with a backslash before each quote: `end_user:"Ann B"`. */
export function parseFilter(text: string): readonly Term[] {
  return (text.match(/(?:[^\s"]|"(?:[^"\\]|\\.)*"?)+/gs) ?? []).map(parseTerm);
}

const NAME = /^([a-z_]+(?:\.(?:[\w-]+|"(?:[^"\\]|\\.)*"))?)([:<>])(.+)$/s;

function unquoted(text: string): string {
  return text.replaceAll(/"((?:[^"\\]|\\.)*)"?/gs, (_, inner: string) => inner.replaceAll(/\\(.)/gs, "$1"));
}

function quotedIfNeeded(value: string, isPlain: RegExp): string {
  return isPlain.test(value) ? value : `"${value.replaceAll(/["\\]/g, "\\$&")}"`;
}

function parseTerm(text: string): Term {
  if (/^[0-9a-f]{32}$/.test(text))
    return { text, name: "trace", operator: ":", value: text, problem: null, parameters: [["trace_id", text]] };
  const match = NAME.exec(text);
  if (match === null) return wrong(text, "", "A term has a name, such as status:429 or cost>0.05.");
  const [, named, operator, quoted] = match as unknown as readonly [string, string, Term["operator"], string];
  const [name, value] = [unquoted(named), unquoted(quoted)];
  const found = operator === ":" ? equalTo(name, value) : bounded(name, operator, value);
  return typeof found === "string"
    ? wrong(text, name, found)
    : { text, name, operator, value, problem: null, parameters: found };
}

function wrong(text: string, name: string, problem: string): Term {
  return { text, name, operator: ":", value: text, problem, parameters: [] };
}

function equalTo(name: string, value: string): ReturnType<Translate> {
  if (name.startsWith(META)) return [["metadata", new URLSearchParams([[name.slice(META.length), value]]).toString()]];
  const translate = Object.hasOwn(EQUAL, name) ? EQUAL[name] : undefined;
  if (translate === undefined)
    return Object.hasOwn(BOUNDS, name)
      ? `${name} takes a number: ${name}>1`
      : `Calls have no ${name}. There are: ${FILTER_NAMES.join(", ")}.`;
  const found = translate(value);
  return typeof found === "string" ? `${name} ${found}.` : found;
}

function bounded(name: string, operator: ">" | "<", value: string): readonly (readonly [string, string])[] | string {
  const bound = Object.hasOwn(BOUNDS, name) ? BOUNDS[name] : undefined;
  if (bound === undefined) return `${name} is not a number; write ${name}:${value}`;
  const parameter = operator === ">" ? bound.above : bound.below;
  if (parameter === null) return `${name} can be asked for with > only.`;
  const limit = name === "cost" ? nextCost(value, operator) : nextWhole(value, operator);
  return limit === null ? `${name} takes a number that is not negative.` : [[parameter, limit]];
}

/** The API's bounds include the number itself. */
function nextWhole(value: string, operator: ">" | "<"): string | null {
  if (!/^\d{1,15}$/.test(value)) return null;
  const next = Number(value) + (operator === ">" ? 1 : -1);
  return next < 0 ? null : String(next);
}

function nextCost(value: string, operator: ">" | "<"): string | null {
  const nano = nanoUsd(value.replace(/^\$/, ""));
  if (nano === null) return null;
  const next = nano + (operator === ">" ? 1n : -1n);
  if (next < 0n) return null;
  return `${next / 1_000_000_000n}.${(next % 1_000_000_000n).toString().padStart(9, "0")}`;
}

/** Two terms for one parameter: the last one counts, but for metadata. */
export function parametersOf(terms: readonly Term[]): URLSearchParams {
  const parameters = new URLSearchParams();
  const metadata: string[] = [];
  for (const [name, value] of terms.flatMap((term) => term.parameters)) {
    if (name === "metadata") metadata.push(value);
    else parameters.set(name, value);
  }
  if (metadata.length > 0) parameters.set("metadata", metadata.join("&"));
  return parameters;
}

/** The filter with a term more; another value of the same name is replaced. */
export function withTerm(terms: readonly Term[], name: string, value: string): string {
  const kept = terms.filter((term) => term.name !== name || term.operator !== ":");
  return [...kept.map(({ text }) => text), termText(name, value)].join(" ");
}

export function withoutTerm(text: string, gone: string): string {
  return parseFilter(text)
    .filter((term) => term.text !== gone)
    .map((term) => term.text)
    .join(" ");
}

/** The term that filters by exactly this value. */
export function termText(name: string, value: string): string {
  const written = name.startsWith(META) ? META + quotedIfNeeded(name.slice(META.length), /^[\w-]+$/) : name;
  const exact = name === "model" && value.includes(":") ? `:${value}` : value;
  return `${written}:${quotedIfNeeded(exact, /^[^\s"]+$/)}`;
}
