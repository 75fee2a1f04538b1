// Guardrails of LiteLLM: Presidio's entities, the content filter's patterns and words, hidden secrets, and services that
// guards here can ask too. Those of further services have no counterpart.
// https://docs.litellm.ai/docs/proxy/guardrails/quick_start
import { nameOf } from "../draft.ts";
import { isOn, textOf } from "../figures.ts";
import { type ForeignNode, NO_MEMBERS } from "../foreign-file.ts";
import type { ImportContext } from "../gateway-import.ts";
import type { Mapping } from "../reference.ts";
import type { WrittenPlace } from "../report.ts";
import { shownKey } from "../secret-shape.ts";
import { STAYS_MASKED } from "./without-counterpart.ts";
import { literally } from "../usable-condition.ts";
import { type Asked, guardService, presidioService } from "./external-guards.ts";

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
  const params = item.members.get("litellm_params")?.members ?? NO_MEMBERS;
  const kind = textOf(params.get("guardrail")) ?? "";
  const on = sideOf(params.get("mode"));
  const name = nameOf(textOf(item.members.get("guardrail_name")) ?? "guardrail");
  const ids: string[] = [];
  const at = () => ids.map((id) => `policies.${id}`);
  if (on === null) return claims.without(item, "guards search what is sent and received, not logs");
  const guards = guardsOf(kind, { params, at, context });
  if (typeof guards === "string") return claims.without(item, guards);
  const isAlways = isOn(params.get("default_on"));
  for (const { guard, onlyReports, from } of guards) {
    const id = draft.freeName("policies", `${name.slice(0, 55)}-${guard.action}`);
    ids.push(id);
    for (const { places } of from) places.push(`policies.${id}`);
    draft.set("policies", [id], { guard: { on, ...guard }, ...((!isAlways || onlyReports) && { mode: "audit" }) });
  }
  claims.taken(item.members.get("guardrail_name"), at);
  const how = [
    ...searchedHere(guards),
    ...(kind === "lakera" ? ["Lakera is asked by the second version of its API"] : []),
    ...(isAlways ? [] : [ONLY_REPORTS]),
  ].join("; ");
  claims.moved(params.get("guardrail"), at, how === "" ? null : how);
  const isDuring = textOf(params.get("mode")) === "during_call";
  claims.moved(params.get("mode"), at, isDuring ? "the text is searched before it is sent" : null);
  claims.moved(params.get("default_on"), at, isAlways ? null : ONLY_REPORTS);
  claims.without(params.get("output_parse_pii"), STAYS_MASKED);
}

/** Says what Dragoman finds itself, and for what a service is asked beside that. */
function searchedHere(guards: readonly MadeGuard[]): readonly string[] {
  const [own, asked] = [guards.filter(({ guard }) => guard["service"] === undefined), guards.flatMap(entitiesAsked)];
  if (own.length === 0) return [];
  const names = own.flatMap(({ from }) => from.flatMap(({ entity }) => entity));
  const what = asked.length === 0 ? "" : ` for ${names.join(", ")}`;
  const rest = asked.length === 0 ? [] : [`Presidio is asked for ${asked.join(", ")}`];
  return [`Dragoman searches the text itself${what}, and can find more or less`, ...rest];
}

function entitiesAsked({ guard, from }: MadeGuard): readonly string[] {
  return guard["service"] === undefined ? [] : from.flatMap(({ entity }) => entity);
}

const ONLY_REPORTS =
  "there it applied to calls that asked for it; here it only reports what it would do, until mode: audit is removed";

function whyWithout(kind: string): string {
  return `Dragoman does not ask ${kind === "" ? "other services" : shownKey(kind)}; its guards find personal data, secrets and patterns (docs/policies.md), and ask some services and those of your own (docs/guard-services.md)`;
}

/** A guard of a policy, without the side that it searches. */
interface MadeGuard {
  readonly guard: Mapping & { readonly action: string };
  readonly onlyReports: boolean;
  /** What of the guardrail it was made of; empty where that is all of it. */
  readonly from: readonly Sought[];
}

/** Or why there is none. */
function guardsOf(kind: string, asked: Asked): readonly MadeGuard[] | string {
  const asking = guardService(kind, asked);
  if (typeof asking === "string") return asking;
  if (asking !== null) {
    const { service, action, onlyReports, onError } = asking;
    return [{ guard: { action, service, ...(onError === "allow" && { on_error: onError }) }, onlyReports, from: [] }];
  }
  const found = findingsOf(kind, asked);
  const guards = ACTIONS.flatMap((action): readonly MadeGuard[] => {
    const own = found.filter((each) => each.action === action);
    const here = own.filter(({ finding }) => finding !== null);
    const there = own.filter(({ finding }) => finding === null);
    const made: MadeGuard[] = [];
    if (here.length > 0) made.push({ guard: { action, ...guardOf(here) }, onlyReports: false, from: here });
    if (there.length > 0) {
      const at = (): readonly string[] => there.flatMap(({ places }) => places);
      const entities = there.flatMap(({ entity }) => entity);
      const service = presidioService(entities, { ...asked, at });
      made.push({ guard: { action, service }, onlyReports: false, from: there });
    }
    return made;
  });
  return guards.length === 0 ? whyWithout(kind) : guards;
}

function sideOf(mode: ForeignNode | undefined): "input" | "output" | "both" | null {
  const modes = (mode?.kind === "list" ? mode.items : [mode]).map((each) => textOf(each) ?? "pre_call");
  const isBefore = modes.some((each) => each === "pre_call" || each === "during_call");
  const isAfter = modes.includes("post_call");
  return isBefore && isAfter ? "both" : isBefore ? "input" : isAfter ? "output" : null;
}

interface Sought {
  /** `null` for what Presidio is asked for, because guards do not find it themselves. */
  readonly finding: Finding | null;
  /** Its names at Presidio; empty for all that it knows, and for what is no entity. */
  readonly entity: readonly string[];
  readonly action: Action;
  /** The policies that it became: filled when they are written. */
  readonly places: string[];
}

/** Empty for a kind without counterpart. */
function findingsOf(kind: string, { params, context }: Asked): readonly Sought[] {
  if (kind === "presidio") return entitiesOf(params.get("pii_entities_config"), context);
  if (kind === "litellm_content_filter")
    return [...patternsOf(params.get("patterns"), context), ...wordsOf(params.get("blocked_words"), context)];
  return kind === "hide-secrets" ? [sought({ kind: "classes", value: "secret" }, "mask")] : [];
}

function actionOf(node: ForeignNode | undefined): Action {
  return textOf(node)?.toUpperCase() === "BLOCK" ? "block" : "mask";
}

function sought(finding: Finding | null, action: Action, entity: readonly string[] = []): Sought {
  return { finding, entity, action, places: [] };
}

/** The policies that it becomes, which are known when they are written. */
function placesOf({ places }: Sought): WrittenPlace {
  return () => places;
}

function entitiesOf(config: ForeignNode | undefined, { claims }: ImportContext): readonly Sought[] {
  if (config === undefined) return [sought(null, "mask")];
  return Array.from(config.members, ([entity, node]): Sought => {
    const name = entity.toUpperCase();
    const one = sought(ENTITIES[name] ?? null, actionOf(node), [name]);
    claims.taken(node, placesOf(one));
    return one;
  });
}

/** As many as a guard can have. */
function withinGuard(list: ForeignNode | undefined, { claims }: ImportContext): readonly ForeignNode[] {
  const items = list?.items ?? [];
  for (const item of items.slice(MOST_PATTERNS)) claims.without(item, `only the first ${MOST_PATTERNS} are taken over`);
  return items.slice(0, MOST_PATTERNS);
}

function patternsOf(list: ForeignNode | undefined, context: ImportContext): readonly Sought[] {
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
    const one = sought(finding, actionOf(members.get("action")));
    claims.moved(item, placesOf(one), regular === null ? null : OF_RE2);
    return [one];
  });
}

const OF_RE2 = "it is read as a regular expression of RE2, which has no look-around";

function wordsOf(list: ForeignNode | undefined, context: ImportContext): readonly Sought[] {
  const { claims } = context;
  return withinGuard(list, context).flatMap((item): readonly Sought[] => {
    const keyword = textOf(item.members.get("keyword"));
    if (keyword === null) return [];
    const value = `(?i)${literally(keyword)}`;
    const one = sought({ kind: "patterns", value }, actionOf(item.members.get("action")));
    claims.taken(item.members.get("keyword"), placesOf(one));
    claims.taken(item.members.get("action"), placesOf(one));
    return [one];
  });
}

/** What a guard searches for itself. */
function guardOf(found: readonly Sought[]): Mapping {
  const values = (kind: Finding["kind"]): readonly string[] => [
    ...new Set(found.flatMap(({ finding }) => (finding?.kind === kind ? finding.value : []))),
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
