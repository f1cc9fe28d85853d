{{/* The name of all objects. Pods add a suffix and labels of at most 63 characters. */}}
{{- define "gateway.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}
{{- end -}}
{{- end }}

{{- define "gateway.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "gateway.labels" -}}
{{ include "gateway.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{/* Stops what could not work, or would not be safe. */}}
{{- define "gateway.check" -}}
{{- $_ := required "image.repository is required: build deploy/docker/gateway.Dockerfile and push the image to your registry" .Values.image.repository }}
{{- $_ := required "serviceUrl is required: the address of the service, such as https://id.example" .Values.serviceUrl }}
{{- $redis := or .Values.noncesSecret.name (hasPrefix "redis" .Values.nonces) }}
{{- if and (gt (int .Values.replicas) 1) (not .Values.nonces) (not .Values.noncesSecret.name) }}{{ fail "nonces is required with more than one replica: each would accept the same request once. Name a Redis, or write nonces: memory" }}{{ end }}
{{- if and .Values.nonces .Values.noncesSecret.name }}{{ fail "nonces and noncesSecret cannot be combined" }}{{ end }}
{{- if contains "@" .Values.nonces }}{{ fail "nonces has a user or password, which a ConfigMap would show: use noncesSecret" }}{{ end }}
{{- if and .Values.settings.signInPath (not .Values.sessionSecret.name) }}{{ fail "settings.signInPath requires sessionSecret" }}{{ end }}
{{- if and .Values.sessionSecret.name (not .Values.audiences) }}{{ fail "sessionSecret requires audiences" }}{{ end }}
{{- $policy := .Values.networkPolicy }}
{{- if and $policy.enabled (not $policy.from) }}{{ fail "networkPolicy.from must name your proxies: an empty list would mean everybody, and the gateway trusts the headers of who asks it" }}{{ end }}
{{- if and $policy.enabled .Values.podMonitor.enabled (not $policy.metricsFrom) }}{{ fail "networkPolicy.metricsFrom must name the pods of Prometheus, because podMonitor is enabled" }}{{ end }}
{{- if and $policy.enabled $redis (not $policy.egress) }}{{ fail "networkPolicy.egress needs a rule for Redis: nothing else lets the pods reach it" }}{{ end }}
{{- if and $policy.enabled (hasPrefix "http:" .Values.serviceUrl) (not $policy.egress) }}{{ fail "networkPolicy.egress needs a rule for the service, because serviceUrl is not https at a public address" }}{{ end }}
{{- end }}
