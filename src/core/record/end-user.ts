// The name under which an end user is counted and recorded. Callers choose it freely.
import { hash } from "node:crypto";

const MAX_CHARACTERS = 256;

/** A name of more than 256 characters becomes its SHA-256, so that no two users have one name. */
export function endUserName(user: string): string {
  return user.length <= MAX_CHARACTERS ? user : hash("sha256", user, "hex");
}
