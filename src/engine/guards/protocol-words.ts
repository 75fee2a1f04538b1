// Names of members and values that the protocol defines. Guards do not search them, so that a pattern such as `user` or
// `function` does not match the structure of every request. Any other text was chosen by the caller.

const MEMBERS = wordsOf(`
  content refusal arguments function functions tool_calls tool_call_id function_call reasoning reasoning_content
  reasoning_details image_url input_audio video_url filename file_id file_data cache_control description parameters
  properties required additionalProperties patternProperties strict minimum maximum exclusiveMinimum exclusiveMaximum
  minLength maxLength minItems maxItems uniqueItems pattern format default examples definitions $schema json_schema
  schema response_format server_label server_url allowed_tools require_approval annotations extra_content signature
  thought_signature encrypted_content summary detail source media_type mime_type citations prefixItems
  dependentRequired propertyNames multipleOf nullable instructions input output max_output_tokens max_tool_calls
  previous_response_id parallel_tool_calls prompt_cache_key prompt_cache_retention safety_identifier service_tier
  stream_options include_obfuscation top_logprobs truncation background conversation include metadata temperature
  messages system max_tokens stop_sequences thinking budget_tokens output_config output_format context_management
  edits mcp_servers stream store tools tool_choice tool_use_id input_schema is_error user_id caller
  disable_parallel_tool_use defer_loading allowed_callers input_examples eager_input_streaming call_id status phase
  namespace file_url server_description connector_id headers authorization approval_request_id approve execution
  environment container action actions queries results outputs commands timeout_ms max_output_length working_directory
  operation logprobs start_index end_index cited_text document_index document_title encrypted_index encrypted_stdout
  acknowledged_safety_checks pending_safety_checks verbosity effort generate_summary definition syntax
  search_context_size user_location filters vector_store_ids max_num_results ranking_options x_gateway
  prompt_cache_options display display_width_px display_height_px max_uses max_characters
`);
const VALUES = wordsOf(`
  system developer user assistant tool function string number integer boolean object array null text image_url
  input_audio input_text input_image output_text video_url file document image audio video refusal thinking
  redacted_thinking reasoning.text reasoning.summary reasoning.encrypted mcp normalizer json_object json_schema
  content auto none required any allowed_tools low medium high minimal xhigh max default flex scale priority fast
  standard base64 url ephemeral always never approximate date time date-time duration email hostname ipv4 ipv6 uri
  uri-reference uuid regex json-pointer int32 int64 float double byte binary password wav mp3 flac opus pcm16
  text/plain text/html text/csv text/markdown application/json application/pdf image/png image/jpeg image/gif
  image/webp http://json-schema.org/draft-07/schema# https://json-schema.org/draft/2020-12/schema
  http://json-schema.org/schema# message function_call function_call_output custom_tool_call custom_tool_call_output
  reasoning summary_text reasoning_text input_file item_reference tool_search tool_search_call tool_search_output
  additional_tools local_shell local_shell_call local_shell_call_output shell shell_call shell_call_output apply_patch
  apply_patch_call apply_patch_call_output computer_call computer_call_output mcp_call mcp_list_tools
  mcp_approval_request mcp_approval_response web_search web_search_call file_search_call image_generation_call
  code_interpreter_call compaction completed in_progress incomplete failed commentary final_answer namespace custom
  grammar lark concise detailed disabled enabled adaptive summarized omitted reasoning.encrypted_content client server
  local direct tool_use tool_result server_tool_use mcp_tool_use search_result tool_reference tool_addition
  tool_removal container_upload char_location page_location content_block_location web_search_result_location 5m 1h
  in_memory 24h standard_only mid_conv_system
`);
const PROTOCOL_WORDS: ReadonlySet<string> = new Set([...MEMBERS, ...VALUES]);

function wordsOf(text: string): readonly string[] {
  return text.trim().split(/\s+/);
}

export function isProtocolWord(text: string): boolean {
  return PROTOCOL_WORDS.has(text);
}
