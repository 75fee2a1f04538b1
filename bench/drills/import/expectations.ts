// Reads configurations of other gateways for the drill of imports, independently of `src/import/`: which names clients
// ask for, to which models their calls go, in which shares, and to which models they go when all of those fail.
import { parse } from "yaml";
import type { GatewayName } from "../../../src/import/gateway-names.ts";

export interface Expected {
  /** What clients of the other gateway ask for. */
  readonly asked: string;
  /** With the part of the calls that each gets; `null` where only the strategy knows. */
  readonly first: ReadonlyMap<string, number | null>;
  readonly later: readonly string[];
}

type Tree = Readonly<Record<string, unknown>>;

/** The model that calls are asked for where a file leaves it to the client. */
export const ANY_MODEL = "gpt-4o";

export function expectationsOf(gateway: GatewayName, text: string, name: string): readonly Expected[] {
  const root = treeOf(
    parse(text, { version: gateway === "litellm" ? "1.1" : "1.2", uniqueKeys: false, merge: true, logLevel: "silent" }),
  );
  return READERS[gateway](root, name);
}

const READERS: Readonly<Record<GatewayName, (root: Tree, name: string) => readonly Expected[]>> = {
  litellm,
  portkey,
  openrouter,
  bifrost,
};

const treeOf = (value: unknown): Tree =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Tree) : {};
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

interface Row {
  readonly model: string;
  readonly share: number | null;
  readonly order: number;
}

function litellm(root: Tree): readonly Expected[] {
  const router = treeOf(root["router_settings"]);
  const settings = { ...treeOf(root["litellm_settings"]), ...router };
  const isDrawn = ["", "simple-shuffle"].includes(textOf(router["routing_strategy"]));
  const groups = Map.groupBy(listOf(root["model_list"]).map(treeOf), (entry) => textOf(entry["model_name"]));
  const models = (name: string): readonly string[] =>
    (groups.get(name) ?? []).map((entry) => textOf(treeOf(entry["litellm_params"])["model"]));
  const lists = [settings["fallbacks"]].flatMap((list) => (Array.isArray(list) ? list : [list])).map(treeOf);
  const laterOf = (name: string): readonly string[] => {
    const own = lists.flatMap((list) => listOf(list[name] ?? list["*"]));
    const names = own.length > 0 ? own : listOf(settings["default_fallbacks"]).filter((each) => each !== name);
    return names.map((each) => textOf(each) || textOf(treeOf(each)["model"])).flatMap(models);
  };
  const expected = [...groups].map(([name, entries]): Expected => {
    const params = entries.map((entry) => treeOf(entry["litellm_params"]));
    const orderOf = (entry: Tree): number => Number(entry["order"] ?? 1e9);
    const rows = params.map((entry): Row => {
      const order = orderOf(entry);
      // the first of an order says for all of it by what they are drawn
      const judge = params.find((each) => orderOf(each) === order)!;
      const key = ["weight", "rpm", "tpm"].find((each) => Number(judge[each] ?? Number.NaN) >= 0);
      const share = key === undefined ? 1 : Number(entry[key] ?? 0);
      return { model: textOf(entry["model"]), share: isDrawn ? share : null, order };
    });
    const first = sharesOf(rows);
    const ofHigherOrder = rows.map(({ model }) => model).filter((model) => !first.has(model));
    return { asked: name, first, later: [...ofHigherOrder, ...laterOf(name)] };
  });
  const aliases = Object.entries(treeOf(router["model_group_alias"])).flatMap(([alias, value]): readonly Expected[] => {
    const source = textOf(value) || textOf(treeOf(value)["model"]);
    const found = expected.find(({ asked }) => asked === source);
    return found === undefined ? [] : [{ ...found, asked: alias }];
  });
  return [...expected.map(withModelOfWildcard), ...aliases].filter(({ asked }) => asked !== "" && !asked.includes("*"));
}

/** Names such as `openai/*` are asked for with a model in the place of the star. */
function withModelOfWildcard(expected: Expected): Expected {
  const model = expected.first.keys().next().value ?? "";
  if (!expected.asked.endsWith("/*") || !model.endsWith("/*")) return expected;
  return { asked: expected.asked.replace("*", ANY_MODEL), first: new Map([[ANY_MODEL, 1]]), later: expected.later };
}

/** The rows of the lowest order that get calls. */
function sharesOf(rows: readonly Row[]): ReadonlyMap<string, number | null> {
  const used = rows.filter(({ share }) => share === null || share > 0);
  const least = Math.min(...used.map(({ order }) => order));
  const first = used.filter(({ order }) => order === least);
  const sum = first.reduce((total, { share }) => total + (share ?? 0), 0);
  const shares = new Map<string, number | null>();
  for (const { model, share } of first)
    shares.set(model, share === null ? null : (shares.get(model) ?? 0) + share / sum);
  return shares;
}

function portkey(root: Tree, name: string): readonly Expected[] {
  const config = { ...root, ...treeOf(root["config"]) } as Tree;
  const strategy = treeOf(config["strategy"]);
  if (strategy["mode"] !== "conditional") {
    const stages = stagesOf(config, ANY_MODEL);
    if (stages.length === 0) return [];
    return [{ asked: hasOpenModel(config) ? ANY_MODEL : name, ...splitOf(stages) }];
  }
  const targets = new Map(
    listOf(config["targets"]).map((target, index) => [textOf(treeOf(target)["name"]) || String(index), treeOf(target)]),
  );
  const asked = listOf(strategy["conditions"]).flatMap((each): readonly (readonly [string, string])[] => {
    const { query, then } = treeOf(each);
    const model = textOf(treeOf(treeOf(query)["params.model"])["$eq"]);
    return model === "" ? [] : [[model, textOf(then)]];
  });
  return [...asked, [name, textOf(strategy["default"])] as const].flatMap(([model, target]): readonly Expected[] => {
    const stages = stagesOf(targets.get(target) ?? {}, ANY_MODEL);
    return stages.length === 0 ? [] : [{ asked: model, ...splitOf(stages) }];
  });
}

type Stages = readonly (readonly Row[])[];

function splitOf([first = [], ...later]: Stages): Pick<Expected, "first" | "later"> {
  return { first: sharesOf(first), later: later.flat().map(({ model }) => model) };
}

function stagesOf(node: Tree, inherited: string): Stages {
  const own = textOf(treeOf(node["override_params"])["model"]) || textOf(treeOf(node["default_params"])["model"]);
  const model = own === "" ? inherited : own.replace(/^@[^/]*\//, "");
  const strategy = treeOf(node["strategy"]);
  const targets = listOf(node["targets"])
    .map(treeOf)
    .filter(({ name }) => strategy["mode"] !== "conditional" || name === strategy["default"]);
  if (targets.length === 0)
    return "provider" in node || "virtual_key" in node || own !== "" ? [[{ model, share: 1, order: 0 }]] : [];
  const parts = targets.map((target) => ({
    stages: stagesOf({ provider: node["provider"], ...target }, model),
    weight: Number(target["weight"] ?? 1),
  }));
  if (strategy["mode"] !== "loadbalance") return parts.flatMap(({ stages }) => stages);
  const drawn = parts.flatMap(({ stages: [first = []], weight }) => {
    const sum = first.reduce((total, { share }) => total + (share ?? 0), 0);
    return first.map((row) => ({ ...row, share: (weight * (row.share ?? 0)) / sum }));
  });
  return [drawn, ...parts.flatMap(({ stages }) => stages.slice(1))];
}

function hasOpenModel(node: Tree): boolean {
  if (textOf(treeOf(node["override_params"])["model"]) !== "") return false;
  const targets = listOf(node["targets"]).map(treeOf);
  return targets.length === 0 || targets.some(hasOpenModel);
}

function openrouter(root: Tree, name: string): readonly Expected[] {
  const data = root["data"] ?? root;
  return (Array.isArray(data) ? data : [data]).map(treeOf).flatMap((preset): readonly Expected[] => {
    const version = treeOf(preset["designated_version"] ?? preset);
    const config = treeOf(version["config"] ?? version);
    const models = [config["model"], ...listOf(config["models"])].map(textOf).filter((model) => model !== "");
    const [first, ...later] = [...new Set(models)];
    return first === undefined ? [] : [{ asked: textOf(preset["slug"]) || name, first: new Map([[first, 1]]), later }];
  });
}

function bifrost(root: Tree): readonly Expected[] {
  return Object.entries(treeOf(root["providers"])).flatMap(([provider, node]) => {
    const models = new Set(listOf(treeOf(node)["keys"]).flatMap((key) => listOf(treeOf(key)["models"]).map(textOf)));
    return [...models]
      .filter((model) => model !== "" && model !== "*")
      .map((model): Expected => ({ asked: `${provider}/${model}`, first: new Map([[model, 1]]), later: [] }));
  });
}
