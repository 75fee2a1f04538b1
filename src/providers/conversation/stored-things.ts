// How chat completions name what lives in an account at a vendor, beside the members that the native forms have for it
// (`native-forms.ts`): members that pass through, and addresses of files that only the account can read, also as texts.

/**
 * Members of single vendors with ids of what their accounts store: cached prompts and stores of files of Gemini, and
 * knowledge bases of Z.ai. https://ai.google.dev/api/generate-content, https://ai.google.dev/gemini-api/docs/file-search,
 * https://docs.z.ai/guides/tools/retrieval
 */
export const STORED_THING_MEMBERS: readonly string[] = [
  "cachedContent",
  "cached_content",
  "fileSearchStoreNames",
  "file_search_store_names",
  "knowledge_id",
];

/**
 * Members of blocks and items that hold an address, as a text or as the `url` of an object. Parts of Gemini, which an
 * answer carries and the client sends back, have one too: https://ai.google.dev/api/caching#FileData
 */
export const ADDRESS_MEMBERS: ReadonlySet<string> = new Set([
  "image_url",
  "video_url",
  "file_url",
  "file_id",
  "source",
  "fileUri",
  "file_uri",
]);

/** Members that hold a text of a message, or of the instructions. */
export const TEXT_MEMBERS: ReadonlySet<string> = new Set([
  "content",
  "text",
  "system",
  "instructions",
  "input",
  "prompt",
]);

/** Addresses whose content anybody can fetch, or that have rules of their own: those of buckets. */
const ADDRESS = /^(?:https?|gs|s3|data):/i;
/** An address with a vendor's own scheme, such as ms://file-1 of Moonshot, or the name of a file of the Gemini API. */
const OWN_ADDRESS = /^(?:[a-z][\w+.-]{0,30}:\/\/|files\/)/i;
/** The host of the Gemini API, where addresses of files mean those of the account whose key is sent. */
const FILES_HOST = /(?:^|[.-])generativelanguage(?:\.[a-z-]+)?\.googleapis\.com\.?$/;
/**
 * A message that consists of addresses of files, in place of which Alibaba's models read those of the account:
 * https://help.aliyun.com/en/model-studio/long-context-qwen-long
 */
const FILES_TEXT = /^\s*fileid:\/\//i;
/** Finds in JSON what may be one of these, however its characters are escaped. */
const MAY_BE_STORED =
  /"(?!(?:https?|gs|s3|data):)(?:[a-z][\w+.-]{0,30}:(?:\\?\/){2}|files\\?\/)|generativelanguage|fileid:(?:\\?\/){2}|\\u00(?:2f|3a)/i;

export function isAddress(text: string): boolean {
  return ADDRESS.test(text);
}

/** Whether an address names a file that only the account at the vendor can read. */
export function namesStoredFile(address: string): boolean {
  if (!isAddress(address)) return OWN_ADDRESS.test(address);
  return /^https?:/i.test(address) && URL.canParse(address) && FILES_HOST.test(new URL(address).hostname);
}

/** Whether a text stands for files that only the account at the vendor can read. */
export function isOfStoredFiles(text: string): boolean {
  return FILES_TEXT.test(text);
}

/** Whether JSON that a serializer has written names something in a bucket, which vendors read with the account's rights. */
export function namesBucket(json: string): boolean {
  return /"(?:gs|s3):\/\//i.test(json);
}

/** Whether the text of a body may have an address or a text for which `namesStoredFile` or `isOfStoredFiles` is true. */
export function mayNameStoredFile(text: string): boolean {
  return MAY_BE_STORED.test(text);
}
