// `dragoman policy test`: evaluates the policies of a file for sample requests, without a server and without a call.
// Each policy is evaluated by itself, so that all policies that apply are shown, and not only the first that denies.
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import { searchedText } from "../engine/guards/text-guard.ts";
import { compilePolicies, projectPolicies } from "../policies/compile-policies.ts";
import { policiesSection, type PolicyDocument } from "../policies/policy-settings.ts";
import { CallPolicies } from "../engine/policies/call-policies.ts";
import { withCheckedEntries } from "../engine/fit/entry-request.ts";
import type { Environment } from "../config/environment.ts";
import { readConfigFile, readConfigText } from "../config/file.ts";
import { ConfigurationError, problemIn } from "../config/problem.ts";
import type { ChatRequest } from "../core/chat.ts";
import { LEAST_BODY_BOUNDS } from "../core/request/body-bounds.ts";
import { systemClock } from "../core/clock.ts";
import type { Configured } from "../core/configured/configured.ts";
import { GatewayError } from "../core/errors.ts";
import { PERMISSIONS, type Principal, ROLES } from "../core/identity.ts";
import { EARLIEST_OPERATION, type OperationName } from "../core/operation.ts";
import type { Policy, PolicyTarget } from "../core/configured/policy.ts";
import { DIRECT_ROUTE } from "../core/configured/route.ts";
import type { PolicyOutcome } from "../core/record/record.ts";
import { FORMS } from "../operations/forms.ts";
import { splitName } from "../routing/compile-routes.ts";
import { documentsOfFile } from "../snapshot/file-entries.ts";
import { guardCost } from "../guards/guard-search.ts";
import { compileGuard } from "../guards/compile-guard.ts";
import { printJson, printLine } from "./output.ts";

export interface PolicyTestFlags {
  readonly file: string;
  readonly request: readonly string[];
  readonly json?: true;
}

const OUTCOMES = ["allow", "deny", "mask"] as const;
type Outcome = (typeof OUTCOMES)[number];

const scopes = z.record(z.string(), z.looseObject({ policies: policiesSection })).prefault({});
/** A whole configuration, or only its policies. */
const policyFile = z.looseObject({ policies: policiesSection, tenants: scopes, projects: scopes });

const sampleSchema = z.strictObject({
  name: z.string().optional(),
  /** The operation whose form the request has. */
  operation: z.enum([...FORMS.keys()] as [OperationName, ...OperationName[]]).default(EARLIEST_OPERATION),
  request: z.record(z.string(), z.unknown()),
  tenant: z.string().default("default"),
  project: z.string().default("default"),
  token: z
    .strictObject({
      id: z.string().default("sample"),
      role: z.enum(ROLES).default("developer"),
      user: z.string().optional(),
      permissions: z.array(z.enum(PERMISSIONS)).default([]),
    })
    .prefault({}),
  client_ip: z.string().default(""),
  /** The time of the call; the default is now. */
  now: z.iso.datetime({ offset: true }).optional(),
  /** `<provider>:<model_name>`; the default is the request's own model. */
  targets: z.array(z.string()).optional(),
  /** The route of the targets; the default is the one that the request names. */
  route: z.string().optional(),
  /** The model's answer, for guards on output. */
  answer: z.string().optional(),
  expect: z.strictObject({ outcome: z.enum(OUTCOMES), policy: z.string().optional() }).optional(),
});
type Sample = z.output<typeof sampleSchema>;

/** One policy that took effect, with the place and the reason. */
interface PolicyEffect {
  readonly policy: string;
  readonly mode: Policy["mode"];
  readonly effect: PolicyOutcome["effect"];
  readonly at: string;
  readonly why: string;
}

interface JudgedEffect extends PolicyEffect {
  /** A guard that failed may let the text pass. */
  readonly denies: boolean;
}

interface Result {
  readonly sample: string;
  readonly outcome: Outcome;
  readonly spoke: readonly PolicyEffect[];
  readonly expected: NonNullable<Sample["expect"]> | null;
  /** `null` when nothing was expected. */
  readonly met: boolean | null;
}

/** Returns the exit code: 1 when an expectation is not met. Throws ConfigurationError. */
export function policyTest({ file, request, json }: PolicyTestFlags, environment: Environment): number {
  const configured = readPolicies(file, environment);
  const results = request
    .flatMap(sampleFiles)
    .flatMap((path) => readSamples(path).map(({ name, sample }) => resultOf(name, sample, configured)));
  const isMet = results.every(({ met }) => met !== false);
  const guards = costsOf(configured);
  if (json === true) printJson({ ok: isMet, samples: results, guards });
  else {
    for (const result of results) print(result);
    for (const guard of guards) if (guard.steps_per_character > MIN_PRINTED_STEPS) printLine(costText(guard));
  }
  return isMet ? 0 : 1;
}

/** Only guards that cost more than this are printed; all classes together cost less. */
const MIN_PRINTED_STEPS = 2000;

type GuardCost = { readonly policy: string } & ReturnType<typeof guardCost>;

function costsOf(policies: PlacedPolicies): readonly GuardCost[] {
  return policies.flatMap(({ id, document: { guard } }) =>
    guard === undefined || guard.service !== undefined ? [] : [{ policy: id, ...guardCost(compileGuard(guard).work) }],
  );
}

function costText({
  policy,
  steps_per_character: steps,
  worst_ms_per_1000_characters: ms,
  a_tenth_of_a_second_from_characters: from,
}: GuardCost): string {
  return `the guard of ${policy} takes up to ${steps} steps per character: in the worst case ${ms} ms for 1,000 characters, and 0.1 s from ${from} characters on`;
}

type PlacedPolicies = readonly Configured<PolicyDocument>[];

function readPolicies(file: string, environment: Environment): PlacedPolicies {
  const { policies, tenants, projects } = readConfigFile({
    file,
    text: readConfigText(file),
    schema: policyFile,
    environment,
  });
  const of = (
    documents: Readonly<Record<string, PolicyDocument>>,
    place: Pick<Configured<unknown>, "tenantId" | "projectId">,
  ) => documentsOfFile<PolicyDocument>("", Object.entries(documents), place);
  return [
    ...of(policies, { tenantId: null, projectId: null }),
    ...Object.entries(tenants).flatMap(([id, own]) => of(own.policies, { tenantId: id, projectId: null })),
    ...Object.entries(projects).flatMap(([id, own]) => of(own.policies, { tenantId: null, projectId: id })),
  ];
}

function sampleFiles(path: string): readonly string[] {
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  return isFolder
    ? readdirSync(path)
        .filter((name) => /\.(json|ya?ml)$/.test(name))
        .toSorted()
        .map((name) => join(path, name))
    : [path];
}

/** Accepts a sample, a list of samples, or a request alone. */
function readSamples(file: string): readonly { readonly name: string; readonly sample: Sample }[] {
  const value = parsed(file);
  const list = Array.isArray(value) ? (value as readonly unknown[]) : [value];
  return list.map((one, index) => {
    const place = list.length === 1 ? file : `${file}[${index}]`;
    const isBare = typeof one === "object" && one !== null && "messages" in one;
    const result = sampleSchema.safeParse(isBare ? { request: one } : one);
    if (!result.success)
      throw problem(
        file,
        result.error.issues.map(({ path, message }) => `${place} ${path.join(".")}: ${message}`).join("\n"),
      );
    return { name: result.data.name ?? place, sample: result.data };
  });
}

function parsed(file: string): unknown {
  const text = readConfigText(file);
  try {
    return parse(text) as unknown;
  } catch (thrown) {
    throw problem(file, (thrown as Error).message);
  }
}

function problem(file: string, message: string): ConfigurationError {
  return new ConfigurationError([problemIn(file, message)]);
}

function resultOf(name: string, sample: Sample, policies: PlacedPolicies): Result {
  const request = requestOf(name, sample);
  // the file does not say to which tenant a project belongs, but the sample does
  const placed = policies.map((one) => (one.projectId === null ? one : { ...one, tenantId: sample.tenant }));
  const all = compilePolicies(placed).of(sample.tenant, sample.project)?.all ?? [];
  const targets = targetsOf(request, sample);
  const spoke = all.flatMap((policy) => effectsOf(policy, request, targets, sample));
  const outcome = outcomeOf(spoke, targets);
  const expected = sample.expect ?? null;
  const met =
    expected === null
      ? null
      : expected.outcome === outcome &&
        (expected.policy === undefined ||
          spoke.some(({ policy, effect }) => policy === expected.policy && effect !== "would_deny"));
  return {
    sample: name,
    outcome,
    spoke: spoke.map(({ policy, mode, effect, at, why }) => ({ policy, mode, effect, at, why })),
    expected,
    met,
  };
}

function requestOf(name: string, { operation, request }: Sample): ChatRequest {
  try {
    return withCheckedEntries(FORMS.get(operation)!.parse(JSON.stringify(request), LEAST_BODY_BOUNDS));
  } catch (thrown) {
    throw thrown instanceof GatewayError ? problem(name, thrown.message) : thrown;
  }
}

function targetsOf({ options }: ChatRequest, { targets, route: named }: Sample): readonly PolicyTarget[] {
  const { model } = options;
  const route = named ?? options.route ?? DIRECT_ROUTE;
  return (targets ?? (model === null ? [] : [model])).flatMap((text) => {
    const split = splitName(text);
    return split === null ? [] : [{ provider: split.providerId, model: split.model, route }];
  });
}

function effectsOf(
  policy: Policy,
  request: ChatRequest,
  targets: readonly PolicyTarget[],
  sample: Sample,
): readonly JudgedEffect[] {
  const found: JudgedEffect[] = [];
  const collect = (at: string, evaluate: (policies: CallPolicies) => void): void => {
    const outcomes: PolicyOutcome[] = [];
    try {
      evaluate(
        new CallPolicies(projectPolicies([policy]), {
          sent: request,
          operation: sample.operation,
          principal: principalOf(sample),
          clientIp: () => sample.client_ip,
          now: () => (sample.now === undefined ? systemClock.now() : Date.parse(sample.now)),
          outcomes,
          scheduler: null,
        }),
      );
    } catch (thrown) {
      if (!(thrown instanceof GatewayError)) throw thrown;
    }
    const failed = outcomes.some(({ effect }) => effect === "failed");
    const denies = outcomes.some(({ effect }) => effect === "denied");
    for (const { effect, why } of outcomes)
      if (!(failed && effect === "denied"))
        found.push({
          policy: policy.name,
          mode: policy.mode,
          effect,
          at,
          why: why ?? (policy.kind === "guard" ? "the guard found a match" : "the rule is true"),
          denies,
        });
  };
  if (!policy.perTarget)
    collect("request", (policies) => {
      policies.rules.requireAllowed();
      policies.requests.translated(request, null);
    });
  else
    for (const target of targets)
      collect(`${target.provider}:${target.model}`, (policies) => evaluateTarget(policies, target, request));
  const { answer } = sample;
  if (answer !== undefined && policy.kind === "guard" && policy.guard.onOutput)
    collect("answer", (policies) => {
      const guards =
        targets.length === 0 ? [policy] : [...new Set(targets.flatMap((target) => policies.answers.of(target)))];
      void policies.answers.apply(searchedText(answer), guards);
    });
  return found;
}

function evaluateTarget(policies: CallPolicies, target: PolicyTarget, request: ChatRequest): void {
  policies.rules.requireAllowedAt(target, request);
  policies.requests.translated(request, target);
}

function principalOf({ tenant, project, token }: Sample): Principal {
  const { id, role, user, permissions } = token;
  return {
    tokenId: id,
    tokenKind: user === undefined ? "project" : "personal",
    tenantId: tenant,
    projectId: project,
    userId: user ?? null,
    role,
    permissions: new Set(permissions),
    restrictions: null,
  };
}

/** The request is denied before any target, at every target, or in the answer. */
function outcomeOf(spoke: readonly JudgedEffect[], targets: readonly PolicyTarget[]): Outcome {
  const denied = new Set(spoke.filter(({ denies }) => denies).map(({ at }) => at));
  if (
    denied.has("request") ||
    denied.has("answer") ||
    (targets.length > 0 && targets.every(({ provider, model }) => denied.has(`${provider}:${model}`)))
  )
    return "deny";
  return spoke.some(({ effect }) => effect === "masked") ? "mask" : "allow";
}

const WORDS: Readonly<Record<Outcome, string>> = { allow: "allowed", deny: "denied", mask: "masked" };

function print({ sample, outcome, spoke, expected, met }: Result): void {
  const mismatch =
    expected === null
      ? ""
      : met === true
        ? " (as expected)"
        : ` (NOT as expected: ${WORDS[expected.outcome]}${expected.policy === undefined ? "" : ` by ${expected.policy}`})`;
  printLine(`${sample}: ${WORDS[outcome]}${mismatch}`);
  for (const { policy, effect, at, why } of spoke) printLine(`  ${policy}: ${effect} at ${at}: ${why}`);
}
