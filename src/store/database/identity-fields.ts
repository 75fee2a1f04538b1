// The fields that tenants, projects and users have beside their ids: the member with the value, its columns, and what the audit log
// shows of it. The types of rows and of what the store keeps follow from here: CONTRIBUTING.md#adding-a-field-of-a-user.
import type { Login } from "../../core/identity.ts";
import type { JsonObject } from "../../core/json.ts";
import { fromInteger, toInteger } from "./columns.ts";

type Values = Readonly<Record<string, unknown>>;

/** A field with the name of its member. A member that may be undefined may also be left out. */
export interface StoredField<Member, Columns> {
  toColumns(value: Member): Columns;
  fromColumns(row: Columns): Member;
  /** By the names of the admin API; nothing where it is a secret. */
  audited(value: Member): JsonObject;
}
export type Fields = Readonly<Record<string, StoredField<unknown, Values>>>;

export const field = <Member, Columns>(of: StoredField<Member, Columns>): StoredField<Member, Columns> => of;

export const NAME = field<string, { readonly name: string }>({
  toColumns: (name) => ({ name }),
  fromColumns: ({ name }) => name,
  audited: (name) => ({ name }),
});

/** The longest lifetime that a tenant allows its access tokens, in days; `null` for no cap (promise 2.6). */
export interface TokenCaps {
  readonly personalDays: number | null;
  readonly projectDays: number | null;
}
type CapColumns = { readonly personal_token_max_ms: bigint | null; readonly project_token_max_ms: bigint | null };
const NO_CAPS: TokenCaps = { personalDays: null, projectDays: null };
const DAY_MS = 86_400_000;
const daysToMs = (days: number | null): bigint | null => (days === null ? null : toInteger(days * DAY_MS));
const daysOfMs = (ms: bigint | null): number | null => (ms === null ? null : fromInteger(ms) / DAY_MS);

export const TENANT_FIELDS = {
  name: NAME,
  /** Absent when there are no caps. */
  tokenCaps: field<TokenCaps | undefined, CapColumns>({
    toColumns: ({ personalDays, projectDays } = NO_CAPS) => ({
      personal_token_max_ms: daysToMs(personalDays),
      project_token_max_ms: daysToMs(projectDays),
    }),
    fromColumns: ({ personal_token_max_ms: personal, project_token_max_ms: project }) =>
      personal === null && project === null
        ? undefined
        : { personalDays: daysOfMs(personal), projectDays: daysOfMs(project) },
    audited: ({ personalDays, projectDays } = NO_CAPS) => ({
      personal_token_max_days: personalDays,
      project_token_max_days: projectDays,
    }),
  }),
};

export const PROJECT_FIELDS = { name: NAME };

export const USER_FIELDS = {
  name: NAME,
  email: field<string | null | undefined, { readonly email: string | null }>({
    toColumns: (email = null) => ({ email }),
    fromColumns: ({ email }) => email,
    audited: (email = null) => ({ email }),
  }),
  isOperator: field<boolean | undefined, { /** 1 or 0. */ readonly is_operator: bigint }>({
    toColumns: (isOperator) => ({ is_operator: isOperator === true ? 1n : 0n }),
    fromColumns: (row) => row.is_operator !== 0n,
    audited: (operator = false) => ({ operator }),
  }),
  /** No two users of a tenant have the same. */
  login: field<Login | null | undefined, { readonly issuer: string | null; readonly subject: string | null }>({
    toColumns: (login) => ({ issuer: login?.issuer ?? null, subject: login?.subject ?? null }),
    fromColumns: ({ issuer, subject }) => (issuer === null || subject === null ? null : { issuer, subject }),
    audited: (login) => ({ login: login == null ? null : { issuer: login.issuer, subject: login.subject } }),
  }),
};

type MemberOf<Of> = Of extends { fromColumns(row: never): infer Member } ? Member : never;
type Optional<Of extends Fields> = {
  [Name in keyof Of]: undefined extends MemberOf<Of[Name]> ? Name : never;
}[keyof Of];
/** The members that the fields are in a thing. */
export type MembersOf<Of extends Fields> = {
  readonly [Name in Exclude<keyof Of, Optional<Of>>]: MemberOf<Of[Name]>;
} & { readonly [Name in Optional<Of>]?: Exclude<MemberOf<Of[Name]>, undefined> };

type All<Union> = (Union extends unknown ? (one: Union) => void : never) extends (all: infer Of) => void ? Of : never;
export type ColumnsOf<Of extends Fields> = All<ReturnType<Of[keyof Of]["toColumns"]>>;

export function columnsOf(fields: Fields, thing: object): Values {
  return Object.assign({}, ...parts(fields, thing, "toColumns")) as Values;
}

/** A snapshot reads every row, so this makes no objects in between. */
export function membersOf<Of extends Fields>(fields: Of, row: ColumnsOf<Of> & Values): MembersOf<Of> {
  const members: Record<string, unknown> = {};
  for (const [name, one] of Object.entries<Fields[string]>(fields)) {
    const value = one.fromColumns(row);
    if (value !== undefined) members[name] = value;
  }
  return members as MembersOf<Of>;
}

/** What the audit log shows of a thing. */
export function auditedOf(fields: Fields, thing: object): JsonObject {
  return Object.assign({}, ...parts(fields, thing, "audited")) as JsonObject;
}

const parts = (fields: Fields, thing: object, part: "toColumns" | "audited"): readonly Values[] =>
  Object.entries(fields).map(([name, one]) => one[part]((thing as Values)[name]));
