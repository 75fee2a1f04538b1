// How a place in the configuration of another gateway is shown. Its keys are often names of models, which are shown
// whole; a key that may be a secret, or that a terminal could not show, is cut.
import { formatKey, formatPath, type Path } from "../config/problem.ts";
import { looksLikeSecret } from "./secret-shape.ts";

const PLAIN_KEY = /^[\w.*:@/$ -]{1,100}$/;

export function shownKey(key: string): string {
  return PLAIN_KEY.test(key) && !looksLikeSecret(key) ? key : formatKey(key.slice(0, 3));
}

/** `model_list[0].litellm_params.model`. */
export const shownPath = (path: Path): string => formatPath(path, shownKey);
