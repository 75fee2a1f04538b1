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
{{- $limitStore := default dict .Values.config.limit_store -}}
{{- if and $limitStore.url (not (hasPrefix "${" $limitStore.url)) -}}
{{- fail "config.limit_store.url would stand in a ConfigMap, which is no place for a password: use limitStore.secret." -}}
{{- end -}}
{{- range $id, $provider := default dict .Values.config.providers -}}
{{- if kindIs "map" $provider -}}
{{- if and $provider.api_key (not (contains "${" (toString $provider.api_key))) -}}
{{- fail (printf "config.providers.%s.api_key would stand in a ConfigMap, which is no place for a key: put it into a secret of providerKeys.secrets, and write ${NAME} here." $id) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
