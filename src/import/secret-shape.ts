// Texts that look like secrets, wherever they stand: they are neither shown nor written into the configuration. A place
// is shown with its keys, which are often names of models; a key that may be a secret, or that a terminal could not show,
// is cut.
import { formatKey, formatPath, type Path } from "../config/problem.ts";

/** How usual keys begin. Names of models begin so too, such as `xai-grok-4-fast`, but soon have a dash. */
const KEY = /(?:^|[^A-Za-z])(?:(?:[spr]k[-_]|AIza)[A-Za-z0-9_-]{12,}|(?:ghp_|gsk_|hf_|xai-|AKIA)[A-Za-z0-9]{12,})/;
/** Unlike these, the names of settings have no digits: `key_generation_settings`. */
const NAMED_KEY = /(?:^|[^A-Za-z])key(?=[A-Za-z_-]*\d)[-_]?[A-Za-z0-9_-]{12,}/;
/** Letters and digits without a break, such as a hash or a token. */
const LONG = /[A-Za-z0-9]{32,}/;

/** Names of models have hashes in them, but never look like this. */
export function looksLikeKey(text: string): boolean {
  return KEY.test(text) || NAMED_KEY.test(text);
}

export function looksLikeSecret(text: string): boolean {
  return looksLikeKey(text) || LONG.test(text);
}

const PLAIN_KEY = /^[\w.*:@/$ -]{1,100}$/;

export function shownKey(key: string): string {
  return PLAIN_KEY.test(key) && !looksLikeSecret(key) ? key : formatKey(key.slice(0, 3));
}

/** `model_list[0].litellm_params.model`. */
export const shownPath = (path: Path): string => formatPath(path, shownKey);
