// Texts that look like secrets, wherever they stand: they are neither shown nor written into the configuration.

/** How usual keys begin. */
const KEY = /(?:^|[^A-Za-z])(?:sk|pk|rk|ghp|gsk|xai|hf|AKIA|AIza)[-_]?[A-Za-z0-9_-]{12,}/;
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
