// Guardrails of LiteLLM that search text themselves: Presidio's entities, the content filter's patterns and words, and
// hidden secrets. Those of other services have no counterpart.
// https://docs.litellm.ai/docs/proxy/guardrails/quick_start
import { nameOf } from "../draft.ts";
import { isOn, textOf } from "../figures.ts";
import type { ForeignNode } from "../foreign-file.ts";
import type { ImportContext } from "../gateway-import.ts";
import type { Mapping } from "../reference.ts";
import type { Place } from "../report.ts";
import { shownKey } from "../shown-path.ts";

/** What a guard finds: a class of data, a national id or a pattern. */
interface Finding {
  readonly kind: "classes" | "national_ids" | "patterns";
  readonly value: string;
}

/** https://microsoft.github.io/presidio/supported_entities/ and the prebuilt patterns of the content filter. */
const ENTITIES: Readonly<Record<string, Finding>> = {
  EMAIL_ADDRESS: { kind: "classes", value: "email" },
  EMAIL: { kind: "classes", value: "email" },
  PHONE_NUMBER: { kind: "classes", value: "phone" },
  US_PHONE: { kind: "classes", value: "phone" },
  CREDIT_CARD: { kind: "classes", value: "card" },
  VISA: { kind: "classes", value: "card" },
  MASTERCARD: { kind: "classes", value: "card" },
  AMEX: { kind: "classes", value: "card" },
  DISCOVER: { kind: "classes", value: "card" },
  IBAN_CODE: { kind: "classes", value: "iban" },
  IBAN: { kind: "classes", value: "iban" },
  US_SSN: { kind: "national_ids", value: "us_ssn" },
  UK_NINO: { kind: "national_ids", value: "gb_nino" },
  ES_NIF: { kind: "national_ids", value: "es_dni" },
  IT_FISCAL_CODE: { kind: "national_ids", value: "it_codice_fiscale" },
  PL_PESEL: { kind: "national_ids", value: "pl_pesel" },
  IN_AADHAAR: { kind: "national_ids", value: "in_aadhaar" },
  BR_CPF: { kind: "national_ids", value: "br_cpf" },
  FR_NIR: { kind: "national_ids", value: "fr_nir" },
  AWS_ACCESS_KEY: { kind: "classes", value: "secret" },
  AWS_SECRET_KEY: { kind: "classes", value: "secret" },
  GITHUB_TOKEN: { kind: "classes", value: "secret" },
};

const ACTIONS = ["mask", "block"] as const;
type Action = (typeof ACTIONS)[number];
/** Of patterns and of words: a guard can have twice as many. */
const MOST_PATTERNS = 50;

export function importGuardrails(list: ForeignNode | undefined, context: ImportContext): void {
  for (const item of list?.items ?? []) importGuardrail(item, context);
}

function importGuardrail(item: ForeignNode, context: ImportContext): void {
  const { claims, draft } = context;
  const params = item.members.get("litellm_params")?.members ?? new Map<string, ForeignNode>();
  const kind = textOf(params.get("guardrail")) ?? "";
  const on = sideOf(params.get("mode"));
  const name = nameOf(textOf(item.members.get("guardrail_name")) ?? "guardrail");
  const ids: string[] = [];
  const at = () => ids.map((id) => `policies.${id}`);
  const found = on === null ? null : findingsOf(kind, params, at, context);
  if (on === null || found === null) {
    claims.without(item, on === null ? "guards search what is sent and received, not logs" : whyWithout(kind));
    return;
  }
  const isAlways = isOn(params.get("default_on"));
  for (const action of ACTIONS) {
    const guard = guardOf(found.filter((each) => each.action === action).map((each) => each.finding));
    if (guard === null) continue;
    const id = draft.freeName("policies", `${name.slice(0, 55)}-${action}`);
    ids.push(id);
    draft.set("policies", [id], { guard: { on, action, ...guard }, ...(!isAlways && { mode: "audit" }) });
  }
  claims.taken(item.members.get("guardrail_name"), at);
  const how = isAlways ? SEARCHES_ITSELF : `${SEARCHES_ITSELF}; ${ONLY_REPORTS}`;
  claims.changed(params.get("guardrail"), at, how);
  if (textOf(params.get("mode")) === "during_call")
    claims.changed(params.get("mode"), at, "the text is searched before it is sent");
  else claims.taken(params.get("mode"), at);
  if (isAlways) claims.taken(params.get("default_on"), at);
  else claims.changed(params.get("default_on"), at, ONLY_REPORTS);
}

const SEARCHES_ITSELF = "Dragoman searches the text itself, and can find more or less";
const ONLY_REPORTS =
  "there it applied to calls that asked for it; here it only reports what it would do, until mode: audit is removed";

function whyWithout(kind: string): string {
  return `Dragoman does not ask ${kind === "" ? "other services" : shownKey(kind)}; its guards find personal data, secrets and patterns: docs/policies.md`;
}

function sideOf(mode: ForeignNode | undefined): "input" | "output" | "both" | null {
  const modes = (mode?.kind === "list" ? mode.items : [mode]).map((each) => textOf(each) ?? "pre_call");
  const isBefore = modes.some((each) => each === "pre_call" || each === "during_call");
  const isAfter = modes.includes("post_call");
  return isBefore && isAfter ? "both" : isBefore ? "input" : isAfter ? "output" : null;
}

interface Sought {
  readonly finding: Finding;
  readonly action: Action;
}

/** `null` for a kind without counterpart. */
function findingsOf(
  kind: string,
  params: ReadonlyMap<string, ForeignNode>,
  at: Place,
  context: ImportContext,
): readonly Sought[] | null {
  if (kind === "presidio") return entitiesOf(params.get("pii_entities_config"), at, context);
  if (kind === "litellm_content_filter")
    return [...patternsOf(params.get("patterns"), at, context), ...wordsOf(params.get("blocked_words"), at, context)];
  return kind === "hide-secrets" ? [{ finding: { kind: "classes", value: "secret" }, action: "mask" }] : null;
}

function actionOf(node: ForeignNode | undefined): Action {
  return textOf(node)?.toUpperCase() === "BLOCK" ? "block" : "mask";
}

function entitiesOf(config: ForeignNode | undefined, at: Place, { claims }: ImportContext): readonly Sought[] | null {
  if (config === undefined) return null;
  const sought = Array.from(config.members, ([entity, node]): readonly Sought[] => {
    const finding = ENTITIES[entity.toUpperCase()];
    if (finding === undefined) {
      claims.without(node, "guards do not find this kind of data");
      return [];
    }
    claims.taken(node, at);
    return [{ finding, action: actionOf(node) }];
  }).flat();
  return sought.length === 0 ? null : sought;
}

/** As many as a guard can have. */
function withinGuard(list: ForeignNode | undefined, { claims }: ImportContext): readonly ForeignNode[] {
  const items = list?.items ?? [];
  for (const item of items.slice(MOST_PATTERNS)) claims.without(item, `only the first ${MOST_PATTERNS} are taken over`);
  return items.slice(0, MOST_PATTERNS);
}

function patternsOf(list: ForeignNode | undefined, at: Place, context: ImportContext): readonly Sought[] {
  const { claims } = context;
  return withinGuard(list, context).flatMap((item): readonly Sought[] => {
    const { members } = item;
    const regular = textOf(members.get("pattern"));
    const finding: Finding | undefined =
      regular === null
        ? ENTITIES[(textOf(members.get("pattern_name")) ?? "").toUpperCase()]
        : { kind: "patterns", value: regular };
    if (finding === undefined) {
      claims.without(item, "guards do not find this kind of data; a regular expression can stand in guard.patterns");
      return [];
    }
    if (regular === null) claims.taken(item, at);
    else claims.changed(item, at, "it is read as a regular expression of RE2, which has no look-around");
    return [{ finding, action: actionOf(members.get("action")) }];
  });
}

function wordsOf(list: ForeignNode | undefined, at: Place, context: ImportContext): readonly Sought[] {
  const { claims } = context;
  return withinGuard(list, context).flatMap((item): readonly Sought[] => {
    const keyword = textOf(item.members.get("keyword"));
    if (keyword === null) return [];
    claims.taken(item.members.get("keyword"), at);
    claims.taken(item.members.get("action"), at);
    const value = `(?i)${keyword.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)}`;
    return [{ finding: { kind: "patterns", value }, action: actionOf(item.members.get("action")) }];
  });
}

function guardOf(findings: readonly Finding[]): Mapping | null {
  if (findings.length === 0) return null;
  const values = (kind: Finding["kind"]): readonly string[] => [
    ...new Set(findings.filter((each) => each.kind === kind).map(({ value }) => value)),
  ];
  const ids = values("national_ids");
  const classes = [...values("classes"), ...(ids.length > 0 ? ["national_id"] : [])];
  const patterns = values("patterns");
  return {
    ...(classes.length > 0 && { classes }),
    ...(ids.length > 0 && { national_ids: ids }),
    ...(patterns.length > 0 && { patterns }),
  };
}
