// Texts of LiteLLM's configuration that refer to the environment: `os.environ/NAME`. The file itself can set variables
// under `environment_variables`, and often has secrets there.
import { ADDRESS_WORD } from "../../core/target.ts";
import { API_KEY, isPlainAddress } from "../../providers/credentials/credential-settings.ts";
import { placeholderUrl } from "../address.ts";
import { textOf, wordOf } from "../figures.ts";
import type { ForeignNode } from "../foreign-file.ts";
import type { ImportContext } from "../gateway-import.ts";
import { type Reference, variable } from "../reference.ts";
import { always } from "../report.ts";
import { VARIABLE } from "../../config/environment.ts";

const PREFIX = "os.environ/";
/** What a program fills in before LiteLLM reads the file, such as envsubst. */
const TEMPLATE = /^\$\{[A-Za-z_][A-Za-z0-9_]*(?::?-[^}]*)?\}$/;

/** A value for our configuration, and how it differs from the other one; `null` when it does not. */
export interface Found {
  readonly value: Reference | string;
  readonly how: string | null;
}

export interface EnvironmentTexts {
  /** The name of the variable to which a text refers. */
  readonly variableOf: (node: ForeignNode | undefined) => string | null;
  /** A variable of the environment, or of the file itself. */
  readonly referenceTo: (name: string, fallback?: string) => Reference;
  /** A key, password or token, which gets a file called `name` if it is written out; `null` for what cannot be one. */
  readonly secret: (node: ForeignNode | undefined, name: string, fallback?: string) => Found | null;
  /** An address that the configuration accepts, whatever the other one has. */
  readonly address: (node: ForeignNode) => Found;
  /** One of the words that become part of an address, such as a region; `null` for what cannot be one. */
  readonly word: (node: ForeignNode) => Found | null;
}

export function openEnvironmentTexts({
  foreign,
  claims,
  secrets,
}: Pick<ImportContext, "foreign" | "claims" | "secrets">): EnvironmentTexts {
  const own = foreign.root.members.get("environment_variables")?.members ?? new Map<string, ForeignNode>();
  const variableOf = (node: ForeignNode | undefined): string | null => {
    const text = textOf(node);
    const name = text?.startsWith(PREFIX) === true ? text.slice(PREFIX.length) : null;
    return name !== null && VARIABLE.test(name) ? name : null;
  };
  const referenceTo = (name: string, fallback = ""): Reference => {
    const node = own.get(name);
    const text = wordOf(node);
    if (text === null || variableOf(node) !== null) return variable(name, fallback);
    claims.changed(node, always(`secrets/${name.toLowerCase()}`), IN_A_FILE);
    return secrets.keep(name, text);
  };
  return {
    variableOf,
    referenceTo,
    secret: (node, name, fallback) => {
      const reference = variableOf(node);
      if (reference !== null) return { value: referenceTo(reference, fallback), how: null };
      const text = wordOf(node);
      if (text === null || !API_KEY.test(text)) return null;
      const how = TEMPLATE.test(text) ? `${IN_A_FILE}; ${NOT_EXPANDED}` : IN_A_FILE;
      return { value: secrets.keep(name, text), how };
    },
    address: (node) => {
      const reference = variableOf(node);
      if (reference !== null) {
        const placeholder = placeholderUrl(reference);
        return {
          value: referenceTo(reference, placeholder),
          how: `while the variable ${reference} is not set, the address is ${placeholder}, where nobody answers`,
        };
      }
      const text = textOf(node);
      if (text !== null && isPlainAddress(text)) return { value: text, how: null };
      const placeholder = placeholderUrl("address-of-the-provider");
      return {
        value: placeholder,
        how: `expected an http or https address without user name, password and query; write it in place of ${placeholder}`,
      };
    },
    word: (node) => {
      const reference = variableOf(node);
      if (reference !== null)
        return {
          value: referenceTo(reference, "unset"),
          how: `while the variable ${reference} is not set, the value is "unset"`,
        };
      const text = wordOf(node);
      return text === null || !ADDRESS_WORD.test(text) ? null : { value: text, how: null };
    },
  };
}

const IN_A_FILE = "the secret stands in a file of its own, to which the configuration refers";
const NOT_EXPANDED =
  "LiteLLM does not fill in such a text, and neither does the import: write os.environ/<name> for a variable and import again";
