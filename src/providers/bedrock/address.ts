// Addresses of models at Amazon Bedrock's runtime.
import type { Target } from "../../core/target.ts";

export function modelUrl({ baseUrl, model }: Target, method: string): string {
  return `${baseUrl}/model/${pathStep(model)}/${method}`;
}

/** AWS's own clients encode every character of an id except the unreserved ones, also in ARNs. */
export function pathStep(id: string): string {
  return encodeURIComponent(id).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
