#!/bin/sh
# Asks one question and prints the answer as JSON. Needs curl.
#   GATEWAY=http://127.0.0.1:4100 TOKEN=dgm_pt_... sh examples/chat.sh [model] [text]
set -eu

model=${1:-sandbox:echo}
text=${2:-Hello, Dragoman!}
# a backslash and a quote in the text must not end the JSON string
escaped=$(printf '%s' "$text" | sed -e 's/\\/\\\\/g' -e 's/"/\\"/g')

curl --silent --show-error --fail-with-body "${GATEWAY:-http://127.0.0.1:4100}/api/v1/chat/completions" \
  --header "Authorization: Bearer ${TOKEN:?is the access token that the first start printed}" \
  --header "Content-Type: application/json" \
  --data "{\"model\": \"$model\", \"messages\": [{\"role\": \"user\", \"content\": \"$escaped\"}]}"
echo
