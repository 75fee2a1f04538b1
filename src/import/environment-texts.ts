// Texts of another gateway's configuration that may refer to the environment: `os.environ/NAME` of LiteLLM, `env.NAME` of
// Bifrost. A file can set variables itself, and often has secrets there.
import { VARIABLE } from "../config/environment.ts";
import { isObject, jsonIn } from "../core/json.ts";
import { ADDRESS_WORD } from "../core/target.ts";
import { API_KEY, isPlainAddress } from "../providers/credentials/credential-settings.ts";
import { placeholderUrl } from "./address.ts";
import { textOf, wordOf } from "./figures.ts";
import { type ForeignNode, plainOf } from "./foreign-file.ts";
import { type Reference, variable } from "./reference.ts";
import { always, type Claims, type WrittenPlace } from "./report.ts";
import type { Secrets } from "./secrets.ts";

/** A value for our configuration, and how it differs from the other one; `null` when it does not. */
export interface FoundText {
  readonly value: Reference | string;
  readonly how: string | null;
}

export type EnvironmentTexts = ReturnType<typeof openEnvironmentTexts>;

/** How the configuration of one gateway refers to the environment. */
export interface EnvironmentForm {
  /** What stands before the name of a variable; `null` where nothing refers to the environment. */
  readonly prefix: string | null;
  /** Whether numbers and booleans count as texts. */
  readonly takesWords: boolean;
  /** Texts that look like a reference but are not one to the other gateway, and what the report says about them. */
  readonly template?: { readonly pattern: RegExp; readonly note: string };
  /** The variables that the file itself sets. */
  readonly own?: ReadonlyMap<string, ForeignNode>;
}

export function openEnvironmentTexts(
  { prefix, takesWords, template, own }: EnvironmentForm,
  claims: Claims,
  secrets: Secrets,
) {
  const written = takesWords ? wordOf : textOf;
  const variableOf = (node: ForeignNode | undefined): string | null => {
    const text = textOf(node);
    const name = prefix !== null && text?.startsWith(prefix) === true ? text.slice(prefix.length) : null;
    return name !== null && VARIABLE.test(name) ? name : null;
  };
  const referenceTo = (name: string, fallback = ""): Reference => {
    const node = own?.get(name);
    const text = wordOf(node);
    if (text === null || variableOf(node) !== null) return variable(name, fallback);
    claims.changed(node, always(`secrets/${name.toLowerCase()}`), IN_A_FILE);
    return secrets.keep(name, text);
  };
  return {
    /** The name of the variable to which a text refers. */
    variableOf,
    /** A variable of the environment, or of the file itself. */
    referenceTo,
    /** A key, password or token, which gets a file called `name` if it is written out; `null` for what cannot be one. */
    secret: (node: ForeignNode | undefined, name: string, fallback?: string, form = API_KEY): FoundText | null => {
      const reference = variableOf(node);
      if (reference !== null) return { value: referenceTo(reference, fallback), how: null };
      const text = written(node);
      if (text === null || !form.test(text)) return null;
      const how = template?.pattern.test(text) === true ? `${IN_A_FILE}; ${template.note}` : IN_A_FILE;
      return { value: secrets.keep(name, text), how };
    },
    /**
     * The path of the file, called `name`, that a credentials file gets whose JSON is written out; `null` where there is
     * none, such as in a variable that the file does not set.
     */
    credentialsFile: (node: ForeignNode | undefined, name: string): FoundText | null => {
      const reference = variableOf(node);
      const holder = reference === null ? node : own?.get(reference);
      const text = holder?.kind === "mapping" ? JSON.stringify(plainOf(holder)) : textOf(holder);
      if (text === null || !isObject(jsonIn(text))) return null;
      if (reference !== null) claims.changed(holder, always(`secrets/${reference.toLowerCase()}`), IN_A_FILE);
      return { value: secrets.keepFile(reference ?? name, text), how: reference === null ? IN_A_FILE : null };
    },
    /** An address that the configuration accepts, whatever the other one has. */
    address: (node: ForeignNode): FoundText => {
      const reference = variableOf(node);
      const placeholder = placeholderUrl(reference ?? "address-of-the-provider");
      if (reference !== null)
        return {
          value: referenceTo(reference, placeholder),
          how: `while the variable ${reference} is not set, the address is ${placeholder}, where nobody answers`,
        };
      const text = textOf(node);
      if (text !== null && isPlainAddress(text)) return { value: text, how: null };
      return {
        value: placeholder,
        how: `expected an http or https address without user name, password and query; write it in place of ${placeholder}`,
      };
    },
    /** One of the words that become part of an address, such as a region; `null` for what cannot be one. */
    word: (node: ForeignNode | undefined): FoundText | null => {
      const reference = variableOf(node);
      if (reference !== null)
        return {
          value: referenceTo(reference, "unset"),
          how: `while the variable ${reference} is not set, the value is "unset"`,
        };
      const text = written(node);
      return text === null || !ADDRESS_WORD.test(text) ? null : { value: text, how: null };
    },
  };
}

const IN_A_FILE = "the secret stands in a file of its own, to which the configuration refers";

/** Returns what was found at the node, of which the report says that it stands at the place. */
export function placed(
  found: FoundText | null,
  node: ForeignNode | undefined,
  to: WrittenPlace,
  claims: Claims,
): FoundText["value"] | null {
  if (found !== null) claims.moved(node, to, found.how);
  return found?.value ?? null;
}
