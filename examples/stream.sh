#!/bin/sh
# Asks for a stream and prints each piece of text on a line of its own, as a JSON string. Needs curl and sed.
#   GATEWAY=http://127.0.0.1:4100 TOKEN=dgm_pt_... sh examples/stream.sh [model]
# Ends with 1 when the stream ends with an error, which can come after content: the status is 200 by then.
set -eu

model=${1:-sandbox:words-12}

# --no-buffer shows the pieces as they come
curl --silent --show-error --no-buffer "${GATEWAY:-http://127.0.0.1:4100}/api/v1/chat/completions" \
  --header "Authorization: Bearer ${TOKEN:?is the access token that the first start printed}" \
  --header "Content-Type: application/json" \
  --data "{\"model\": \"$model\", \"stream\": true, \"messages\": [{\"role\": \"user\", \"content\": \"Hello\"}]}" |
  while IFS= read -r line || [ -n "$line" ]; do
    case $line in
      *'"error":'*) printf '%s\n' "${line#data: }" >&2; exit 1 ;;
      *'"delta":{"content":'*) printf '%s\n' "$line" | sed -e 's/.*"delta":{"content":\("[^}]*"\)}.*/\1/' ;;
    esac
  done
