// What requests and responses show of an access token.
import { z } from "zod";
import { parseTokenText } from "../../../auth/tokens/access-token.ts";
import { LONGEST_DAYS, SHORTEST_OVERLAP_MS, stateOfToken } from "../../../auth/tokens/token-admin.ts";
import { MOST_RESTRICTIONS, RESTRICTIONS } from "../../../auth/permitted-models.ts";
import { OPS, PERMISSIONS, ROLES } from "../../../core/identity.ts";
import type { JsonObject } from "../../../core/json.ts";
import { isIpRange } from "../../../wire/ip-range.ts";
import type { Kept, StoredToken } from "../../../store/records.ts";
import type { AdminCall, Answer } from "../operation.ts";
import { chosenId, etagField, etagOf, label, time } from "../schemas.ts";
import { shownAs } from "../shown.ts";

export const PROJECT_ROLES = ["viewer", "developer", "maintainer"] as const;
export const STATES = ["live", "expired", "revoked"] as const;

const name = label
  .refine(
    (text) => parseTokenText(text) === null,
    "a name is shown and stored in plain text, so it cannot be an access token",
  )
  .meta({ description: "A name for display." });
const unique = (names: readonly string[]): boolean => new Set(names).size === names.length;
const standsAlone = (names: readonly string[]): boolean => names.length === 1 || !names.includes(OPS);
const restriction = (what: keyof typeof RESTRICTIONS): z.ZodType<string> =>
  z.string().regex(RESTRICTIONS[what].form, `expected ${RESTRICTIONS[what].expected}`);
const listOfWords = (word: z.ZodType<string>, description: string) =>
  z.array(word).max(MOST_RESTRICTIONS).refine(unique, "expected each entry once").meta({ description });
const expiresInDays = (byDefault: string) =>
  z
    .number()
    .gt(0)
    .max(LONGEST_DAYS)
    .nullish()
    .meta({
      description: `Lifetime in days. The default is ${byDefault}, or the tenant's maximum if that is less. What is made or rotated with a project token ends no later than that token: a longer lifetime is refused, and the default is shortened to its end.`,
    });

const TOKEN_SHAPE = {
  id: z.string(),
  kind: z.enum(["project", "personal"]),
  name: z.string(),
  tenant_id: chosenId,
  project_id: chosenId.nullable(),
  user_id: chosenId.nullable(),
  role: z.enum(ROLES).nullable().meta({
    description: "The role of a project token; null for personal tokens, which have the roles of their user.",
  }),
  permissions: z.array(z.enum(PERMISSIONS)),
  models: z.array(z.string()),
  routes: z.array(z.string()),
  tools: z.array(z.string()),
  ip: z.array(z.string()),
  state: z.enum(STATES),
  created_at: time,
  created_by: z.string().nullable(),
  expires_at: time,
  revoked_at: time.nullable(),
  etag: etagField,
};
export const token = z.strictObject(TOKEN_SHAPE).meta({ id: "Token" });
export const listedToken = z
  .strictObject({
    ...TOKEN_SHAPE,
    last_used_at: time.nullable().meta({
      description: "When its last call began; null where no call of it is kept. Only calls of operations count.",
    }),
  })
  .meta({ id: "ListedToken" });
export const issuedToken = z
  .strictObject({
    ...TOKEN_SHAPE,
    token: z.string().nullable().meta({
      description:
        "The access token itself. It is shown only once: null in a dry run and when a request is repeated with the same idempotency key.",
    }),
  })
  .meta({ id: "IssuedToken" });

const RIGHTS_SHAPE = {
  models: listOfWords(
    restriction("model"),
    "Models that the token may call, as globs over `<provider>:<model_name>`; empty for all.",
  ).optional(),
  routes: listOfWords(
    restriction("route"),
    "Routes that the token may call, as globs over their names; empty for all.",
  ).optional(),
  tools: listOfWords(
    restriction("tool"),
    "Tools of tool servers that the token may use, as globs over `<server_label>__<tool>`; empty for all.",
  ).optional(),
  permissions: z
    .array(z.enum(PERMISSIONS))
    .max(PERMISSIONS.length)
    .refine(unique, "expected each entry once")
    .refine(standsAlone, "expected `ops` alone: it cannot be combined with other permissions")
    .meta({
      description:
        "Special permissions. Only admins and owners can give them; only operators can give `ops`, which cannot be combined with others.",
    })
    .optional(),
  ip: listOfWords(
    z.string().max(64).refine(isIpRange, "expected an address or a range such as 10.0.0.0/8"),
    "Addresses and ranges from which the token may be used; empty for all.",
  ).optional(),
};
const NEW_SHAPE = {
  name,
  ...RIGHTS_SHAPE,
  expires_in_days: expiresInDays("365 for project tokens and 90 for personal tokens"),
};
export const newProjectToken = z
  .strictObject({
    ...NEW_SHAPE,
    role: z
      .enum(PROJECT_ROLES)
      .nullish()
      .meta({ description: "At most the caller's own role; the default is `developer`." }),
  })
  .meta({ id: "NewProjectToken" });
export const newPersonalToken = z
  .strictObject({
    ...NEW_SHAPE,
    user_id: chosenId.nullish().meta({
      description: "The user to whom the token belongs. The default is the caller, or else the only user with `role`.",
    }),
    role: z.enum(ROLES).nullish().meta({
      description: "A role that the user must have in the whole tenant. The token itself has the roles of its user.",
    }),
  })
  .meta({ id: "NewPersonalToken" });
export const tokenChange = z.strictObject({ name: name.optional(), ...RIGHTS_SHAPE }).meta({ id: "TokenChange" });
export const rotation = z
  .strictObject({
    overlap_minutes: z
      .number()
      .min(SHORTEST_OVERLAP_MS / 60_000)
      .max(LONGEST_DAYS * 1440)
      .nullish()
      .meta({
        description:
          "How long the old secret stays valid, at least 30 minutes, but not beyond its own expiry; the default is 24 h.",
      }),
    expires_in_days: expiresInDays("the lifetime that the token was last given"),
  })
  .meta({ id: "TokenRotation" });

export function shownToken(kept: Kept<StoredToken>, nowMs: number): JsonObject {
  const { createdBy = null } = kept;
  const state = stateOfToken(kept, nowMs);
  const createdAtMs = kept.createdAtMs ?? 0;
  return shownAs(token, { ...kept, ip: kept.ipRanges, state, createdAtMs, createdBy, etag: etagOf(kept) });
}

export const answer = (kept: Kept<StoredToken>, { nowMs }: Pick<AdminCall, "nowMs">): Answer => ({
  body: shownToken(kept, nowMs),
  etag: etagOf(kept),
});
