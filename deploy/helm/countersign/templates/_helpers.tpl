{{/* The name of all objects. Pods add a suffix and labels of at most 63 characters. */}}
{{- define "countersign.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}
{{- end -}}
{{- end }}

{{- define "countersign.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "countersign.labels" -}}
{{ include "countersign.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{/* The value of a variable. Numbers of a values file are floating; Kubernetes would expand $(NAME), and $$ to $. */}}
{{- define "countersign.text" -}}
{{- if kindIs "float64" . }}{{ printf "%.0f" . }}{{ else }}{{ . | toString | replace "$" "$$" }}{{ end -}}
{{- end }}

{{/* Stops what could not work, or would not be safe. */}}
{{- define "countersign.check" -}}
{{- $_ := required "image.repository is required: build deploy/docker/Dockerfile and push the image to your registry" .Values.image.repository }}
{{- $_ := required "baseUrl is required: the public address, such as https://id.example" .Values.baseUrl }}
{{- $replicas := int .Values.replicas }}
{{- $policy := .Values.networkPolicy }}
{{- if eq .Values.database.kind "sqlite" }}
{{- if gt $replicas 1 }}{{ fail "replicas must be 1 with database.kind sqlite: several need postgres" }}{{ end }}
{{- if .Values.database.urlSecret.name }}{{ fail "database.urlSecret is for database.kind postgres" }}{{ end }}
{{- else }}
{{- if not .Values.database.urlSecret.name }}{{ fail "database.urlSecret.name is required with database.kind postgres: the Secret that has DATABASE_URL" }}{{ end }}
{{- if and $policy.enabled (not $policy.egress) }}{{ fail "networkPolicy.egress needs a rule for PostgreSQL: nothing else lets the pods reach it" }}{{ end }}
{{- end }}
{{- if gt $replicas 1 }}
{{- if not .Values.keysSecret }}{{ fail "keysSecret is required with more than one replica: all need the same keys (countersignd new-keys)" }}{{ end }}
{{- if .Values.settings.WITNESS_LOGS }}{{ fail "settings.WITNESS_LOGS needs replicas 1: the replicas do not share the key of a witness" }}{{ end }}
{{- end }}
{{- range $name, $value := .Values.settings }}
{{- if and (hasPrefix "/config/" (toString $value)) (not $.Values.configSecret) }}{{ fail (printf "settings.%s names a file in /config: set configSecret" $name) }}{{ end }}
{{- end }}
{{- if and $policy.enabled (not $policy.from) }}{{ fail "networkPolicy.from must name who may reach the service, such as the pods of your ingress controller: an empty list would mean everybody" }}{{ end }}
{{- if and $policy.enabled .Values.podMonitor.enabled (not $policy.metricsFrom) }}{{ fail "networkPolicy.metricsFrom must name the pods of Prometheus, because podMonitor is enabled" }}{{ end }}
{{- end }}
