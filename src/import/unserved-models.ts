// Models of operations that this gateway does not serve: a route to one could answer no call.

/** Of LiteLLM's `mode` of a model, those whose operations are not served. https://docs.litellm.ai/docs/proxy/health */
const MODES: Readonly<Record<string, string>> = {
  image_generation: "images",
  image_edit: "images",
  audio_speech: "speech",
  audio_transcription: "transcriptions",
  video_generation: "videos",
  realtime: "realtime sessions",
  batch: "batches",
  ocr: "the recognition of text",
  search: "searches",
  vector_store: "vector stores",
};

/** What is known of models by their names, without the provider. */
const NAMES: readonly (readonly [RegExp, string])[] = [
  [
    /^(dall-e|gpt-image|chatgpt-image|imagen-|imagegeneration|stable-diffusion|sd3|flux|amazon\.(titan-image|nova-canvas))/,
    "images",
  ],
  [/^(stability\.|recraft|ideogram)/, "images"],
  [/^(tts-|gpt-4o(-mini)?-tts|playai-tts|aura-)/, "speech"],
  [/^((distil-)?whisper|gpt-4o(-mini)?-transcribe|nova-2|scribe_)/, "transcriptions"],
  [/^(sora-|veo-|amazon\.nova-reel)/, "videos"],
  [/^(gpt-realtime|gpt-4o(-mini)?-realtime|amazon\.nova-sonic)/, "realtime sessions"],
];

/** Why a model has no counterpart; `null` for one that an operation of this gateway can call. `mode` is what the file says. */
export function whyUnserved(model: string, mode: string | null = null): string | null {
  const name = model.slice(model.lastIndexOf("/") + 1);
  const what = mode === null ? NAMES.find(([pattern]) => pattern.test(name))?.[1] : MODES[mode];
  return what === undefined
    ? null
    : `Dragoman does not serve ${what}, for which this model is: README.md lists its operations`;
}
