// Where the two platforms that speak generateContent differ. Each is a value of this type: AI Studio here, Vertex AI in ../vertex/gemini-models.ts.
// https://ai.google.dev/gemini-api/docs/file-input-methods, https://ai.google.dev/api/caching#Tool

export interface GeminiPlatform {
  /** Types of tools that Google runs itself, and the field of a tool under which each stands. */
  readonly tools: Readonly<Record<string, string>>;
  /** What `files/abc` is short for; null: the platform keeps no files, and an address of AI Studio's means nothing to it. */
  readonly filesApi: string | null;
  /** True: `fileData` without a media type is refused. */
  readonly demandsMediaType: boolean;
  /** Where the tier is said: a member of the body, or a header. */
  readonly serviceTier: { readonly place: "member" | "header"; readonly name: string };
}

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
  serviceTier: { place: "member", name: "serviceTier" },
};
