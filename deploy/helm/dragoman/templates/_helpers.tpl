{{- define "dragoman.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "dragoman.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains (include "dragoman.name" .) .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "dragoman.name" .) | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "dragoman.selector" -}}
app.kubernetes.io/name: {{ include "dragoman.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "dragoman.labels" -}}
{{ include "dragoman.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{/* How many gateways there may be at most. */}}
{{- define "dragoman.mostReplicas" -}}
{{- if .Values.autoscaling.enabled }}{{ .Values.autoscaling.maxReplicas }}{{ else }}{{ .Values.replicas }}{{ end -}}
{{- end -}}

{{/* The seconds for which calls in flight may go on after a stop. */}}
{{- define "dragoman.drainSeconds" -}}
{{- $server := default dict .Values.config.server -}}
{{- default 30 $server.drain_s -}}
{{- end -}}

{{/* Refuses values that contradict each other, each with its cure. */}}
{{- define "dragoman.check" -}}
{{- $most := include "dragoman.mostReplicas" . | int -}}
{{- if not .Values.firstToken.secret -}}
{{- fail "firstToken.secret is empty: create a secret with the output of `dragoman token text`, and name it there. Without it, the first start would print its token into the log." -}}
{{- end -}}
{{- $server := default dict .Values.config.server -}}
{{- if hasKey $server "workers" -}}
{{- fail "config.server.workers has no effect, because the chart sets the number itself: set workers beside config." -}}
{{- end -}}
{{- if kindIs "string" (default 30 $server.drain_s) -}}
{{- fail "config.server.drain_s has to be a number here: the time that Kubernetes gives a gateway to end is computed from it." -}}
{{- end -}}
{{- if and .Values.database.secret (not .Values.masterKey.secret) -}}
{{- fail "database.secret needs masterKey.secret: the key that encrypts the secrets in PostgreSQL must not be kept beside them." -}}
{{- end -}}
{{- if gt $most 1 -}}
{{- if not .Values.database.secret -}}
{{- fail (printf "%d gateways need database.secret: SQLite on a volume serves one gateway. Name a PostgreSQL, or set replicas to 1 and autoscaling.enabled to false." $most) -}}
{{- end -}}
{{- if not .Values.limitStore.secret -}}
{{- fail (printf "%d gateways need limitStore.secret: without it each would count limits and budgets alone, and together they would allow %d times as much. Name a Valkey or Redis." $most $most) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.autoscaling.enabled (gt (int .Values.autoscaling.minReplicas) (int .Values.autoscaling.maxReplicas)) -}}
{{- fail "autoscaling.minReplicas is above autoscaling.maxReplicas." -}}
{{- end -}}
{{- if and .Values.ingress.enabled (not .Values.ingress.hosts) -}}
{{- fail "ingress.enabled needs ingress.hosts: the names by which clients call the gateway." -}}
{{- end -}}
{{- $ops := default dict .Values.config.ops -}}
{{- if and .Values.metrics.serviceMonitor.enabled (not .Values.metrics.serviceMonitor.tokenSecret) (not $ops.open) -}}
{{- fail "metrics.serviceMonitor.enabled needs metrics.serviceMonitor.tokenSecret, a token with the permission ops, or `ops: { open: true }` in config." -}}
{{- end -}}
{{- include "dragoman.checkSecrets" (dict "path" "config" "name" "config" "isSecret" false "value" .Values.config) -}}
{{- end -}}

{{/*
Refuses a secret that stands in the configuration itself, however deep: a ConfigMap can be read by many. Secrets are the
members with these names, headers whose names say so, passwords in addresses, and secret parameters of their queries. `${NAME:-text}` is no reference, because its text stands there.
*/}}
{{- define "dragoman.checkSecrets" -}}
{{- $secrets := list "api_key" "api_keys" "secret_access_key" "session_token" "service_account" "client_secret" "secret" "secrets" "previous_secret" "secret_key" "signing_key" -}}
{{- if kindIs "map" .value -}}
{{- range $name, $value := .value -}}
{{- $isSecret := or (has $name $secrets) (and (eq $name "key") (eq $.name "api_keys")) (and (eq $.name "headers") (regexMatch "(?i)key|token|secret|auth|cookie|passw|credential|signature" $name)) -}}
{{- include "dragoman.checkSecrets" (dict "path" (printf "%s.%s" $.path $name) "name" $name "isSecret" $isSecret "value" $value) -}}
{{- end -}}
{{- else if kindIs "slice" .value -}}
{{- range $index, $value := .value -}}
{{- include "dragoman.checkSecrets" (dict "path" (printf "%s[%d]" $.path $index) "name" $.name "isSecret" $.isSecret "value" $value) -}}
{{- end -}}
{{- else if kindIs "string" .value -}}
{{- $literal := regexReplaceAll "(^|[^$])[$][{](file:[^}]*|[A-Za-z0-9_]+(:-)?)[}]" .value "${1}" -}}
{{- $hasPassword := regexMatch "://[^/?#@]*:[^/?#@]+@|(?i)[?&]([a-z_-]*(key|token|signature|secret)|sig|password|code)=[^&#]+" $literal -}}
{{- if or $hasPassword (and .isSecret .value (eq $literal .value)) -}}
{{- fail (printf "%s would stand in a ConfigMap, which is no place for a secret: put it into a secret of providerKeys.secrets, and write ${NAME} here." .path) -}}
{{- end -}}
{{- end -}}
{{- end -}}
