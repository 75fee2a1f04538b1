// The name under which an end user is counted and recorded. Callers choose it freely.
import { hash } from "node:crypto";
import type { ChatParams } from "../chat.ts";

const MAX_CHARACTERS = 256;

/** Returns the end user that a request names; `null` where it names none, which an empty name is too. */
export function endUserOf({ user, safety_identifier }: Pick<ChatParams, "user" | "safety_identifier">): string | null {
  const name = user === undefined || user === "" ? safety_identifier : user;
  return name === undefined || name === "" ? null : name;
}

/** A name of more than 256 characters becomes its SHA-256, so that no two users have one name. */
export function endUserName(user: string): string {
  return user.length <= MAX_CHARACTERS ? user : hash("sha256", user, "hex");
}
