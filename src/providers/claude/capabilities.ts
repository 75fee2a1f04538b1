// What Claude models accept on every platform that serves them, where a capability table has to say it.
import { type Capability, UNSUPPORTED } from "../../core/capability.ts";

/**
 * These models refuse every `top_p` except their default, which the vendor describes as 0.99 or above:
 * https://platform.claude.com/docs/en/about-claude/models/migration-guide
 */
export const TOP_P_DEFAULT_ONLY: Capability = {
  ...UNSUPPORTED,
  note: "only the default, which is anything from 0.99 on",
  neutral: (value) => typeof value === "number" && value >= 0.99,
};
