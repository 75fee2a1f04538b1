// Where Ollama's server is. Some clients' base addresses end with the path of the server's own API, which must not be
// added twice, and below which its other APIs are not.
import type { Target } from "../../core/target.ts";

export function serverAddress({ baseUrl }: Pick<Target, "baseUrl">): string {
  return baseUrl.replace(/\/api$/, "");
}
