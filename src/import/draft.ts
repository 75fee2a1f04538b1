// The configuration that an import makes: its sections, filled one setting after another, and the accounts at providers,
// where each combination of address and credential becomes one entry.
import { DIRECT_ROUTE, ROUTE_ALIAS } from "../core/configured/route.ts";
import { PROVIDER_ID, type ProviderFamily } from "../providers/settings.ts";
import { type Mapping, type Value, written } from "./reference.ts";
import { looksLikeKey, looksLikeSecret } from "./secret-shape.ts";

/** The order of the sections in the file. */
const SECTIONS = [
  "server",
  "log",
  "cors",
  "limit_store",
  "cache",
  "calls",
  "integrations",
  "providers",
  "routes",
  "route_defaults",
  "prices",
  "limits",
  "budgets",
  "policies",
  "tool_servers",
  "settings",
  "tenants",
  "projects",
] as const;
export type Section = (typeof SECTIONS)[number];

/** An account at a provider: the entry that the configuration has for it. */
export interface Account {
  readonly family: string;
  /** The id that it gets if no other account has it, and if it is not that of another known provider. */
  readonly wantedId: string;
  readonly entry: Mapping;
}

export type Draft = ReturnType<typeof openDraft>;

type Tree = Map<string, Tree | Value>;

export function openDraft(families: ReadonlyMap<string, ProviderFamily>) {
  const sections = new Map<string, Tree>();
  const accounts = new Map<string, string>();
  const models = new Map<string, Map<string, Mapping>>();
  /** What clients ask for at the other gateway, by name of the route. */
  const asked = new Map<string, string>();
  const has = (section: Section, name: string): boolean => sections.get(section)?.has(name) ?? false;
  const set = (section: Section, path: readonly string[], value: Value): void => {
    const last = path.at(-1)!;
    let tree = branchOf(sections, section);
    for (const step of path.slice(0, -1)) tree = branchOf(tree, step);
    tree.set(last, value);
  };
  const freeName = (section: Section, wanted: string): string => {
    let name = wanted;
    for (let count = 2; has(section, name) || (section === "routes" && asked.has(name)); count += 1)
      name = `${wanted.slice(0, 60)}-${count}`;
    return name;
  };
  /** Names of entries, by section and by what they are about. */
  const named = new Map<string, string>();
  const isModel = (name: string): boolean => {
    const prefix = /^([^:/]+):/.exec(name)?.[1];
    return prefix !== undefined && (prefix === "route" || families.has(prefix) || has("providers", prefix));
  };
  return {
    /** Sets one setting; the last word counts. */
    set,
    /** `wanted`, or with a number behind it if the section has this name already. */
    freeName,
    /** The same, once for each thing that an entry is about: names are shorter than what they are made of. */
    nameFor: (section: Section, wanted: string, what: string): string => {
      const key = `${section} ${what}`;
      const name = named.get(key) ?? freeName(section, wanted);
      named.set(key, name);
      return name;
    },
    /**
     * The name of a route for what clients ask for at the other gateway, which becomes an alias if it is not the name.
     * `wanted` is what the name is made of.
     */
    routeFor: (theirs: string, wanted = theirs): string => {
      const name = freeName("routes", nameOf(wanted));
      asked.set(name, theirs);
      return name;
    },
    /** The id of the account's entry. Equal accounts have one entry. */
    account: ({ family, wantedId, entry }: Account): string => {
      const key = `${wantedId} ${family} ${JSON.stringify(written(entry))}`;
      const known = accounts.get(key);
      if (known !== undefined) return known;
      const wanted = idOf(wantedId);
      // the id of a known provider is its own
      const id = freeName("providers", families.has(wanted) && wanted !== family ? `${wanted}-${family}` : wanted);
      accounts.set(key, id);
      set("providers", [id], { ...(id !== family && { type: family }), ...entry });
      if (!families.has(family)) throw new Error(`the import made an account of ${family}, which is no provider`);
      return id;
    },
    /** What is known of a model of an account. */
    model: (providerId: string, model: string, facts: Mapping): void => {
      const known = models.get(providerId) ?? new Map<string, Mapping>();
      models.set(providerId, known.set(model, { ...known.get(model), ...facts }));
    },
    /** Sections without a setting are absent. */
    configuration: () =>
      Object.fromEntries(
        SECTIONS.flatMap((section): readonly (readonly [Section, unknown])[] => {
          const tree = sections.get(section);
          if (tree === undefined) return [];
          const plain = plainOf(tree);
          if (section === "providers") return [[section, withModels(plain, models)]];
          return [[section, section === "routes" ? withAliases(plain, asked, isModel) : plain]];
        }),
      ),
  };
}

function branchOf(parent: Map<string, unknown>, step: string): Tree {
  const found = parent.get(step);
  if (found instanceof Map) return found as Tree;
  const branch: Tree = new Map();
  parent.set(step, branch);
  return branch;
}

function plainOf(tree: Tree): Record<string, unknown> {
  return Object.fromEntries(
    Array.from(tree, ([key, value]) => [key, value instanceof Map ? plainOf(value) : written(value)]),
  );
}

function withModels(
  providers: Readonly<Record<string, unknown>>,
  models: ReadonlyMap<string, ReadonlyMap<string, Mapping>>,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(providers).map(([id, entry]) => {
      const known = models.get(id);
      if (known === undefined) return [id, entry];
      const listed = Array.from(known, ([model, facts]) =>
        Object.keys(facts).length === 0 ? model : { id: model, ...(written(facts) as object) },
      );
      return [id, { ...(entry as object), models: listed }];
    }),
  );
}

/** What is no alias: the name of a route, a model with its provider, and what may be a secret. */
function withAliases(
  routes: Readonly<Record<string, unknown>>,
  asked: ReadonlyMap<string, string>,
  isModel: (name: string) => boolean,
): Readonly<Record<string, unknown>> {
  const seen = new Set([DIRECT_ROUTE, ...Object.keys(routes)]);
  return Object.fromEntries(
    Object.entries(routes).map(([name, route]) => {
      const alias = asked.get(name) ?? name;
      if (seen.has(alias) || isModel(alias) || !ROUTE_ALIAS.test(alias) || looksLikeSecret(alias)) return [name, route];
      seen.add(alias);
      return [name, { ...(route as object), aliases: [written(alias)] }];
    }),
  );
}

/** An id of a provider out of any text. */
export function idOf(text: string): string {
  const id = text
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]+/g, "-")
    .replaceAll(/^[^a-z0-9]+|-+$/g, "")
    .slice(0, 50);
  if (looksLikeKey(text)) return "imported";
  return PROVIDER_ID.test(id) && id !== "route" ? id : `provider-${id}`.replace(/-+$/, "");
}

/** A name of a route, a limit or a policy out of any text. */
export function nameOf(text: string): string {
  const name = namePart(text)
    .replaceAll(/^[^A-Za-z0-9]+|-+$/g, "")
    .slice(0, 60);
  return name === "" || looksLikeKey(text) ? "imported" : name === "direct" ? "direct-route" : name;
}

/** A part of a name in the characters that names may have. */
export function namePart(text: string): string {
  return text.replaceAll(/[^A-Za-z0-9_.-]+/g, "-");
}
