// The differences between the two platforms that serve generateContent. Each is a value of this type: AI Studio here,
// and Vertex AI in ../vertex/gemini-models.ts. https://ai.google.dev/gemini-api/docs/file-input-methods,
// https://ai.google.dev/api/caching#Tool
import type { PriceFactor } from "../../core/configured/price.ts";

export interface GeminiPlatform {
  /** Types of tools that Google runs itself, each with the field under which it is sent. */
  readonly tools: Readonly<Record<string, string>>;
  /**
   * The prefix for which `files/abc` is short. `null` when the platform stores no files and cannot read those of AI
   * Studio.
   */
  readonly filesApi: string | null;
  /** Whether the platform refuses `fileData` without a media type. */
  readonly demandsMediaType: boolean;
  /**
   * Whether the platform has `includeServerSideToolInvocations`, without which it refuses functions beside tools that
   * Google runs.
   */
  readonly combinesOnRequest: boolean;
  /** Where the tier is sent: in a member of the body or in a header. */
  readonly serviceTier: { readonly place: "member" | "header"; readonly name: string };
}

/** The JSON of Google's APIs has both forms of a name. */
export const GEMINI_GUARDS: readonly string[] = ["safetySettings", "safety_settings"];

export const AI_STUDIO: GeminiPlatform = {
  tools: {
    google_search: "googleSearch",
    url_context: "urlContext",
    code_execution: "codeExecution",
    file_search: "fileSearch",
    google_maps: "googleMaps",
    computer_use: "computerUse",
  },
  filesApi: "https://generativelanguage.googleapis.com/v1beta/",
  demandsMediaType: false,
  combinesOnRequest: true,
  serviceTier: { place: "member", name: "serviceTier" },
};

const PRICING = "https://ai.google.dev/gemini-api/docs/pricing";
export const GEMINI_PRICE_FACTORS: readonly PriceFactor[] = [
  {
    told: "service_tier",
    values: ["flex"],
    models: /gemini-(?:2\.5|3-flash-preview|3\.1-pro-preview)/,
    times: [1, 2],
    of: "tokens_not_read",
    source: PRICING,
  },
  { told: "service_tier", values: ["flex"], models: /gemini-/, times: [1, 2], source: PRICING },
  { told: "service_tier", values: ["priority"], models: /gemini-/, times: [9, 5], source: PRICING },
];
