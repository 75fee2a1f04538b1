// Addresses of models at Amazon Bedrock's runtime.
import type { Target } from "../../core/target.ts";

/** AWS's own clients encode every character of the id except the unreserved ones, also in ARNs. */
export function modelUrl({ baseUrl, model }: Target, method: string): string {
  const id = encodeURIComponent(model).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `${baseUrl}/model/${id}/${method}`;
}
