// The document of a policy: the admin API accepts it, the store keeps it, and the section `policies` of the
// configuration file holds it (promises of chapter 3). A document whose rule or pattern cannot be used is invalid.
import { z } from "zod";
import { DETECTOR_CLASSES } from "../guards/detector-classes.ts";
import { NATIONAL_ID_NAMES, type NationalId } from "../guards/detector-national-ids.ts";
import { guardPattern } from "../guards/compile-guard.ts";
import { PatternError } from "../guards/pattern-program.ts";
import { serviceSettings } from "../guards/outside/outside-settings.ts";
import { compileRule, MAX_RULE, RuleError } from "./policy-rule.ts";

const POLICY_NAME = /^[A-Za-z0-9_.-]{1,64}$/;
const MAX_POLICIES = 1000;
const MAX_PATTERNS = 100;
const MAX_TEXT_CHARACTERS = 500;
const NAME_WORDS = "expected a name of 1 to 64 letters, digits, dashes, dots and underscores";

const pattern = z.string().min(1).max(400);
const scope = z
  .strictObject({
    token: pattern.optional().meta({ title: "Token", description: "Ids of access tokens." }),
    user: pattern
      .optional()
      .meta({ title: "User", description: "End users, as the request names them in `user` or `safety_identifier`." }),
    route: pattern.optional().meta({
      title: "Route",
      description: "The route to which the target belongs; `direct` for calls without a route.",
    }),
    provider: pattern.optional().meta({ title: "Provider", description: "The provider that is called." }),
    model: pattern
      .optional()
      .meta({ title: "Model", description: "The model that is called, as `<provider>:<model_name>`." }),
  })
  .prefault({})
  .meta({
    title: "Scope",
    description:
      "The calls to which the policy applies; a call must match all fields. A value is exact, or contains `*` for any text. Route, provider and model are those of each target that is attempted.",
  });

const guard = z
  .strictObject({
    on: z.enum(["input", "output", "both"]).default("both").meta({
      title: "On",
      description: "Whether the guard checks the text sent to the provider, the text received from it, or both.",
    }),
    classes: z
      .array(z.enum(DETECTOR_CLASSES))
      .max(DETECTOR_CLASSES.length)
      .default([])
      .meta({ title: "Classes", description: "Kinds of personal data and secrets that are looked for." }),
    national_ids: z
      .array(z.enum(NATIONAL_ID_NAMES as [NationalId, ...NationalId[]]))
      .max(100)
      .default([])
      .meta({
        title: "National ids",
        description: "National ids that the class `national_id` includes. Empty for all of them.",
      }),
    patterns: z
      .array(z.string().min(1))
      .max(MAX_PATTERNS)
      .default([])
      .meta({ title: "Patterns", description: "Regular expressions (RE2). A match has at most 1,024 characters." }),
    service: serviceSettings.optional(),
    action: z.enum(["block", "mask"]).meta({
      title: "Action",
      description: "`block` refuses the call, or ends a stream with an error event; `mask` replaces each match.",
    }),
    mask: z.string().max(100).optional().meta({
      title: "Mask",
      description:
        "The replacement for a match. The default is `[email]`, `[card]` and so on, and `[masked]` for patterns.",
    }),
    on_error: z.enum(["block", "allow"]).default("block").meta({
      title: "On error",
      description:
        "What happens to a text that cannot be checked, within the time limit of guards or by the service: docs/policies.md. `block` refuses the call, or ends a stream; `allow` passes the text unchecked.",
    }),
  })
  .superRefine((value, context) => {
    const searches = value.classes.length > 0 || value.patterns.length > 0;
    if (!searches && value.service === undefined)
      context.addIssue({ code: "custom", path: [], message: "expected classes, patterns or a service" });
    if (searches && value.service !== undefined)
      context.addIssue({
        code: "custom",
        path: ["service"],
        message: "expected no classes and patterns beside a service: make two policies, one for each",
      });
    if (value.national_ids.length > 0 && !value.classes.includes("national_id"))
      context.addIssue({
        code: "custom",
        path: ["national_ids"],
        message: "expected the class national_id in classes too",
      });
    if (value.mask !== undefined && value.action === "block")
      context.addIssue({ code: "custom", path: ["mask"], message: "only a guard that masks has a replacement" });
    value.patterns.forEach((text, index) => {
      const why = problemOf(() => guardPattern(text));
      if (why !== null)
        context.addIssue({ code: "custom", path: ["patterns", index], message: `not a valid pattern: ${why}` });
    });
  });

export const policySchema = z
  .strictObject({
    name: z
      .string()
      .regex(POLICY_NAME, NAME_WORDS)
      .optional()
      .meta({ title: "Name", description: "Its name in errors and records. In the file it is the key." }),
    effect: z
      .literal("deny")
      .default("deny")
      .meta({ title: "Effect", description: "What happens if the rule is true." }),
    rule: z.string().min(1).max(MAX_RULE).optional().meta({
      title: "Rule",
      description:
        "A condition in CEL over `request`, `target`, `token`, `tenant`, `project`, `client` and `now`: docs/policies.md. The call is denied if it is true or cannot be evaluated.",
    }),
    guard: guard
      .optional()
      .meta({ title: "Guard", description: "Instead of a rule: what the guard detects in the text." }),
    message: z
      .string()
      .min(1)
      .max(MAX_TEXT_CHARACTERS)
      .optional()
      .meta({ title: "Message", description: "The message of the error that the caller gets." }),
    scope,
    mode: z.enum(["enforce", "audit"]).default("enforce").meta({
      title: "Mode",
      description: "`enforce` denies and masks; `audit` only reports in log and metrics what it would have done.",
    }),
  })
  .superRefine((value, context) => {
    if ((value.rule === undefined) === (value.guard === undefined))
      return context.addIssue({ code: "custom", path: [], message: "expected either a rule or a guard" });
    const { rule } = value;
    if (rule === undefined) return;
    const why = problemOf(() => compileRule(rule));
    if (why !== null)
      context.addIssue({
        code: "custom",
        path: ["rule"],
        message: `the rule${value.name === undefined ? "" : ` of the policy ${value.name}`} cannot be used: ${why}`,
      });
  });

export type PolicyDocument = z.output<typeof policySchema>;

/** The provider whose service judges the texts of a valid policy; undefined where none does. */
export function serviceProvider(document: unknown): string | undefined {
  return (document as PolicyDocument).guard?.service?.provider;
}
export const NO_PROVIDER = "there is no provider with this id";

/**
 * Replaces a stored policy that this version cannot read. Its rule is empty, and a rule that cannot be evaluated
 * denies.
 */
export function unreadablePolicy(mode: PolicyDocument["mode"]): PolicyDocument {
  return {
    effect: "deny",
    rule: "",
    message: "A policy of the tenant or project is invalid; ask its administrator to correct it.",
    scope: {},
    mode,
  };
}

/** By name, in the order of evaluation. */
export const policiesSection = z
  .record(z.string().regex(POLICY_NAME, NAME_WORDS), policySchema)
  .refine((all) => Object.keys(all).length <= MAX_POLICIES, `expected at most ${MAX_POLICIES}`)
  .prefault({});

function problemOf(compile: () => unknown): string | null {
  try {
    compile();
    return null;
  } catch (thrown) {
    // What a library cannot compile is also an error in the rule, not a fault of the gateway.
    return thrown instanceof RuleError || thrown instanceof PatternError
      ? thrown.message
      : `it cannot be compiled (${String(thrown)})`;
  }
}
