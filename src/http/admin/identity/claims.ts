// Claim links (promise 14.6): whoever may make a token makes a link in its place, and passes that on. The token is made
// when somebody redeems the code in the console (redeemed-claim.ts), so that the giver never sees it.
import { z } from "zod";
import { newSessionSecret } from "../../../auth/logins/console-sessions.ts";
import { nothingThere } from "../../../auth/grants.ts";
import { keptCaller } from "../../../auth/logins/kept-identity.ts";
import { newSpanId } from "../../../core/ids.ts";
import type { JsonObject } from "../../../core/json.ts";
import { conflict } from "../../../core/refusals.ts";
import type { StoredClaim } from "../../../store/identity/claims.ts";
import { type AdminOperation, PLACES, reading, writing } from "../operation.ts";
import { chosenId, listed, listOf, pageOf, pageQuery, time } from "../schemas.ts";
import { shownAs } from "../shown.ts";
import { newPersonalToken, newProjectToken } from "./token-shapes.ts";
import { permittedRequest } from "./tokens.ts";

const HOUR_MS = 3_600_000;
const DEFAULT_HOURS = 24;
const MAX_HOURS = 168;

const validHours = z
  .number()
  .gt(0)
  .max(MAX_HOURS)
  .nullish()
  .meta({ description: `How long the link works; the default is ${DEFAULT_HOURS}.` });
const BODIES = {
  tenant: newPersonalToken.extend({ valid_hours: validHours }).meta({ id: "NewTenantClaim" }),
  project: newProjectToken.extend({ valid_hours: validHours }).meta({ id: "NewProjectClaim" }),
} as const;

const CLAIM_SHAPE = {
  id: z.string(),
  tenant_id: chosenId,
  project_id: chosenId.nullable().meta({ description: "Null for a personal token." }),
  name: z.string().meta({ description: "The name of the token that it gives." }),
  state: z.enum(["open", "redeemed", "expired", "revoked"]),
  created_by: z.string().meta({ description: "Id of the user who made it, or `token:` and the id of a token." }),
  created_at: time,
  expires_at: time,
  redeemed_at: time.nullable(),
  token_id: z.string().nullable().meta({ description: "The token that was made of it." }),
};
const claim = z.strictObject(CLAIM_SHAPE).meta({ id: "Claim" });
const newClaim = z
  .strictObject({
    ...CLAIM_SHAPE,
    link: z.string().nullable().meta({
      description:
        "The link to pass on. It is shown only once: null in a dry run and when a request is repeated with the same idempotency key.",
    }),
  })
  .meta({ id: "NewClaim" });

function shownClaim(one: StoredClaim, nowMs: number): JsonObject {
  const { name } = one.request;
  return shownAs(claim, { ...one, name: typeof name === "string" ? name : "", state: stateOf(one, nowMs) });
}

export function stateOf(
  { redeemedAtMs, revokedAtMs, expiresAtMs }: StoredClaim,
  nowMs: number,
): "open" | "redeemed" | "expired" | "revoked" {
  if (redeemedAtMs !== null) return "redeemed";
  if (revokedAtMs !== null) return "revoked";
  return nowMs < expiresAtMs ? "open" : "expired";
}

function operationsOf(reach: "tenant" | "project"): readonly AdminOperation[] {
  const { name: word, base: placeBase } = PLACES[reach];
  const base = `${placeBase}/claims`;
  const what = reach === "tenant" ? "a personal token" : "a project token";
  return [
    reading({
      id: `list${word}Claims`,
      path: base,
      tag: "claims",
      summary: `List the links that give ${what}, the newest first`,
      query: z.strictObject(pageQuery),
      answer: listOf(claim, `${word}ClaimList`),
      run: async ({ place, query, nowMs }, store) => ({
        body: listed(await store.listClaims(pageOf(query), place!), (one) => shownClaim(one, nowMs)),
      }),
    }),
    writing({
      method: "post",
      id: `create${word}Claim`,
      path: base,
      tag: "claims",
      summary: `Create a link that gives ${what} to whoever opens it first; the response shows it this once`,
      body: BODIES[reach],
      answer: newClaim,
      run: async (call, writer) => {
        const { caller, place, nowMs, snapshot } = call;
        const consoleAddress = call.consoleAddress();
        const { valid_hours: hours, ...request } = call.body;
        const { createdBy, userId } = await permittedRequest({ ...call, body: request }, writer);
        const giver = keptCaller(caller.token, snapshot);
        if (consoleAddress === null)
          throw conflict(
            "This gateway does not serve the web console, in which the link would be opened; the operator sets console.enabled.",
          );
        if (giver === null)
          throw conflict(
            "The company login with which you have logged in is not configured any more, so that no link can act for you.",
          );
        const { text: code, hash: codeHash } = newSessionSecret();
        const made: StoredClaim = {
          id: `clm_${newSpanId()}`,
          codeHash,
          ...place!,
          // A request without user_id means the user of now. The link keeps that, because later it could be another.
          request: userId === null ? request : { ...request, user_id: userId },
          giver,
          createdBy: createdBy!,
          createdAtMs: nowMs,
          expiresAtMs: Math.round(nowMs + (hours ?? DEFAULT_HOURS) * HOUR_MS),
          redeemedAtMs: null,
          tokenId: null,
          revokedAtMs: null,
        };
        await writer.createClaim(made);
        const repeated = { ...shownClaim(made, nowMs), link: null };
        const link = `${consoleAddress}/console/claim#code=${code}`;
        return { status: 201, body: call.dryRun ? repeated : { ...repeated, link }, repeated };
      },
    }),
    writing({
      method: "delete",
      id: `revoke${word}Claim`,
      path: `${base}/{id}`,
      tag: "claims",
      summary: `Revoke a link that gives ${what}, if nobody has opened it`,
      run: async ({ place, params }, writer) => {
        const id = params["id"]!;
        if (!(await writer.revokeClaim(id, place!))) throw nothingThere(`claim ${id} that could be revoked`);
        return { body: null };
      },
    }),
  ];
}

export const CLAIM_OPERATIONS: readonly AdminOperation[] = [...operationsOf("tenant"), ...operationsOf("project")];
