// Sessions of the web console: everybody sees and ends the own ones, administrators those of their tenant.
import { z } from "zod";
import { nothingThere } from "../../../auth/grants.ts";
import type { JsonObject } from "../../../core/json.ts";
import { LOGIN_WAYS, type SessionFilter, type StoredSession } from "../../../store/identity/sessions.ts";
import { askedBy } from "../asked.ts";
import { type AdminCall, type AdminOperation, reading, writing } from "../operation.ts";
import { chosenId, listed, listOf, pageOf, pageQuery, time } from "../schemas.ts";
import { shownAs } from "../shown.ts";

const session = z
  .strictObject({
    id: z.string(),
    tenant_id: chosenId,
    user_id: z.string().nullable().meta({ description: "Null for a project token." }),
    token_id: z.string().nullable().meta({ description: "The access token that was exchanged for the session." }),
    login: z
      .enum(LOGIN_WAYS)
      .meta({ description: "How the person logged in: a login link, a token, a company login." }),
    address: z.string().nullable().meta({ description: "Address of the client at the login." }),
    browser: z.string().nullable().meta({ description: "What the browser said of itself at the login." }),
    started_at: time,
    seen_at: time.meta({ description: "When it was last used, to the minute." }),
    ends_at: time.meta({ description: "When it ends at the latest." }),
    current: z.boolean().meta({ description: "Whether this request came with it." }),
  })
  .meta({ id: "Session" });

const shown =
  ({ session: own }: Pick<AdminCall, "session">) =>
  (one: StoredSession): JsonObject =>
    shownAs(session, { ...one, login: one.way, current: one.id === own?.id });

function ownFilter({ caller: { token } }: AdminCall): SessionFilter {
  const { tenantId, userId, id } = token;
  return userId === null ? { tenantId, tokenId: id } : { tenantId, userId };
}

interface SessionPath {
  readonly word: "" | "Tenant";
  readonly base: string;
  readonly whose: string;
  readonly filter: (call: AdminCall) => SessionFilter;
}

const PATHS: readonly SessionPath[] = [
  { word: "", base: "/sessions", whose: "of the caller", filter: ownFilter },
  {
    word: "Tenant",
    base: "/tenants/{tenant}/sessions",
    whose: "of a tenant's users and tokens",
    filter: ({ place }) => ({ tenantId: place!.tenantId }),
  },
];

function operationsOf({ word, base, whose, filter }: SessionPath): readonly AdminOperation[] {
  const filters = word === "" ? {} : { user_id: z.string().min(1).max(400).optional() };
  return [
    reading({
      id: `list${word}Sessions`,
      path: base,
      tag: "sessions",
      summary: `List the sessions of the console ${whose}, the newest first`,
      query: z.strictObject({ ...pageQuery, ...filters }),
      answer: listOf(session, `${word}SessionList`),
      run: async (call, store) => {
        const wanted = { ...filter(call), ...askedBy(filters, call.query) };
        return { body: listed(await store.listSessions(pageOf(call.query), wanted), shown(call)) };
      },
    }),
    writing({
      method: "delete",
      id: `end${word}Session`,
      path: `${base}/{id}`,
      tag: "sessions",
      summary: `End a session of the console ${whose}`,
      run: async (call, writer) => {
        const id = call.params["id"]!;
        if (!(await writer.endSession(id, filter(call)))) throw nothingThere(`session ${id}`);
        return { body: null };
      },
    }),
  ];
}

export const SESSION_OPERATIONS: readonly AdminOperation[] = PATHS.flatMap(operationsOf);
