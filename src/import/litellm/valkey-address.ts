// The address of a Redis or Valkey out of the settings that LiteLLM has for it: host, port, password and so on.
// https://docs.litellm.ai/docs/proxy/caching, https://docs.litellm.ai/docs/proxy/load_balancing
import { isOn, numberOf, wordOf } from "../figures.ts";
import type { ForeignNode } from "../foreign-file.ts";
import type { ImportContext } from "../gateway-import.ts";
import { joined, type Reference } from "../reference.ts";

const IN_A_FILE = "the address stands in a file of its own, to which the configuration refers";

/** One address of host, port and password. With a password in plain text, the address stands in a file of its own. */
export function valkeyAddress(params: ForeignNode | undefined, to: string, context: ImportContext): Reference {
  const { claims, secrets, texts } = context;
  const named = (name: string): ForeignNode | undefined =>
    params?.members.get(name) ?? params?.members.get(`redis_${name}`);
  const part = (name: string, variable: string, fallback: string): Reference | string => {
    const node = named(name);
    claims.changed(node, to, "stands in one address together with the others");
    const reference = texts.variableOf(node);
    if (reference !== null) return texts.referenceTo(reference, fallback);
    return wordOf(node) ?? texts.referenceTo(variable, fallback);
  };
  const url = named("url");
  const whole = texts.variableOf(url);
  if (whole !== null) {
    claims.taken(url, to);
    return texts.referenceTo(whole, "redis://localhost:6379");
  }
  const written = wordOf(url);
  if (written !== null) {
    claims.changed(url, to, IN_A_FILE);
    return secrets.keep(to.replace(".", "_"), written);
  }
  const password = passwordNode(named("password"), to, context);
  const plain = texts.variableOf(password) === null ? wordOf(password) : null;
  const scheme = isOn(params?.members.get("ssl")) ? "rediss" : "redis";
  claims.taken(params?.members.get("ssl"), to);
  const number = named("db");
  const host = part("host", "REDIS_HOST", "localhost");
  const port = part("port", "REDIS_PORT", "6379");
  const database = numberOf(number);
  const databaseVariable = texts.variableOf(number);
  const end =
    databaseVariable === null
      ? database === null
        ? ""
        : `/${database}`
      : joined("/", texts.referenceTo(databaseVariable, "0"));
  if (end === "") claims.without(number, "expected the number of a database");
  else claims.taken(number, to);
  if (plain !== null && typeof host === "string" && typeof port === "string" && typeof end === "string") {
    claims.changed(password, to, IN_A_FILE);
    const address = `${scheme}://:${encodeURIComponent(plain)}@${host}:${port}${end}`;
    return secrets.keep(to.replace(".", "_"), address);
  }
  const name = `${to.split(".")[0]!}_password`;
  if (plain !== null) {
    claims.changed(password, to, "it stands in a file of its own, encoded for the address");
    return joined(`${scheme}://:`, secrets.keep(name, encodeURIComponent(plain)), "@", host, ":", port, end);
  }
  const variable = texts.variableOf(password);
  if (variable === null) return joined(`${scheme}://`, host, ":", port, end);
  claims.changed(password, to, "stands in one address together with the others, and has to be encoded for it");
  return joined(`${scheme}://:`, texts.referenceTo(variable), "@", host, ":", port, end);
}

/** Where the password stands: the file can set the variable itself, and LiteLLM reads one that no setting names. */
function passwordNode(
  setting: ForeignNode | undefined,
  to: string,
  { claims, foreign, texts }: ImportContext,
): ForeignNode | undefined {
  const variable = setting === undefined ? "REDIS_PASSWORD" : texts.variableOf(setting);
  const own = foreign.root.members.get("environment_variables")?.members.get(variable ?? "");
  if (own === undefined) return setting;
  claims.changed(setting, to, "stands in one address together with the others");
  return own;
}
