// Texts of Bifrost's configuration that refer to the environment: `env.NAME`.
import { API_KEY, isPlainAddress } from "../../providers/credentials/credential-settings.ts";
import { ADDRESS_WORD } from "../../core/target.ts";
import { placeholderUrl } from "../address.ts";
import { textOf } from "../figures.ts";
import type { ForeignNode } from "../foreign-file.ts";
import type { ImportContext } from "../gateway-import.ts";
import { type Reference, variable } from "../reference.ts";
import type { Place } from "../report.ts";

const VARIABLE = /^env\.([A-Za-z_][A-Za-z0-9_]{0,127})$/;

export function variableOf(node: ForeignNode | undefined): string | null {
  return VARIABLE.exec(textOf(node) ?? "")?.[1] ?? null;
}

/** A key or password with what is to be said of it; `null` for what cannot be one. */
export function secretOf(
  node: ForeignNode | undefined,
  { name, to, fallback = "" }: { readonly name: string; readonly to: Place; readonly fallback?: string },
  { claims, secrets }: ImportContext,
): Reference | null {
  const reference = variableOf(node);
  if (reference !== null) {
    claims.taken(node, to);
    return variable(reference, fallback);
  }
  const text = textOf(node);
  if (text === null || !API_KEY.test(text)) return null;
  claims.changed(node, to, "the secret stands in a file of its own, to which the configuration refers");
  return secrets.keep(name, text);
}

/** An address that the configuration accepts, whatever the other one has. */
export function addressOf(node: ForeignNode, to: Place, { claims }: ImportContext): Reference | string {
  const reference = variableOf(node);
  const placeholder = placeholderUrl(reference ?? "address-of-the-provider");
  if (reference !== null) {
    claims.changed(
      node,
      to,
      `while the variable ${reference} is not set, the address is ${placeholder}, where nobody answers`,
    );
    return variable(reference, placeholder);
  }
  const text = textOf(node);
  if (text !== null && isPlainAddress(text)) {
    claims.taken(node, to);
    return text;
  }
  claims.changed(
    node,
    to,
    `expected an http or https address without user name, password and query; write it in place of ${placeholder}`,
  );
  return placeholder;
}

/** A word that becomes part of an address, such as a region; `null` for what cannot be one. */
export function wordOfSetting(
  node: ForeignNode | undefined,
  to: Place,
  { claims }: ImportContext,
): Reference | string | null {
  const reference = variableOf(node);
  if (reference !== null) {
    claims.changed(node, to, `while the variable ${reference} is not set, the value is "unset"`);
    return variable(reference, "unset");
  }
  const text = textOf(node);
  if (text === null || !ADDRESS_WORD.test(text)) return null;
  claims.taken(node, to);
  return text;
}
